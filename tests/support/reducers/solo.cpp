// SPDX-License-Identifier: MIT
#include "support/reducers/every_reducer.hpp"

#include <lockstep/transport/solo.hpp>

template const std::vector<test::AnyReducer<lockstep::Solo>>& test::every_reducer<lockstep::Solo>();
