// SPDX-License-Identifier: MIT
#include "support/reducers/every_reducer.hpp"

#include <lockstep/transport/threads.hpp>

template const std::vector<test::AnyReducer<lockstep::Threads>>& test::every_reducer<lockstep::Threads>();
