// SPDX-License-Identifier: MIT
/// @file
/// Everything a training program needs, in one include. Each header may also be included alone.
#pragma once

#include <lockstep/core/concepts.hpp>
#include <lockstep/core/digest.hpp>
#include <lockstep/core/random.hpp>
#include <lockstep/core/shard.hpp>

#include <lockstep/storage/aligned.hpp>
#include <lockstep/storage/borrowed.hpp>
#include <lockstep/storage/inline.hpp>
#include <lockstep/storage/shared_memory.hpp>

#include <lockstep/tensor/tensor.hpp>

#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/batch.hpp>
#include <lockstep/nn/cross_entropy.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/mean_squared_error.hpp>
#include <lockstep/nn/metrics.hpp>
#include <lockstep/nn/network.hpp>
#include <lockstep/nn/sequential.hpp>

#include <lockstep/optim/sgd.hpp>

#include <lockstep/data/csv.hpp>
#include <lockstep/data/dataset.hpp>
#include <lockstep/data/from_csv.hpp>
#include <lockstep/data/loader.hpp>
#include <lockstep/data/sequential_sampler.hpp>
#include <lockstep/data/shuffled_sampler.hpp>

#include <lockstep/topology/naive.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/tree.hpp>

#include <lockstep/transport/sockets.hpp>
#include <lockstep/transport/solo.hpp>
#include <lockstep/transport/threads.hpp>

#include <lockstep/collectives/all_reduce.hpp>
#include <lockstep/collectives/barrier.hpp>
#include <lockstep/collectives/broadcast.hpp>

#include <lockstep/data_parallel/data_parallel.hpp>

#include <lockstep/run/environment.hpp>
#include <lockstep/run/processes.hpp>
#include <lockstep/run/progress.hpp>
#include <lockstep/run/threads.hpp>
