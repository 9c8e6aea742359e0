# SPDX-License-Identifier: MIT
# cmake -D COMPILER=c++ -D "FLAGS=..." -D WORK_DIR=dir -P CompileFailCatches.cmake
# CompileFail.cmake must notice the wrong text, the error that is missing, and the case that expects nothing.
include(${CMAKE_CURRENT_LIST_DIR}/../build/Expect.cmake)

function(write_case text)
    file(WRITE ${WORK_DIR}/case.cpp "${text}")
endfunction()
# The list of flags is one argument.
string(REPLACE ";" "\;" check_flags "-DFLAGS=${FLAGS}")
set(check ${CMAKE_COMMAND} -D COMPILER=${COMPILER} "${check_flags}" -D SOURCE=${WORK_DIR}/case.cpp
    -P ${CMAKE_CURRENT_LIST_DIR}/CompileFail.cmake)

set(wrong "#ifdef LOCKSTEP_FAIL\nstatic_assert(sizeof(int) == 1, \"an int is one byte\");\n#endif\n")
write_case("// expect: int is one byte\n${wrong}")
expect_success(COMMAND ${check})
write_case("// expect: int is two bytes\n${wrong}")
expect_failure("does not say \"int is two bytes\"" COMMAND ${check})
# All of several expectations, not one of them.
write_case("// expect: int is one byte\n// expect: int is two bytes\n${wrong}")
expect_failure("does not say \"int is two bytes\"" COMMAND ${check})
# What the source says next to the error is not what the compiler says.
write_case("// expect: not in the message\n#ifdef LOCKSTEP_FAIL\nint wrong = nothing; // not in the message\n#endif\n")
expect_failure("does not say \"not in the message\"" COMMAND ${check})
write_case("// expect: anything\n")
expect_failure("this compiles, though it should not" COMMAND ${check})
write_case("${wrong}")
expect_failure("no line `// expect: REGEX`" COMMAND ${check})
