// SPDX-License-Identifier: MIT
/// @file
/// Transport Observed<Link>: any transport, with a Timeline of what its rank does.
///
///     Timeline timeline;                                  // one a rank, made by the thread that trains
///     Observed<Threads> link(threads, timeline);
///     DataParallel<Net, Ring, Observed<Threads>> replica{Net{1}, link};
///
/// Idea: calls, exchanges and waits are noted as they pass; DataParallel notes forward, backward, buckets and steps on a
///       link that is watched (core/stretch.hpp), and nothing on others: these compile to the same instructions.
/// Cost: two looks at the clock and 72 bytes for each call, message, bucket and phase.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <lockstep/core/concepts.hpp>
#include <lockstep/core/stretch.hpp>
#include <lockstep/observe/timeline.hpp>
#include <lockstep/transport/board.hpp>

namespace lockstep {

/// Copies are the same rank and share the timeline, which must outlive them.
template <Transport Link>
class Observed : public Link {
public:
    Observed(Link link, Timeline& timeline) : Link(std::move(link)), timeline_(&timeline) {}

    Timeline& timeline() const noexcept { return *timeline_; }
    /// The transport below: what is done on it is not noted.
    Link& unobserved() noexcept { return *this; }

    Call begin(const Request& request) {
        const std::int64_t start = now();
        const Call call = Link::begin(request);
        std::string name = name_of(request.operation);
        if (request.topology[0] != 0) {
            name += ' ';
            for (const char letter : request.topology) {
                if (letter != 0) name += letter;
            }
        }
        timeline_->record(EventKind::call, name, start, request.elements * size_of(request.type));
        return call;
    }

    void exchange(const Call& call, Outgoing outgoing, Incoming incoming) {
        const std::int64_t start = now();
        Link::exchange(call, outgoing, incoming);
        timeline_->record(EventKind::exchange, "exchange", start, outgoing.peer < 0 ? 0 : outgoing.bytes.size(),
                          outgoing.peer, incoming.peer, incoming.peer < 0 ? 0 : incoming.bytes.size());
    }

    template <class Condition>
    void wait_for(const Call& call, int peer, const Condition& condition) requires SharedAddressSpace<Link> {
        const std::int64_t start = now();
        Link::wait_for(call, peer, condition);
        timeline_->record(EventKind::wait, "wait", start, 0, -1, peer);
    }

    static std::int64_t now() noexcept { return Timeline::now(); }
    /// A phase of your own, from `begin` to now.
    void record(const char* name, std::int64_t begin, std::size_t bytes = 0) {
        timeline_->record(EventKind::phase, name, begin, bytes);
    }

private:
    Timeline* timeline_;
};

}  // namespace lockstep
