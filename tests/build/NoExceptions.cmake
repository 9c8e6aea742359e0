# SPDX-License-Identifier: MIT
# cmake -D COMPILER=c++ -D INCLUDE_DIR=include -P NoExceptions.cmake
# Without exceptions there is no lockstep: every header says so in one sentence, and says it first.
cmake_minimum_required(VERSION 3.23)
set(ENV{LC_ALL} C)
set(sentence "error: .*lockstep reports every error as a typed exception: compile without -fno-exceptions")

file(GLOB_RECURSE headers RELATIVE ${INCLUDE_DIR} ${INCLUDE_DIR}/lockstep/*.hpp)
list(FILTER headers EXCLUDE REGEX "^lockstep/adapters/")
foreach(header IN LISTS headers)
    execute_process(
        COMMAND ${COMPILER} -std=c++20 -fno-exceptions -I ${INCLUDE_DIR} -E -include ${header} -x c++ /dev/null
        OUTPUT_QUIET ERROR_VARIABLE output RESULT_VARIABLE result)
    if(result EQUAL 0 OR NOT output MATCHES "${sentence}")
        message(FATAL_ERROR "${header} with -fno-exceptions:\n${output}")
    endif()
endforeach()

execute_process(
    COMMAND ${COMPILER} -std=c++20 -fno-exceptions -Wfatal-errors -fsyntax-only -I ${INCLUDE_DIR}
        -include lockstep/lockstep.hpp -x c++ /dev/null
    OUTPUT_QUIET ERROR_VARIABLE output RESULT_VARIABLE result)
if(result EQUAL 0 OR NOT output MATCHES "${sentence}")
    message(FATAL_ERROR "the first error with -fno-exceptions is another one:\n${output}")
endif()
