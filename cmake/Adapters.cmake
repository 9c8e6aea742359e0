# SPDX-License-Identifier: MIT
# Targets for what users bring: lockstep::mpi and lockstep::libtorch. None is looked for unless it is asked for:
# LOCKSTEP_ADAPTERS="mpi;libtorch" before FetchContent or add_subdirectory, or
# find_package(lockstep COMPONENTS mpi libtorch).
function(lockstep_add_adapter name)
    if(TARGET lockstep::${name})
        return()
    endif()
    if(name STREQUAL "mpi")
        find_package(MPI REQUIRED COMPONENTS C)
        set(libraries MPI::MPI_C)
    elseif(name STREQUAL "libtorch")
        find_package(Torch REQUIRED)
        set(libraries ${TORCH_LIBRARIES})
    else()
        message(FATAL_ERROR "lockstep has no adapter \"${name}\": mpi and libtorch are those it has")
    endif()
    add_library(lockstep_${name} INTERFACE)
    add_library(lockstep::${name} ALIAS lockstep_${name})
    target_link_libraries(lockstep_${name} INTERFACE lockstep::lockstep ${libraries})
    if(name STREQUAL "mpi")
        # The C interface is all we use; C++ bindings of old would want a library of their own.
        target_compile_definitions(lockstep_mpi INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
    endif()
endfunction()
