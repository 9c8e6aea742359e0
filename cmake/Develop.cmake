# SPDX-License-Identifier: MIT
# What only the developers of lockstep see: a build type, warnings as errors, sanitizers.
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_EXTENSIONS OFF)

set(LOCKSTEP_SANITIZE "" CACHE STRING "Sanitizers for tests and examples, as in -fsanitize=")

set(lockstep_warnings -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast -Werror)

# Our own programs link this: strict warnings, readable concept errors, sanitizers when asked.
add_library(lockstep_dev INTERFACE)
target_link_libraries(lockstep_dev INTERFACE lockstep::lockstep)
target_compile_options(lockstep_dev INTERFACE ${lockstep_warnings}
    $<$<CXX_COMPILER_ID:GNU>:-fconcepts-diagnostics-depth=3>)
if(LOCKSTEP_SANITIZE)
    target_compile_options(lockstep_dev INTERFACE -fsanitize=${LOCKSTEP_SANITIZE} -fno-sanitize-recover=all
        -fno-omit-frame-pointer)
    target_link_options(lockstep_dev INTERFACE -fsanitize=${LOCKSTEP_SANITIZE})
endif()
