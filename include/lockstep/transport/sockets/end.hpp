// SPDX-License-Identifier: MIT
/// @file
/// One rank's end of all connections: how messages move, what is waited for meanwhile, and how it ends.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>

#include <lockstep/core/concepts.hpp>
#include <lockstep/core/one_thread.hpp>
#include <lockstep/core/recorder.hpp>
#include <lockstep/core/report.hpp>
#include <lockstep/transport/doorbell.hpp>
#include <lockstep/transport/sockets/control.hpp>
#include <lockstep/transport/sockets/flow.hpp>
#include <lockstep/transport/sockets/peers.hpp>

namespace lockstep::detail {

template <class System>
class SocketEnd {
public:
    explicit SocketEnd(const SocketsOptions& settings) : SocketEnd(settings, meet(settings)) {}

    Call begin(const Request& request) {
        const Use use(*this);
        const Call call{calls_++, request, Deadline::soon_after(options.timeout)};
        recorder_.begin(call);
        return call;
    }

    void exchange(const Call& call, const Outgoing& outgoing, const Incoming& incoming) {
        const Use use(*this);
        try {
            slow_at_.reset();
            probe_at_.reset();
            reach(call, outgoing.peer);
            reach(call, incoming.peer);
            move(call, outgoing, incoming);
        } catch (...) {
            // Half a message may be on its way: whatever this was, the connections are of no use any more.
            if (!failure_) latch(current_failure(options.rank));
            throw;
        }
    }

    /// Latches, tells the others, and cuts the data connections, so that no rank waits for this one.
    void fail(Failure failure) {
        Holder nobody = Holder::nobody;
        if (holder_.compare_exchange_strong(nobody, Holder::failing)) {
            latch(std::move(failure));
            holder_.store(Holder::nobody);
            return;
        }
        // Another thread is at work here: it fails for this reason when it next looks.
        const std::lock_guard lock(mutex_);
        if (!pending_) pending_ = std::move(failure);
        intruded_.store(true);
    }

    /// Has `peer`, with whom this rank has exchanged something, closed its end, by leaving or dying?
    bool gone(int peer) const noexcept {
        pollfd look{peers_[peer], POLLRDHUP, 0};
        return ::poll(&look, 1, 0) > 0;
    }

    std::string recent() const { return recorder_.text(options.rank, failure_ ? failure_->message : ""); }

    const SocketsOptions options;
    Traffic traffic;

private:
    /// Whose turn it is: of a thread that calls, or of one that ends everything, which is no second caller.
    enum class Holder { nobody, caller, failing };

    /// One thread at a time: holds the end while it works, and throws what has ended it before.
    class Use {
    public:
        explicit Use(SocketEnd& end) : end_(end) {
            for (Holder holder = Holder::nobody; !end_.holder_.compare_exchange_strong(holder, Holder::caller);
                 holder = Holder::nobody) {
                if (holder == Holder::caller) {
                    end_.intruded_.store(true);
                    throw TransportError(two_threads_text(end_.options.rank), end_.options.rank);
                }
                if (holder == Holder::failing) std::this_thread::yield();  // Soon over: then there is a reason.
            }
            if (end_.intruded_.load()) end_.latch(end_.intrusion());
            if (!end_.failure_) return;
            end_.holder_.store(Holder::nobody);
            raise(*end_.failure_);
        }
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;
        ~Use() {
            end_.forget_messages();
            end_.holder_.store(Holder::nobody);
        }

    private:
        SocketEnd& end_;
    };

    SocketEnd(const SocketsOptions& settings, Met met)
        : options(settings),
          control_(settings.rank, std::move(met.control)),
          peers_(options, std::move(met)),
          scratch_(piece_bytes),
          turns_(spins_for(settings.world_size) > 0 ? idle_turns : 0) {}

    static Met meet(const SocketsOptions& options) {
        if (options.world_size < 1) {
            throw ConfigurationError("world_size must be at least 1, not " + std::to_string(options.world_size));
        }
        if (options.rank < 0 || options.rank >= options.world_size) {
            throw ConfigurationError("rank " + std::to_string(options.rank) + " is outside a world of size " +
                                     std::to_string(options.world_size));
        }
        return options.world_size > 1 ? Rendezvous<System>(options).run() : Met{};
    }

    /// Attempts that move nothing before this rank sleeps, where every rank has a core of its own: to be woken takes
    /// longer than these, some tens of microseconds.
    static constexpr int idle_turns = 50;
    /// How often this rank looks whether a higher one, which has yet to call, is still there.
    static constexpr Seconds probe_interval{0.2};
    /// The longest sleep: then this rank looks about, for guests that have been silent for long, and for other threads.
    static constexpr Seconds tick{1};
    /// Arriving bytes are folded from a piece of this size, which stays in the second-level cache.
    static constexpr std::size_t piece_bytes = std::size_t{128} << 10;

    /// What another thread has done here.
    Failure intrusion() {
        const std::lock_guard lock(mutex_);
        if (pending_) return *pending_;
        return {ErrorKind::transport, options.rank, two_threads_text(options.rank)};
    }

    void move(const Call& call, const Outgoing& outgoing, const Incoming& incoming) {
        Sending& sending = sending_;
        Receiving& receiving = receiving_;
        sending = Sending{outgoing};
        receiving = Receiving{incoming, size_of(call.request.type)};
        if (outgoing.peer >= 0) {
            sending.header = encode(Header{FrameKind::data, call.request, call.sequence, outgoing.bytes.size()});
            ++traffic.messages;
            traffic.bytes += outgoing.bytes.size();
        }
        for (int turns = turns_;;) {
            if (sending.over() && receiving.over()) return;
            const bool sends = !sending.over() && send(call, sending);
            const bool receives = !receiving.over() && receive(call, receiving);
            if (sends || receives) {
                turns = turns_;
            } else if (turns > 0) {
                --turns;
                pause_spinning();
            } else {
                wait(call, sending.over() ? -1 : outgoing.peer, receiving.over() ? -1 : incoming.peer);
            }
        }
    }

    /// Calls `peer` if it is lower and has not been met; a higher one will call.
    void reach(const Call& call, int peer) {
        if (peer < 0 || peer >= options.rank || peers_[peer] >= 0) return;
        const auto wait_for = [&](int descriptor, short events) {
            do {
                waits_.assign(1, {descriptor, events, 0});
                sleep(call, peer, call.deadline);
            } while (waits_[0].revents == 0);
            return true;
        };
        const int error = peers_.call(peer, call.deadline, wait_for);
        if (error == ETIMEDOUT && call.deadline.passed()) late(call, peer);
        if (error != 0) lost(call, peer, error == ECONNREFUSED || error == ENOENT ? 0 : error);
    }

    bool send(const Call& call, Sending& sending) {
        const int descriptor = peers_[sending.what.peer];
        if (descriptor < 0) return false;
        const Moved step = sending.advance<System>(descriptor);
        if (step.state == Moved::State::closed) lost(call, sending.what.peer, step.error);
        return step.state == Moved::State::some;
    }

    bool receive(const Call& call, Receiving& receiving) {
        const int descriptor = peers_[receiving.what.peer];
        if (descriptor < 0) return false;
        const Moved step = receiving.advance<System>(descriptor, scratch_, [&] { check(call, receiving); });
        if (step.state == Moved::State::closed) lost(call, receiving.what.peer, step.error);
        return step.state == Moved::State::some;
    }

    void check(const Call& call, const Receiving& receiving) {
        const int peer = receiving.what.peer;
        const std::optional<Header> header = decode(receiving.header);
        if (header && header->kind == FrameKind::failure) fail_with(call, *header, receiving);
        if (!header || header->kind != FrameKind::data) {
            give_up({ErrorKind::transport, peer,
                     "rank " + std::to_string(peer) + " sent bytes that are no lockstep frame"});
        }
        if (header->sequence != call.sequence || header->request != call.request ||
            header->bytes != receiving.what.bytes.size()) {
            give_up(disagreement(options.rank, call, peer, header->sequence, header->request));
        }
    }

    /// A peer that fails says why where the next message would be; some of it has come with the header.
    [[noreturn]] void fail_with(const Call& call, Header header, const Receiving& receiving) {
        const int peer = receiving.what.peer;
        const auto begun = std::span(scratch_).first((std::min)(receiving.done - header_bytes, header.bytes));
        header.bytes -= begun.size();
        auto message = read_rest<System>(peers_[peer], header, Deadline::after(Seconds{1}));
        if (!message) lost(call, peer, 0);
        message->payload.insert(message->payload.begin(), begun.begin(), begun.end());
        give_up(failure_in(message, peer));
    }

    /// Why `peer` has ended the connection, if it has said so and nothing of it has been read.
    std::optional<Failure> last_words_of(int peer) {
        const bool half = receiving_.what.peer == peer && receiving_.done > 0;
        if (half || peers_[peer] < 0) return std::nullopt;
        const auto message = read_message<System>(peers_[peer], Deadline::after(Seconds{0}));
        if (!message || message->kind() != FrameKind::failure) return std::nullopt;
        return failure_in(message, peer);
    }

    void wait(const Call& call, int outgoing, int incoming) {
        waits_.clear();
        if (incoming >= 0) waits_.push_back({peers_[incoming], POLLIN, 0});
        if (outgoing >= 0 && outgoing == incoming) waits_[0].events |= POLLOUT;
        else if (outgoing >= 0) waits_.push_back({peers_[outgoing], POLLOUT, 0});
        for (const int peer : {incoming, outgoing}) {
            if (peer < 0 || peers_[peer] >= 0) continue;
            if (!probe_at_) probe_at_ = Deadline::after(probe_interval);
            sleep(call, peer, *probe_at_);
            if (!probe_at_->passed() || peers_[peer] >= 0) return;
            probe_at_ = Deadline::after(probe_interval);
            if (!peers_.listens(peer)) lost(call, peer, 0);
            return;
        }
        sleep(call, incoming >= 0 ? incoming : outgoing, call.deadline);
    }

    /// Until one of `waits_`, for which `peer` is to blame, is ready, or something else has come and been dealt with, or
    /// `moment` has come, or a second has passed.
    void sleep(const Call& call, int peer, const Deadline& moment) {
        const std::size_t own = waits_.size();
        control_.watch(waits_);
        const std::size_t news = waits_.size();
        peers_.watch(waits_);
        if (!slow_at_) slow_at_ = Deadline::soon_after(options.slow_after);
        const auto begun = Deadline::Clock::now();
        const bool ready = poll_until(waits_, earlier(earlier(moment, call.deadline), Deadline::after(tick)));
        recorder_.waited(peer, Deadline::Clock::now() - begun);
        const auto any = [&](std::size_t from, std::size_t to) {
            return ready && std::any_of(waits_.begin() + static_cast<std::ptrdiff_t>(from),
                                        waits_.begin() + static_cast<std::ptrdiff_t>(to),
                                        [](const pollfd& each) { return each.revents != 0; });
        };
        if (any(own, news)) {
            if (const auto failure = control_.news()) give_up(*failure);
            if (const auto verdict = control_.respond(waiting(call, peer), options.timeout)) give_up(*verdict);
        }
        const bool knocks = any(news, waits_.size());
        if (any(0, own)) return;
        if (knocks || !ready) peers_.admit();  // The impatient are shown out now and then.
        if (intruded_.load()) give_up(intrusion());
        if (call.deadline.passed()) late(call, peer);
        if (reported_ == call.sequence + 1 || !slow_at_->passed()) return;
        reported_ = call.sequence + 1;
        options.report(waited_text(options.rank, options.slow_after, waiting(call, peer)));
    }

    static Waiting waiting(const Call& call, int peer) { return {peer, call.sequence, call.request}; }

    [[noreturn]] void late(const Call& call, int peer) {
        give_up(control_.verdict(waiting(call, peer), options.timeout));
    }

    [[noreturn]] void lost(const Call& call, int peer, int error) {
        if (const auto words = last_words_of(peer)) give_up(*words);
        if (const auto known = control_.reason(Deadline::after(Seconds{1}))) give_up(*known);
        give_up({ErrorKind::peer_lost, peer,
                 "rank " + std::to_string(peer) + " is lost (" + (error == 0 ? "it has left" : std::strerror(error)) +
                     "); rank " + std::to_string(options.rank) + " was in " + to_string(call)});
    }

    [[noreturn]] void give_up(const Failure& failure) {
        latch(failure);
        raise(*failure_);
    }

    void forget_messages() noexcept { sending_.what.peer = receiving_.what.peer = -1; }

    void latch(Failure failure) noexcept {
        if (failure_) return;
        failure_ = std::move(failure);
        control_.announce(*failure_);
        peers_.cut(*failure_, sending_.half() ? sending_.what.peer : -1);
        forget_messages();
        if (options.record.empty()) return;
        if (recorder_.write(options.record, options.rank, failure_->message)) return;
        try {
            options.report("rank " + std::to_string(options.rank) + " cannot write its last collectives to " +
                           options.record + "." + std::to_string(options.rank));
        } catch (...) {
            return;  // It was only for the record.
        }
    }

    Control<System> control_;
    Peers<System> peers_;
    std::optional<Failure> failure_;
    std::uint64_t calls_ = 0;
    std::optional<Deadline> slow_at_;  ///< when the wait of this exchange is worth a word
    std::uint64_t reported_ = 0;       ///< one more than the number of the call that has been reported as slow
    Recorder recorder_;
    std::optional<Deadline> probe_at_;  ///< when to look whether a rank that has yet to call is still there
    Sending sending_{};                 ///< what is under way in this exchange
    Receiving receiving_{};
    std::mutex mutex_;
    std::optional<Failure> pending_;  ///< of another thread, until this one looks
    std::atomic<Holder> holder_{Holder::nobody};
    std::atomic<bool> intruded_{false};
    std::vector<std::byte> scratch_;
    std::vector<pollfd> waits_;
    int turns_;
};

}  // namespace lockstep::detail
