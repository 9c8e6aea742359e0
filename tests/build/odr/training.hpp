// SPDX-License-Identifier: MIT
/// @file
/// What both translation units instantiate.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include <lockstep/lockstep.hpp>

namespace odr {

using lockstep::CrossEntropy;
using lockstep::DataParallel;
using lockstep::Linear;
using lockstep::MatrixView;
using lockstep::Relu;
using lockstep::Sequential;
using lockstep::Threads;
using Net = lockstep::Network<Sequential<Linear<2, 4>, Relu, Linear<4, 2>>, CrossEntropy>;

/// Two steps of two ranks; the digest of the parameters.
template <class Reducer>
std::string train() {
    const std::array<float, 8> inputs{0, 1, 1, 0, 0, 0, 1, 1};
    const std::array<std::int32_t, 4> labels{1, 1, 0, 0};
    std::array<std::string, 2> digests;
    lockstep::run_threads(2, [&](Threads transport) {
        DataParallel<Net, Reducer, Threads> replica{Net{7}, transport};
        lockstep::Sgd optimizer{{.learning_rate = 0.1, .momentum = 0.9}};
        const typename Net::batch_type batch{MatrixView<const float>(inputs.data(), 4, 2), labels};
        for (int step = 0; step < 2; ++step) {
            replica.backward(batch);
            optimizer.step(replica.model());
        }
        const auto parameters = std::as_const(replica.model()).parameters();
        digests[static_cast<std::size_t>(replica.rank())] = lockstep::hex_digest(parameters);
    });
    return digests[0] == digests[1] ? digests[0] : "ranks differ";
}

/// Addresses of inline functions and variables: each translation unit must see the same.
inline constexpr int address_count = 3;
inline const void* address(int index) {
    if (index == 0) return reinterpret_cast<const void*>(&lockstep::shard_of);
    if (index == 1) return reinterpret_cast<const void*>(&lockstep::digest);
    return &lockstep::element_type_of<float>;
}

}  // namespace odr
