// SPDX-License-Identifier: MIT
#include "support/reducers/every_reducer.hpp"

#include <lockstep/transport/sockets.hpp>

template const std::vector<test::AnyReducer<lockstep::Sockets>>& test::every_reducer<lockstep::Sockets>();
