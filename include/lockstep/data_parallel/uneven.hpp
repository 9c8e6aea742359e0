// SPDX-License-Identifier: MIT
/// @file
/// Training when ranks have batches of their own, and not equally many.
#pragma once

#include <lockstep/core/config.hpp>

namespace lockstep {

/// Calls `replica.backward_shard` for each of this rank's `batches` (rows, or what has `all()`, as a Loader's), and without
/// rows once they have run out, until no rank has any rows left; after each step `work(loss)`, where an optimizer steps.
/// Every rank calls it, with at least one row in each batch; all make as many steps as the rank with the most batches.
/// Each step averages over the rows that there are: no row counts twice, and none is left out.
template <class Replica, class Batches, class Work>
void until_all_are_done(Replica& replica, Batches&& batches, Work&& work) {
    auto next = batches.begin();
    const auto end = batches.end();
    for (;;) {
        const auto loss = [&] {
            if (next == end) return replica.backward_shard();
            const auto& batch = *next;
            if constexpr (requires { batch.all(); }) return replica.backward_shard(batch.all());
            else return replica.backward_shard(batch);
        }();
        if (loss.rows == 0) return;
        if (next != end) ++next;
        work(loss);
    }
}

}  // namespace lockstep
