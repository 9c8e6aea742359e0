// SPDX-License-Identifier: MIT
// Everything included and instantiated in two translation units: they link, and what is inline is one thing.
#include <lockstep/lockstep.hpp>

#include <cstdio>

#include "training.hpp"

std::string digest_in_one();
const void* addresses_in_one(int index);

int main() {
    const std::string one = digest_in_one();
    const std::string two = odr::train<lockstep::Ring>();
    std::printf("one %s, two %s\n", one.c_str(), two.c_str());
    if (one.size() != 16 || one != two) return 1;
    for (int index = 0; index < odr::address_count; ++index) {
        if (addresses_in_one(index) != odr::address(index)) {
            std::printf("there are two of address %d\n", index);
            return 1;
        }
    }
    return 0;
}
