# SPDX-License-Identifier: MIT
# cmake -D DIGITS=program -P DigitsAgree.cmake
# Every topology over every transport and in every storage trains; the parameters that three workers end with depend on
# the topology alone, to the last bit. So do those of programs that are started one by one.
cmake_minimum_required(VERSION 3.23)

# Sets `result` to the line `parameters: HEX` that the three workers of a job print alike.
function(train result)
    execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY TIMEOUT 100)
    string(REGEX MATCHALL "parameters: [0-9a-f]+" lines "${output}")
    list(LENGTH lines count)
    list(REMOVE_DUPLICATES lines)
    list(LENGTH lines different)
    if(NOT count EQUAL 3 OR NOT different EQUAL 1 OR NOT output MATCHES "test accuracy: 0\\.[89]")
        message(FATAL_ERROR "${ARGN}\nis not three workers with the same parameters that have learned:\n${output}")
    endif()
    set(${result} ${lines} PARENT_SCOPE)
endfunction()

foreach(reducer IN ITEMS naive tree ring)
    set(expected "")
    foreach(transport IN ITEMS threads tcp unix)
        foreach(storage IN ITEMS aligned inline shared_memory)
            train(found ${DIGITS} --workers 3 --epochs 2 --reducer ${reducer} --transport ${transport}
                --storage ${storage})
            if(expected AND NOT found STREQUAL expected)
                message(FATAL_ERROR "${reducer}: ${found} over ${transport} in ${storage}, elsewhere ${expected}")
            endif()
            set(expected ${found})
        endforeach()
    endforeach()
endforeach()

# The others in one storage. Where each rank has the optimizer's state of its own pieces only, steps are the same.
foreach(reducer IN ITEMS naive tree ring direct recursive_doubling halving_doubling circulant double_tree pipelined
        hierarchical)
    train(expected ${DIGITS} --workers 3 --epochs 2 --reducer ${reducer} --optimizer adam)
    foreach(flags IN ITEMS "--transport;tcp" "--sharded" "--sharded;--transport;unix")
        train(found ${DIGITS} --workers 3 --epochs 2 --reducer ${reducer} --optimizer adam ${flags})
        if(NOT found STREQUAL expected)
            message(FATAL_ERROR "${reducer} with ${flags}: ${found}, over threads ${expected}")
        endif()
    endforeach()
endforeach()

# As in three shells. A name that no other run has, since a port might be taken; twice, since it must be free again.
string(RANDOM LENGTH 12 name)
train(expected ${DIGITS} --workers 3 --epochs 2)
set(ENV{WORLD_SIZE} 3)
set(ENV{MASTER_ADDR} unix:/tmp/lockstep-digits-${name})
foreach(time IN ITEMS first second)
    train(found sh -c "RANK=1 ${DIGITS} --epochs 2 & RANK=2 ${DIGITS} --epochs 2 &
        RANK=0 ${DIGITS} --epochs 2 && wait")
    if(NOT found STREQUAL expected)
        message(FATAL_ERROR "started one by one: ${found}, started together ${expected}")
    endif()
endforeach()
if(EXISTS /tmp/lockstep-digits-${name})
    message(FATAL_ERROR "the socket's name is left behind")
endif()
