# SPDX-License-Identifier: MIT
# cmake -D COMPILER=c++ -D INCLUDE_DIR=include -D WORK_DIR=dir -P ObserverIsFree.cmake
# A training program on links that nobody watches compiles to the same instructions as with the hooks of observers taken
# out of the library's text.
cmake_minimum_required(VERSION 3.23)

file(REMOVE_RECURSE ${WORK_DIR})
file(COPY ${INCLUDE_DIR}/ DESTINATION ${WORK_DIR}/without)
set(taken_out 0)
foreach(header IN ITEMS data_parallel gradient_reduction)
    set(path ${WORK_DIR}/without/lockstep/data_parallel/${header}.hpp)
    file(READ ${path} text)
    string(REGEX MATCHALL "\n +(const )?(detail::)?Stretch<Link> (stretch|pass)\\([^;]*;" hooks "${text}")
    string(REGEX REPLACE "\n +(const )?(detail::)?Stretch<Link> (stretch|pass)\\([^;]*;" "" text "${text}")
    string(REGEX REPLACE "\n +(reduction_\\.)?pass_is\\((&pass|nullptr)\\);" "" text "${text}")
    string(REGEX REPLACE "\n +if constexpr \\(Watches<Link>\\) {[^}]*}" "" text "${text}")
    file(WRITE ${path} "${text}")
    list(LENGTH hooks count)
    math(EXPR taken_out "${taken_out} + ${count}")
endforeach()
if(taken_out LESS 5)
    message(FATAL_ERROR "only ${taken_out} hooks found: this test looks for them in the wrong place")
endif()

file(WRITE ${WORK_DIR}/train.cpp "
#include <lockstep/data_parallel/data_parallel.hpp>
#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/cross_entropy.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/network.hpp>
#include <lockstep/nn/sequential.hpp>
#include <lockstep/optim/adam.hpp>
using namespace lockstep;
using Net = Network<Sequential<Linear<8, 8>, Relu, Linear<8, 2>>, CrossEntropy>;
double train(DataParallel<Net, Ring, Threads>& replica, Adam<float>& adam, const Net::batch_type& rows) {
    const double loss = replica.backward(rows).mean;
    replica.step(adam);
    replica.accumulate(rows);
    return loss + replica.average_and_step(adam).mean;
}
")
find_program(OBJDUMP objdump REQUIRED)
foreach(include IN ITEMS ${INCLUDE_DIR} ${WORK_DIR}/without)
    execute_process(COMMAND ${COMPILER} -std=c++20 -O2 -c -o ${WORK_DIR}/train.o -I ${include} ${WORK_DIR}/train.cpp
        COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND ${OBJDUMP} -d ${WORK_DIR}/train.o OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
    # The file's name, and what objdump takes addresses yet to be filled in for.
    string(REGEX REPLACE "\n[^\n]*file format[^\n]*" "" text "${text}")
    string(REGEX REPLACE " <[^\n]*>" "" text "${text}")
    string(LENGTH "${text}" length)
    if(length LESS 10000)
        message(FATAL_ERROR "no program of ${length} bytes trains")
    endif()
    list(APPEND sums "${length} bytes")
    string(SHA256 sum "${text}")
    list(APPEND hashes ${sum})
endforeach()
list(GET hashes 0 with)
list(GET hashes 1 without)
if(NOT with STREQUAL without)
    message(FATAL_ERROR "with and without hooks the assembly differs: ${sums}")
endif()
message(NOTICE "${taken_out} hooks, the same assembly: ${sums}")
