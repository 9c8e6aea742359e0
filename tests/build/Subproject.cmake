# SPDX-License-Identifier: MIT
# cmake -D CHECKOUT=lockstep -D WORK_DIR=dir -D GENERATOR=Ninja -D COMPILER=c++ -P Subproject.cmake
# lockstep does not leak into a project that fetches it; checkouts that leak, each in its own way, are noticed.
include(${CMAKE_CURRENT_LIST_DIR}/Expect.cmake)

file(REMOVE_RECURSE ${WORK_DIR})
set(configure ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/subproject -G ${GENERATOR}
    -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_DISABLE_FIND_PACKAGE_Boost=ON
    -D CMAKE_DISABLE_FIND_PACKAGE_benchmark=ON)
expect_success(COMMAND ${configure} -B ${WORK_DIR}/lockstep -D CHECKOUT=${CHECKOUT})

list(APPEND configure -B ${WORK_DIR}/leaking -D CHECKOUT=${WORK_DIR}/checkout)
function(write_checkout leak)
    file(REMOVE ${WORK_DIR}/leaking/CMakeCache.txt)
    file(WRITE ${WORK_DIR}/checkout/CMakeLists.txt "cmake_minimum_required(VERSION 3.23)\n"
        "project(lockstep LANGUAGES CXX)\nadd_library(lockstep INTERFACE)\n"
        "add_library(lockstep::lockstep ALIAS lockstep)\n${leak}\n")
endfunction()
function(catches leak text)
    write_checkout("${leak}")
    expect_failure("leak: ${text}" COMMAND ${configure})
endfunction()
write_checkout("")
expect_success(COMMAND ${configure})
catches("include(CTest)" "BUILD_TESTING is new among CACHE_VARIABLES")
catches("set(CMAKE_BUILD_TYPE Release CACHE STRING \"\" FORCE)"
    "cache entry CMAKE_BUILD_TYPE was \"\" and is \"Release\"")
catches("set(CMAKE_CXX_FLAGS -O3 PARENT_SCOPE)" "variable CMAKE_CXX_FLAGS was \"-Wall -fno-rtti\" and is \"-O3\"")
catches("set(CMAKE_CXX_STANDARD 20 PARENT_SCOPE)" "variable CMAKE_CXX_STANDARD was \"17\" and is \"20\"")
catches("option(USE_BOOST \"\" ON)" "USE_BOOST is new among CACHE_VARIABLES")
catches("add_custom_target(docs)" "target docs")
catches("enable_testing()\nadd_test(NAME ring COMMAND true)" "test ring")
catches("target_compile_options(lockstep INTERFACE -O3)" "users get the options \"-O3\"")
