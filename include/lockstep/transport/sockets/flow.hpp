// SPDX-License-Identifier: MIT
/// @file
/// One message on its way out, and one on its way in: as far as the kernel takes or gives bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include <lockstep/core/call.hpp>
#include <lockstep/transport/sockets/frame.hpp>
#include <lockstep/transport/sockets/io.hpp>

namespace lockstep::detail {

struct Sending {
    Outgoing what{};
    HeaderBytes header{};
    std::size_t done = 0;  ///< bytes of header and payload that the kernel has taken

    bool over() const noexcept { return what.peer < 0 || done == header_bytes + what.bytes.size(); }
    bool half() const noexcept { return done > 0 && !over(); }

    template <class System>
    Moved advance(int descriptor) noexcept {
        const Moved step = send_some<System>(descriptor, header, what.bytes, done);
        done += step.bytes;
        return step;
    }
};

struct Receiving {
    Incoming what{};
    std::size_t element_bytes = 1;
    HeaderBytes header{};
    std::size_t done = 0;    ///< bytes of header and payload that have arrived
    std::size_t folded = 0;  ///< bytes of the payload that are in place

    bool over() const noexcept { return what.peer < 0 || done == header_bytes + what.bytes.size(); }

    /// `scratch` is the same for all of a message: what arrives is folded from it, in pieces of its size. `check()` is
    /// called when the header is complete; nothing is believed, or put in place, before.
    template <class System, class Check>
    Moved advance(int descriptor, std::span<std::byte> scratch, const Check& check) {
        const std::size_t expected = what.bytes.size();
        if (done < header_bytes) {
            // Header and first piece in one call.
            const Moved step = receive_some<System>(descriptor, std::span(header).subspan(done),
                                                    scratch.first((std::min)(scratch.size(), expected)));
            done += step.bytes;
            if (step.state == Moved::State::closed || done < header_bytes) return step;
            check();
            fold(scratch);
            return step;
        }
        const std::size_t arrived = done - header_bytes;
        std::span<std::byte> room = what.bytes.subspan(arrived);
        if (what.combine != nullptr) {
            const std::size_t kept = arrived - folded;  // part of an element
            room = scratch.subspan(kept, (std::min)(scratch.size() - kept, expected - arrived));
        }
        const Moved step = receive_some<System>(descriptor, room);
        done += step.bytes;
        if (what.combine != nullptr) fold(scratch);
        return step;
    }

private:
    /// Puts whole elements of the scratch piece in place, and keeps the part of one that may follow them.
    void fold(std::span<std::byte> scratch) noexcept {
        const std::size_t ready = done - header_bytes - folded;
        if (what.combine == nullptr) {
            if (ready > 0) std::memcpy(what.bytes.data(), scratch.data(), ready);
            folded += ready;
            return;
        }
        const std::size_t whole = ready - ready % element_bytes;
        what.combine(what.bytes.data() + folded, scratch.data(), whole);
        std::memmove(scratch.data(), scratch.data() + whole, ready - whole);
        folded += whole;
    }
};

}  // namespace lockstep::detail
