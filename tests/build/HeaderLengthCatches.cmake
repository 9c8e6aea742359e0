# SPDX-License-Identifier: MIT
# cmake -D CHECK=CheckHeaderLength.cmake -D WORK_DIR=dir -P HeaderLengthCatches.cmake
include(${CMAKE_CURRENT_LIST_DIR}/Expect.cmake)

file(REMOVE_RECURSE ${WORK_DIR})
string(REPEAT "// [a line];\n" 350 longest)
file(WRITE ${WORK_DIR}/lockstep/core/a.hpp "${longest}")
expect_success(COMMAND ${CMAKE_COMMAND} -D INCLUDE_DIR=${WORK_DIR} -P ${CHECK})
file(APPEND ${WORK_DIR}/lockstep/core/a.hpp "\n")
expect_failure("include/lockstep/core/a.hpp: 351 lines" COMMAND ${CMAKE_COMMAND} -D INCLUDE_DIR=${WORK_DIR} -P ${CHECK})
