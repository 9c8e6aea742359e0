# SPDX-License-Identifier: MIT
# For tests of our own checks: a check that cannot fail is none.
cmake_minimum_required(VERSION 3.23)

macro(run_command)
    execute_process(COMMAND ${run_COMMAND} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
endmacro()

# expect_success(COMMAND ...)
function(expect_success)
    cmake_parse_arguments(PARSE_ARGV 0 run "" "" COMMAND)
    run_command()
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "should have succeeded: ${run_COMMAND}\n${output}")
    endif()
endfunction()

# expect_failure(TEXT COMMAND ...): the command fails, and TEXT is in what it prints, letter for letter.
function(expect_failure text)
    cmake_parse_arguments(PARSE_ARGV 1 run "" "" COMMAND)
    run_command()
    if(result EQUAL 0)
        message(FATAL_ERROR "should have failed with \"${text}\": ${run_COMMAND}\n${output}")
    endif()
    string(FIND "${output}" "${text}" position)
    if(position EQUAL -1)
        message(FATAL_ERROR "failed without \"${text}\": ${run_COMMAND}\n${output}")
    endif()
endfunction()
