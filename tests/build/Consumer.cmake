# SPDX-License-Identifier: MIT
# cmake -D COMPILER=c++ -D CHECKOUT=lockstep -D WORK_DIR=dir -D GENERATOR=Ninja -P Consumer.cmake
# Builds and runs tests/consumer/fetch_content from a copy, offline and without our development dependencies, then swaps the
# reducer: one word on one line, and everything else stays.
cmake_minimum_required(VERSION 3.23)

function(run)
    execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Sets `result` to what the program prints, held to the form of its one line.
function(build_and_run result)
    run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
    execute_process(COMMAND ${WORK_DIR}/build/consumer OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
    message(NOTICE "${output}")
    if(NOT output MATCHES "^loss [0-9.]+ -> 0\\.00[0-9]+, parameters [0-9a-f]+ on all ranks\n$")
        message(FATAL_ERROR "not what a trained consumer prints")
    endif()
    set(${result} "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
file(COPY ${CHECKOUT}/tests/consumer/ DESTINATION ${WORK_DIR}/source)
run(${CMAKE_COMMAND} -S ${WORK_DIR}/source/fetch_content -B ${WORK_DIR}/build -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${COMPILER}
    -D LOCKSTEP_CHECKOUT=${CHECKOUT} -D FETCHCONTENT_FULLY_DISCONNECTED=ON
    -D CMAKE_DISABLE_FIND_PACKAGE_Boost=ON -D CMAKE_DISABLE_FIND_PACKAGE_benchmark=ON
    -D CMAKE_DISABLE_FIND_PACKAGE_GTest=ON)
build_and_run(with_ring)

file(READ ${WORK_DIR}/source/main.cpp ring_text)
string(REGEX REPLACE "([^A-Za-z_])Ring([^A-Za-z_])" "\\1Tree\\2" tree_text "${ring_text}")
file(WRITE ${WORK_DIR}/source/main.cpp "${tree_text}")
# Line by line and word by word: how much has changed?
function(count_changes separator result)
    set(changes 0)
    foreach(text IN ITEMS ring tree)
        string(REGEX REPLACE "[][;\\]" "_" ${text}_parts "${${text}_text}")
        string(REGEX REPLACE "${separator}" ";" ${text}_parts "${${text}_parts}")
    endforeach()
    foreach(before after IN ZIP_LISTS ring_parts tree_parts)
        if(NOT "${before}" STREQUAL "${after}")
            math(EXPR changes "${changes} + 1")
        endif()
    endforeach()
    set(${result} ${changes} PARENT_SCOPE)
endfunction()
count_changes("\n" lines)
count_changes("[^A-Za-z0-9_]" words)
if(NOT lines EQUAL 1 OR NOT words EQUAL 1)
    message(FATAL_ERROR "swapping the reducer changed ${words} words on ${lines} lines, not one on one")
endif()
build_and_run(with_tree)
# Another order of addition: the program that ran is another one.
if(with_tree STREQUAL with_ring)
    message(FATAL_ERROR "Ring and Tree end with the same bits: was the program built again?")
endif()
