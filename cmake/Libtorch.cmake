# SPDX-License-Identifier: MIT
# For our own programs: libtorch as Debian packages it. LOCKSTEP_LIBTORCH is its header folder, or empty.
# lockstep_link_libtorch(TARGET): links it, without its warnings.
if(NOT DEFINED LOCKSTEP_LIBTORCH)
    find_path(libtorch_api torch/torch.h PATH_SUFFIXES torch/csrc/api/include)
    # Clang 14 cannot compile libtorch 1.13 as C++20. Sanitizers would report what happens inside of it.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND libtorch_api AND NOT LOCKSTEP_SANITIZE)
        set(LOCKSTEP_LIBTORCH ${libtorch_api})
    else()
        set(LOCKSTEP_LIBTORCH "")
        message(STATUS "lockstep: no libtorch for this compiler: nothing is built with it")
    endif()
endif()

function(lockstep_link_libtorch target)
    target_include_directories(${target} SYSTEM PRIVATE ${LOCKSTEP_LIBTORCH})
    target_link_libraries(${target} PRIVATE torch torch_cpu c10)
endfunction()
