# SPDX-License-Identifier: MIT
# cmake -D COMPILER=c++ -D "FLAGS=-std=c++20;..." -D SOURCE=case.cpp -P CompileFail.cmake
# The source, compiled with LOCKSTEP_FAIL, must be an error whose text matches each of its lines `// expect: REGEX`.
cmake_minimum_required(VERSION 3.23)
# Plain quotes in the compiler's messages.
set(ENV{LC_ALL} C)

file(STRINGS ${SOURCE} expectations REGEX "^// expect: ")
if(NOT expectations)
    message(FATAL_ERROR "no line `// expect: REGEX` in\n  ${SOURCE}")
endif()
execute_process(COMMAND ${COMPILER} ${FLAGS} -DLOCKSTEP_FAIL -fsyntax-only ${SOURCE}
    OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
if(result EQUAL 0)
    message(FATAL_ERROR "this compiles, though it should not:\n  ${SOURCE}")
endif()
foreach(expectation IN LISTS expectations)
    string(REGEX REPLACE "^// expect: " "" regex "${expectation}")
    if(NOT output MATCHES "${regex}")
        message(NOTICE "the compiler does not say \"${regex}\", but\n${output}")
        message(FATAL_ERROR "${SOURCE} fails for another reason")
    endif()
endforeach()
