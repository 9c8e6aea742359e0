// SPDX-License-Identifier: MIT
/// @file
/// Reducer MpiAllReduce: the native all-reduce of an MPI job. CMake target lockstep::mpi.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <mpi.h>

#include <lockstep/adapters/mpi.hpp>
#include <lockstep/collectives/owner_action.hpp>
#include <lockstep/collectives/reduction.hpp>
#include <lockstep/core/arithmetic.hpp>
#include <lockstep/core/digest.hpp>

namespace lockstep {

/// MPI_Allreduce as a Reducer, in whatever way the MPI has chosen: `DataParallel<Model, MpiAllReduce, Mpi>`.
///
/// Cost: that of the MPI, and a first all-reduce of 16 bytes by which ranks see that they do the same: to MPI itself,
/// lengths that differ are undefined. Order of addition: the MPI's, as a rule the same bits on all ranks and in all runs
/// with as many. NaN in `Min` and `Max`: the MPI's rule. Errors: as Mpi's.
class MpiAllReduce {
public:
    static constexpr const char* name = "mpi";

    template <class Scalar, class Operator = Sum, class Action = KeepSum>
    void all_reduce(Mpi& link, std::span<Scalar> buffer, Operator = {}, Action&& owner_acts = {}) {
        const StandardArithmetic mode;
        const Call call = link.begin(
            {Operation::all_reduce, Operator::kind, element_type_of<Scalar>, 0, short_name(name), buffer.size()});
        agree(link, call);
        MPI_Datatype type = MPI_FLOAT;
        switch (element_type_of<Scalar>) {
            case ElementType::float32: type = MPI_FLOAT; break;
            case ElementType::float64: type = MPI_DOUBLE; break;
            case ElementType::int32: type = MPI_INT32_T; break;
            case ElementType::int64: type = MPI_INT64_T; break;
            case ElementType::uint8: type = MPI_UINT8_T; break;
        }
        constexpr std::size_t at_once = std::size_t{1} << 28;
        for (std::size_t at = 0; at < buffer.size(); at += at_once) {
            const std::span<Scalar> part = buffer.subspan(at, (std::min)(at_once, buffer.size() - at));
            reduce(link, call, part.data(), part.size(), type, operation<Operator>());
        }
        if (!buffer.empty()) owner_acts(buffer, std::size_t{0});
    }

private:
    template <class Operator>
    static MPI_Op operation() {
        if constexpr (Operator::kind == Reduction::sum) return MPI_SUM;
        else if constexpr (Operator::kind == Reduction::min) return MPI_MIN;
        else return MPI_MAX;
    }
    static void reduce(Mpi& link, const Call& call, void* values, std::size_t count, MPI_Datatype type,
                       MPI_Op operation) {
        MPI_Request request = MPI_REQUEST_NULL;
        link.check(MPI_Iallreduce(MPI_IN_PLACE, values, static_cast<int>(count), type, operation, link.communicator(),
                                  &request));
        link.wait(call, std::span(&request, 1), -1, false);
    }
    /// The least and the greatest of all ranks' calls must be one.
    static void agree(Mpi& link, const Call& call) {
        const std::array<std::uint64_t, 4> own{call.sequence, call.request.elements,
                                               static_cast<std::uint64_t>(call.request.type),
                                               static_cast<std::uint64_t>(call.request.reduction)};
        const auto number = static_cast<std::int64_t>(digest(std::as_bytes(std::span(own))) >> 1);
        // Not on the stack: where a failure comes first, MPI still writes here after this function has ended.
        const auto both = std::make_shared<std::array<std::int64_t, 2>>(std::array{number, -number});
        try {
            reduce(link, call, both->data(), both->size(), MPI_INT64_T, MPI_MAX);
        } catch (...) {
            Mpi::keep(both);
            throw;
        }
        if ((*both)[0] == number && (*both)[1] == -number) return;
        link.fail({ErrorKind::shape, -1,
                   "ranks disagree: rank " + std::to_string(link.rank()) + " is in " + to_string(call) +
                       ", another in another call or with another length"});
        link.begin(call.request);
    }
};

}  // namespace lockstep
