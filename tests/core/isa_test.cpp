// SPDX-License-Identifier: MIT
#include <lockstep/core/isa.hpp>

#include <fstream>
#include <sstream>
#include <string>

#include <boost/test/unit_test.hpp>

namespace {

using lockstep::Isa;
using lockstep::widest_isa;

static_assert(Isa::baseline < Isa::avx2 && Isa::avx2 < Isa::avx512, "narrowest first");

#if defined(__x86_64__) && defined(__linux__)
/// What the kernel says about the first processor.
bool kernel_lists(const std::string& wanted) {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (line.rfind("flags", 0) != 0) continue;
        std::istringstream words(line);
        for (std::string word; words >> word;) {
            if (word == wanted) return true;
        }
        return false;
    }
    return false;
}

BOOST_AUTO_TEST_CASE(the_kernel_agrees) {
    const bool avx2 = kernel_lists("avx2") && kernel_lists("fma");
    const bool avx512 =
        kernel_lists("avx512f") && kernel_lists("avx512dq") && kernel_lists("avx512vl") && kernel_lists("fma");
    const Isa expected = avx512 ? Isa::avx512 : avx2 ? Isa::avx2 : Isa::baseline;
    BOOST_TEST((widest_isa() == expected));
}
#else
BOOST_AUTO_TEST_CASE(other_processors_have_the_baseline) { BOOST_TEST((widest_isa() == Isa::baseline)); }
#endif

}  // namespace
