// SPDX-License-Identifier: MIT
// What no all-reduce of the same bytes is expected to beat: a plain copy in memory, or a plain exchange over sockets.
// `peer_roofline KIND WORLD`, or `--list`.
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "contender.hpp"

namespace {

/// Whole periods of the values, so that they look the same wherever they wrap around.
void check_size(std::size_t size) {
    if (size % peers::period != 0) throw std::invalid_argument("sizes are multiples of 256 bytes here");
}

[[noreturn]] void fail(const char* call) { throw std::runtime_error(std::string(call) + ": " + std::strerror(errno)); }

using Copy = void (*)(float* into, const float* from, std::size_t bytes);

void copy_plainly(float* into, const float* from, std::size_t bytes) { std::memcpy(into, from, bytes); }

#if defined(__SSE2__)
/// Past the caches: the old content of the target is not read first. Sizes are multiples of 64 bytes.
void copy_past_caches(float* into, const float* from, std::size_t bytes) {
    for (const float* const end = from + bytes / sizeof(float); from != end; from += 16, into += 16) {
        const __m128 values[] = {_mm_load_ps(from), _mm_load_ps(from + 4), _mm_load_ps(from + 8),
                                 _mm_load_ps(from + 12)};
        for (std::size_t part = 0; part < 4; ++part) _mm_stream_ps(into + 4 * part, values[part]);
    }
    _mm_sfence();
}
#endif

/// Every rank copies its values at the same time as all others.
template <Copy copy>
class InMemory : public peers::AllReduce {
public:
    using AllReduce::AllReduce;

    std::span<float> start(std::size_t size) {
        check_size(size);
        copy_.resize(size);
        return AllReduce::start(size);
    }
    void run() { copy(copy_.values().data(), values().data(), values().size_bytes()); }
    bool is_right() const { return peers::holds(copy_.values(), peers::contribution(rank())); }

private:
    peers::Floats copy_;
};

/// Where a rank sends to, and where it receives from: one socket if there are two ranks.
struct Ends {
    int next = -1;
    int previous = -1;
};

/// Every rank sends to the next and receives from the previous, at the same time, the bytes that an all-reduce of its
/// values cannot avoid: 2(W-1)/W of them, which is all of them once if there are two ranks. What arrives stays in a
/// piece of memory that fits into the cache.
class Exchange : public peers::AllReduce {
public:
    Exchange(int rank, int world_size, Ends ends) : AllReduce(rank, world_size), ends_(ends) {}

    std::span<float> start(std::size_t size) {
        check_size(size);
        const auto ranks = static_cast<std::size_t>(world_size());
        due_ = 2 * size * sizeof(float) * (ranks - 1) / ranks;
        peers::fill(piece_.resize((std::min)(size, piece_bytes / sizeof(float))), {});
        return AllReduce::start(size);
    }

    void run() {
        const auto from = std::as_bytes(values());
        const auto into = std::as_writable_bytes(piece_.values());
        std::size_t sent = 0;
        std::size_t received = 0;
        while (sent < due_ || received < due_) {
            const std::size_t place = sent % from.size();
            const std::size_t room = (std::min)({piece_bytes, due_ - sent, from.size() - place});
            const std::size_t went =
                move(room, [&] { return ::send(ends_.next, from.data() + place, room, MSG_DONTWAIT | MSG_NOSIGNAL); });
            sent += went;
            const std::size_t target = received % into.size();
            const std::size_t wanted = (std::min)(into.size() - target, due_ - received);
            const std::size_t came =
                move(wanted, [&] { return ::recv(ends_.previous, into.data() + target, wanted, MSG_DONTWAIT); });
            received += came;
            if (went == 0 && came == 0) wait(sent < due_, received < due_);
        }
    }

    bool is_right() const {
        return peers::holds(piece_.values(), peers::contribution((rank() + world_size() - 1) % world_size()));
    }

private:
    static constexpr std::size_t piece_bytes = std::size_t{256} << 10;

    template <class SystemCall>
    static std::size_t move(std::size_t wanted, const SystemCall& call) {
        if (wanted == 0) return 0;
        const ssize_t moved = call();
        if (moved > 0) return static_cast<std::size_t>(moved);
        if (moved == 0) throw std::runtime_error("the other end is closed");
        if (errno != EAGAIN && errno != EINTR) fail("send or recv");
        return 0;
    }

    void wait(bool sends, bool receives) const {
        std::array<pollfd, 2> waits{pollfd{sends ? ends_.next : -1, POLLOUT, 0},
                                    pollfd{receives ? ends_.previous : -1, POLLIN, 0}};
        if (::poll(waits.data(), waits.size(), 60'000) == 0) throw std::runtime_error("nothing moves for 60 s");
    }

    Ends ends_;
    std::size_t due_ = 0;  // bytes
    peers::Floats piece_;
};

using Pair = std::pair<int, int>;

Pair unix_pair() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) fail("socketpair");
    return {ends[0], ends[1]};
}

Pair tcp_pair() {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const address = reinterpret_cast<sockaddr*>(&name);
    socklen_t size = sizeof name;
    if (::bind(listener, address, size) != 0 || ::listen(listener, 1) != 0) fail("bind and listen");
    if (::getsockname(listener, address, &size) != 0) fail("getsockname");
    const int one_end = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::connect(one_end, address, size) != 0) fail("connect");
    const int other_end = ::accept(listener, nullptr, nullptr);
    if (other_end < 0) fail("accept");
    ::close(listener);
    const int one = 1;
    for (const int end : {one_end, other_end}) ::setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return {one_end, other_end};
}

template <Copy copy>
int in_memory(int world_size) {
    peers::Board board(world_size);
    const auto rank_main = [&](int rank) {
        try {
            InMemory<copy> work(rank, world_size);
            peers::serve(board, work);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
            std::_Exit(1);
        }
    };
    std::vector<std::thread> others;
    for (int rank = 1; rank < world_size; ++rank) others.emplace_back(rank_main, rank);
    rank_main(0);
    for (std::thread& each : others) each.join();
    return 0;
}

template <Pair (*connected_pair)()>
int over_sockets(int world_size) {
    if (world_size < 2) throw std::invalid_argument("an exchange needs two ranks");
    std::vector<Ends> ends(static_cast<std::size_t>(world_size));
    for (std::size_t rank = 0; rank < ends.size(); ++rank) {
        const Pair link = connected_pair();
        ends[rank].next = link.first;
        ends[(rank + 1) % ends.size()].previous = link.second;
    }
    if (world_size == 2) {
        ends[0].previous = ends[0].next;
        ends[1].next = ends[1].previous;
    }
    peers::Board& board = peers::shared_board(world_size);
    return peers::run_forked(board, [&](int rank) {
        Exchange work(rank, world_size, ends[static_cast<std::size_t>(rank)]);
        peers::serve(board, work);
    });
}

struct Kind {
    const char* name;
    int (*run)(int world_size);
};
constexpr Kind kinds[] = {
    {"memcpy", in_memory<copy_plainly>},
#if defined(__SSE2__)
    {"memcpy_nontemporal", in_memory<copy_past_caches>},
#endif
    {"tcp", over_sockets<tcp_pair>},
    {"unix", over_sockets<unix_pair>},
};

}  // namespace

int main(int count, char** arguments) try {
    const std::vector<std::string> words(arguments + 1, arguments + count);
    if (words == std::vector<std::string>{"--list"}) {
        for (const Kind& each : kinds) std::printf("%s\n", each.name);
        return 0;
    }
    for (const Kind& each : kinds) {
        if (words.size() == 2 && words[0] == each.name) return each.run(std::stoi(words[1]));
    }
    std::fprintf(stderr, "usage: peer_roofline KIND WORLD, or peer_roofline --list\n");
    return 2;
} catch (const std::exception& error) {
    std::fprintf(stderr, "peer_roofline: %s\n", error.what());
    return 1;
}
