// SPDX-License-Identifier: MIT
/// @file
/// Every reader of files: the first byte says which, the rest is the file. What is read must be the same when it is
/// written and read again.
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include <lockstep/checkpoint/safetensors.hpp>
#include <lockstep/data/csv.hpp>
#include <lockstep/data/idx.hpp>
#include <lockstep/data/npy.hpp>

#include "fed.hpp"

namespace {

using namespace lockstep;

/// A file in memory, at a path.
class Held {
public:
    explicit Held(std::string_view bytes) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
        fuzz::require(descriptor_ >= 0);
        fuzz::require(::write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() { ::close(descriptor_); }
    std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

private:
    int descriptor_;
};

void read_safetensors(const std::string& path) {
    const auto file = Safetensors::read(path);
    std::size_t end = 0;
    for (const SavedTensor& tensor : file.tensors()) {
        fuzz::require(tensor.begin == end && file.find(tensor.name) != nullptr);
        end = tensor.end;
    }
    const std::string copy = "/tmp/lockstep-fuzz-" + std::to_string(::getpid());
    file.write(copy);
    const auto again = Safetensors::read(copy);
    ::unlink(copy.c_str());
    fuzz::require(again.digest() == file.digest() && again.metadata() == file.metadata() &&
                  again.tensors().size() == file.tensors().size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    const Held file(bytes);
    try {
        switch (data[0] % 5) {
            case 0: read_safetensors(file.path()); break;
            case 1: fuzz::require(read_npy<float>(file.path()).numel() * sizeof(float) <= size); break;
            case 2: fuzz::require(read_npy<std::int64_t>(file.path()).numel() * sizeof(std::int64_t) <= size); break;
            case 3: fuzz::require(read_csv<double>(file.path()).values.numel() <= size); break;
            default: {
                // Images and labels in one: two bytes say how long the images are.
                if (bytes.size() < 2) return 0;
                const std::size_t length = data[1] * 256U + data[2];
                const std::string_view both = bytes.substr(2);
                const Held images(both.substr(0, length));
                const Held labels(length < both.size() ? both.substr(length) : "");
                fuzz::require(labelled_from_idx(images.path(), labels.path()).size() <= size);
            }
        }
    } catch (const Error&) {
        // Named and typed: well.
    }
    return 0;
}
