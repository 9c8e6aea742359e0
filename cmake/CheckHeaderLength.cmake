# SPDX-License-Identifier: MIT
# cmake -D INCLUDE_DIR=include -P cmake/CheckHeaderLength.cmake
# One idea a header: fails on one that has grown beyond 350 lines.
cmake_minimum_required(VERSION 3.23)

set(limit 350)
set(findings 0)
file(GLOB_RECURSE headers RELATIVE ${INCLUDE_DIR} ${INCLUDE_DIR}/*)
if(NOT headers)
    message(FATAL_ERROR "no headers in ${INCLUDE_DIR}")
endif()
foreach(header IN LISTS headers)
    file(READ ${INCLUDE_DIR}/${header} text)
    string(REGEX REPLACE "[^\n]" "" line_ends "${text}")
    string(LENGTH "${line_ends}" lines)
    if(lines GREATER limit)
        message(NOTICE "include/${header}: ${lines} lines, the limit is ${limit}")
        math(EXPR findings "${findings} + 1")
    endif()
endforeach()
if(findings GREATER 0)
    message(FATAL_ERROR "${findings} headers are too long")
endif()
