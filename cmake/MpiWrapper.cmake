# SPDX-License-Identifier: MIT
# For our own programs, which are built with every MPI that is here: FindMPI finds one only.
# lockstep_find_mpi(NAME): LOCKSTEP_MPICXX_NAME is the wrapper of the compiler, if it is installed.
# lockstep_link_mpi(TARGET NAME): adds what that wrapper would add to our compiler's command.
function(lockstep_find_mpi name)
    find_program(LOCKSTEP_MPICXX_${name} mpicxx.${name})
    if(NOT LOCKSTEP_MPICXX_${name})
        message(STATUS "lockstep: mpicxx.${name} is not installed: nothing is built with it")
    endif()
endfunction()

function(lockstep_link_mpi target name)
    set(show -show)
    if(name STREQUAL "openmpi")
        set(show --showme)
    endif()
    execute_process(COMMAND ${LOCKSTEP_MPICXX_${name}} ${show} OUTPUT_VARIABLE command COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL " -I[^ \n]+" includes "${command}")
    string(REGEX MATCHALL " -[Ll][^ \n]+" libraries "${command}")
    list(TRANSFORM includes REPLACE "^ -I" "")
    list(TRANSFORM libraries STRIP)
    list(FILTER libraries EXCLUDE REGEX "cxx$")  # We use the C interface.
    target_compile_definitions(${target} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
    target_include_directories(${target} SYSTEM PRIVATE ${includes})
    target_link_libraries(${target} PRIVATE ${libraries})
endfunction()
