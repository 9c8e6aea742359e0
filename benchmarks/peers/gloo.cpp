// SPDX-License-Identifier: MIT
// Contender: Gloo over TCP on the loopback address, ranks as processes. `peer_gloo ALGORITHM WORLD`, or `--list`.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gloo/allreduce.h>
#include <gloo/allreduce_bcube.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include "contender.hpp"

namespace {

using Context = std::shared_ptr<gloo::Context>;
using Operation = std::function<void()>;

/// Gloo's function: its options are set up once for a buffer, as its own benchmark does.
template <gloo::AllreduceOptions::Algorithm Algorithm>
Operation function_on(const Context& context, std::span<float> values) {
    const auto options = std::make_shared<gloo::AllreduceOptions>(context);
    options->setAlgorithm(Algorithm);
    options->setOutput(values.data(), values.size());
    options->setReduceFunction(static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
    return [options] { gloo::allreduce(*options); };
}

/// Gloo's older classes: one object for each buffer.
template <template <class...> class Algorithm>
Operation object_on(const Context& context, std::span<float> values) {
    const std::vector<float*> pointers{values.data()};
    const auto object = std::make_shared<Algorithm<float>>(context, pointers, static_cast<int>(values.size()));
    return [object] { object->run(); };
}

struct Algorithm {
    const char* name;
    Operation (*on)(const Context& context, std::span<float> values);
};

constexpr std::array<Algorithm, 6> algorithms{{
    {"ring", function_on<gloo::AllreduceOptions::Algorithm::RING>},
    {"bcube", function_on<gloo::AllreduceOptions::Algorithm::BCUBE>},
    {"class_ring", object_on<gloo::AllreduceRing>},
    {"class_ring_chunked", object_on<gloo::AllreduceRingChunked>},
    {"class_halving_doubling", object_on<gloo::AllreduceHalvingDoubling>},
    {"class_bcube", object_on<gloo::AllreduceBcube>},
}};

class Gloo : public peers::AllReduce {
public:
    Gloo(int rank, int world_size, const Algorithm& algorithm, const std::string& directory)
        : AllReduce(rank, world_size), algorithm_(algorithm) {
        gloo::transport::tcp::attr loopback;
        loopback.hostname = "127.0.0.1";
        std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(loopback);
        gloo::rendezvous::FileStore store(directory);
        const auto context = std::make_shared<gloo::rendezvous::Context>(rank, world_size);
        context->setTimeout(std::chrono::minutes(2));
        context->connectFullMesh(store, device);
        context_ = context;
    }

    std::span<float> start(std::size_t size) {
        if (operation_ && size == values().size()) return values();
        operation_ = nullptr;  // It points into the old buffer.
        const std::span<float> values = AllReduce::start(size);
        operation_ = algorithm_.on(context_, values);
        return values;
    }

    void run() { operation_(); }

private:
    Algorithm algorithm_;
    Context context_;
    Operation operation_;
};

/// A directory for the rendezvous: gone as soon as all ranks have met, or with this object.
class Meeting {
public:
    Meeting() : maker_(::getpid()), path_(std::filesystem::temp_directory_path() / "gloo-XXXXXX") {
        if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp " + path_);
    }
    Meeting(const Meeting&) = delete;
    Meeting& operator=(const Meeting&) = delete;
    ~Meeting() { remove(); }

    const std::string& path() const { return path_; }
    void remove() const {
        std::error_code ignored;
        if (::getpid() == maker_) std::filesystem::remove_all(path_, ignored);
    }

private:
    pid_t maker_;
    std::string path_;
};

int run(const Algorithm& algorithm, int world_size) {
    if (algorithm.name == std::string("class_bcube") && (world_size & (world_size - 1)) != 0) {
        throw std::invalid_argument("AllreduceBcube of Gloo is wrong unless the world size is a power of two");
    }
    const Meeting meeting;
    peers::Board& board = peers::shared_board(world_size);
    return peers::run_forked(board, [&](int rank) {
        Gloo work(rank, world_size, algorithm, meeting.path());
        board.barrier([] {});
        meeting.remove();
        peers::serve(board, work);
    });
}

}  // namespace

int main(int count, char** arguments) try {
    const std::vector<std::string> words(arguments + 1, arguments + count);
    if (words == std::vector<std::string>{"--list"}) {
        for (const Algorithm& each : algorithms) std::printf("%s\n", each.name);
        return 0;
    }
    for (const Algorithm& each : algorithms) {
        if (words.size() == 2 && words[0] == each.name) return run(each, std::stoi(words[1]));
    }
    std::fprintf(stderr, "usage: peer_gloo ALGORITHM WORLD, or peer_gloo --list\n");
    return 2;
} catch (const std::exception& error) {
    std::fprintf(stderr, "peer_gloo: %s\n", error.what());
    return 1;
}
