# SPDX-License-Identifier: MIT
# cmake -D COMPILER=c++ -D CHECKOUT=lockstep -D WORK_DIR=dir -P Readme.cmake
# The program of the README compiles as it stands there, with nothing but -std and -I, and learns.
cmake_minimum_required(VERSION 3.23)

file(READ ${CHECKOUT}/README.md text)
if(NOT text MATCHES "```cpp\n([^`]*)```")
    message(FATAL_ERROR "README.md has no cpp block")
endif()
file(WRITE ${WORK_DIR}/program.cpp "${CMAKE_MATCH_1}")
execute_process(COMMAND ${COMPILER} -std=c++20 -O2 -I ${CHECKOUT}/include ${WORK_DIR}/program.cpp -pthread
    -o ${WORK_DIR}/program COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${WORK_DIR}/program WORKING_DIRECTORY ${CHECKOUT} OUTPUT_VARIABLE output
    COMMAND_ERROR_IS_FATAL ANY)
message(NOTICE "${output}")
if(NOT output MATCHES "epoch 0: loss [0-9.]+\n.*epoch 9: loss 0\\.[0-2][0-9]*\n$")
    message(FATAL_ERROR "not what the program should print")
endif()
