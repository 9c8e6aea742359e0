# SPDX-License-Identifier: MIT
# cmake -D DIGITS=program -D MPI_DIGITS=program -D MPIRUN=program -P MpiAgrees.cmake
# Digits, as four ranks of an MPI job, with every topology: the parameters of four processes over TCP, to the last bit.
cmake_minimum_required(VERSION 3.23)

# Sets `result` to the line `parameters: HEX` that the four workers of a job print alike.
function(train result)
    execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY TIMEOUT 100)
    string(REGEX MATCHALL "parameters: [0-9a-f]+" lines "${output}")
    list(LENGTH lines count)
    list(REMOVE_DUPLICATES lines)
    list(LENGTH lines different)
    if(NOT count EQUAL 4 OR NOT different EQUAL 1 OR NOT output MATCHES "test accuracy: 0\\.[89]")
        message(FATAL_ERROR "${ARGN}\nis not four workers with the same parameters that have learned:\n${output}")
    endif()
    set(${result} ${lines} PARENT_SCOPE)
endfunction()

foreach(reducer IN ITEMS naive tree ring direct recursive_doubling halving_doubling circulant double_tree pipelined
        hierarchical)
    train(expected ${DIGITS} --workers 4 --epochs 2 --reducer ${reducer} --transport tcp)
    train(found ${MPIRUN} -n 4 ${MPI_DIGITS} --epochs 2 --reducer ${reducer})
    if(NOT found STREQUAL expected)
        message(FATAL_ERROR "${reducer}: ${found} over MPI, ${expected} over TCP")
    endif()
    message(STATUS "${reducer}: ${found}")
endforeach()
