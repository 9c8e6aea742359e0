# SPDX-License-Identifier: MIT
# cmake -D RESUME=program -D READER=read_checkpoint.py -D PYTHON=python3, or empty -D FOLDER=folder -P ResumeAgrees.cmake
# A run that was killed and goes on prints what one prints that was not; Python reads what it saved.
cmake_minimum_required(VERSION 3.23)

set(file ${FOLDER}/resume-test.safetensors)
# Sets `result` to what the program prints, with the word of its end.
function(run result)
    execute_process(COMMAND ${RESUME} --checkpoint ${file} ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE errors
        RESULT_VARIABLE code TIMEOUT 100)
    set(${result} "${output}ended with ${code}" PARENT_SCOPE)
endfunction()
function(require text regex)
    if(NOT text MATCHES "${regex}")
        message(FATAL_ERROR "${regex} is not in\n${text}")
    endif()
endfunction()

file(REMOVE ${file})
run(whole --workers 2)
require("${whole}" "ended with 0")
string(REGEX MATCH "step 31 .*" expected "${whole}")

foreach(transport IN ITEMS threads tcp)
    file(REMOVE ${file})
    run(killed --workers 2 --transport ${transport} --die-at 37)
    # Another worker may die before the first has said that step 37 was made.
    require("${killed}" "step 36 .*ended with [^0]")
    if("${killed}" MATCHES "step 38 ")
        message(FATAL_ERROR "nobody died:\n${killed}")
    endif()
    file(COPY_FILE ${file} ${file}.copy)
    run(rest --workers 2 --transport ${transport})
    string(REGEX MATCH "goes on after step 30, as 2 workers\n(step 31 .*)" found "${rest}")
    if(NOT found OR NOT CMAKE_MATCH_1 STREQUAL expected)
        message(FATAL_ERROR "over ${transport}, without a break:\n${expected}\nand after one:\n${rest}")
    endif()
    string(REGEX MATCH "parameters: [0-9a-f]+" digest "${rest}")

    if(PYTHON)
        execute_process(COMMAND ${PYTHON} ${READER} ${file} OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
        require("${output}" "optimizer.exp_avg_sq.0.weight +F32 \\(64, 64\\).*'steps': '60'.*${digest}")
    endif()

    file(RENAME ${file}.copy ${file})
    run(rest --workers 3 --transport ${transport})
    require("${rest}" "goes on after step 30, as 3 workers\nstep 31 .*step 60 .*ended with 0")
endforeach()
file(REMOVE ${file})
