# SPDX-License-Identifier: MIT
# cmake -D CHECK=CheckLayering.cmake -D WORK_DIR=dir -P LayeringCatches.cmake
# Small trees, each with one wrong include: the check must name the place.
include(${CMAKE_CURRENT_LIST_DIR}/Expect.cmake)

# The header `path` includes one right thing, and on line 4 `included`.
function(write_tree path included)
    file(REMOVE_RECURSE ${WORK_DIR})
    file(WRITE ${WORK_DIR}/lockstep/${path} "#pragma once\n#include <vector> // [;]\n\n  # include ${included}\n")
endfunction()
set(check ${CMAKE_COMMAND} -D INCLUDE_DIR=${WORK_DIR} -P ${CHECK})
function(allows path included)
    write_tree(${path} "${included}")
    expect_success(COMMAND ${check})
endfunction()
function(catches path included text)
    write_tree(${path} "${included}")
    expect_failure("include/lockstep/${path}:4: ${text}" COMMAND ${check})
endfunction()

allows(nn/a.hpp "<lockstep/kernels/b.hpp>")
allows(nn/a.hpp "<lockstep/nn/deep/b.hpp>")
allows(collectives/a.hpp "<lockstep/topology/b.hpp>")
allows(run/a.hpp "<sys/wait.h>")
allows(lockstep.hpp "<lockstep/run/b.hpp>")
allows(adapters/a.hpp "<boost/b.hpp>")
# Up.
catches(core/a.hpp "<lockstep/storage/b.hpp>" "core must not include storage")
catches(kernels/deep/a.hpp "<lockstep/nn/b.hpp>" "kernels must not include nn")
catches(optim/a.hpp "<lockstep/data/b.hpp>" "optim must not include data")
catches(transport/a.hpp "<lockstep/collectives/b.hpp>" "transport must not include collectives")
catches(data_parallel/a.hpp "<lockstep/run/b.hpp>" "data_parallel must not include run")
catches(run/a.hpp "<lockstep/adapters/b.hpp>" "run must not include adapters")
catches(run/a.hpp "<lockstep/lockstep.hpp>" "nothing includes the umbrella header")
# Across.
catches(nn/a.hpp "<lockstep/transport/b.hpp>" "nn must not include transport")
catches(collectives/a.hpp "<lockstep/tensor/b.hpp>" "collectives must not include tensor")
catches(topology/a.hpp "<lockstep/transport/b.hpp>" "topology must not include transport")
catches(topology/a.hpp "<lockstep/storage/b.hpp>" "topology must not include storage")
# Out.
catches(core/a.hpp "<boost/test/unit_test.hpp>" "<boost/test/unit_test.hpp> is neither C++ nor POSIX")
catches(run/a.hpp "<benchmark/benchmark.h>" "<benchmark/benchmark.h> is neither C++ nor POSIX")
catches(core/a.hpp "<ranges>" "<ranges> is banned")
catches(run/a.hpp "<iostream>" "<iostream> is banned")
catches(nn/a.hpp "\"b.hpp\"" "write <lockstep/FOLDER/NAME.hpp>")

# A folder that nobody has placed.
write_tree(gadgets/a.hpp "<span>")
expect_failure("include/lockstep/gadgets/a.hpp:1: this place has no layer" COMMAND ${check})
# No headers at all.
file(REMOVE_RECURSE ${WORK_DIR})
expect_failure("no headers in" COMMAND ${check})
