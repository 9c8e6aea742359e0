// SPDX-License-Identifier: MIT
// Trial B15: awkward lengths, empty tensors, one rank.
#include <lockstep/collectives/all_reduce.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/data_parallel/data_parallel.hpp>

#include "faults/one_weight.hpp"
#include "support/descriptors.hpp"
#include "support/shared_memory.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

BOOST_AUTO_TEST_CASE_TEMPLATE(every_length_and_address_sums_and_averages, Runner, test::EveryTransport) {
    test::check_all_well(Runner::run(4, [](auto& link) {
        test::for_each_reducer(link, [&](const auto& reducer) {
            for (const std::size_t length : {0U, 1U, 3U, 4U, 5U, 7U, 1023U}) {
                for (const bool averages : {false, true}) {
                    test::Values<float> values(length, 1);  // 4 bytes past a 32-byte boundary
                    for (std::size_t index = 0; index < length; ++index) {
                        values.span()[index] =
                            static_cast<float>((static_cast<std::size_t>(link.rank()) + 1) * (index + 1));
                    }
                    reducer.all_reduce(link, values.span(), Sum{}, [&](std::span<float> piece, std::size_t) {
                        for (float& value : piece) value /= averages ? 4.0F : 1.0F;
                    });
                    const auto right = [&](std::size_t index) {
                        return values.span()[index] == (averages ? 2.5F : 10.0F) * static_cast<float>(index + 1);
                    };
                    test::expect_each(length, right, reducer.name);
                }
            }
        });
    }));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(no_elements_still_keep_ranks_in_step, Runner, test::EveryTransport) {
    test::for_each_reducer<Runner>([&](const auto& reducer) {
        const auto outcomes = Runner::run(3, [&](auto& link) {
            std::span<float> nothing;
            reducer.all_reduce(link, nothing);
            // Rank 2 leaves one call out: the others must not take its next for theirs.
            if (link.rank() != 2) reducer.all_reduce(link, nothing);
            std::vector<float> values(3);
            reducer.all_reduce(link, std::span(values));
        });
        test::check_all_threw(outcomes, "#1 (sum of 3 float32");
        test::check_all_threw(outcomes, "#1 (sum of 0 float32");
    });
}

/// Three numbers between parameters that have none.
struct Hollow {
    using scalar_type = float;
    std::vector<float> values = std::vector<float>(3, 1.0F);
    std::vector<float> slopes = std::vector<float>(3);
    std::span<float> parameters() { return values; }
    std::span<float> gradients() { return slopes; }
    Manifest manifest() const { return {{"a", {0, 5}}, {"b", {2}}, {"c", {1, 0, 2}}, {"d", {1}}, {"e", {0}}}; }
    LossSum backward(const test::Inputs& rows) {
        for (const float x : rows.x) {
            for (std::size_t index = 0; index < 3; ++index) slopes[index] += x * static_cast<float>(index + 1);
        }
        return {0, static_cast<double>(rows.rows())};
    }
};

/// No numbers at all.
struct Empty {
    using scalar_type = float;
    std::span<float> parameters() { return {}; }
    std::span<float> gradients() { return {}; }
    Manifest manifest() const { return {}; }
    LossSum backward(const test::Inputs& rows) {
        return {1.0 * static_cast<double>(rows.rows()), 1.0 * static_cast<double>(rows.rows())};
    }
};

BOOST_AUTO_TEST_CASE_TEMPLATE(models_with_empty_parameters_learn, Runner, test::EveryTransport) {
    const std::vector<float> x = test::whole_numbers(1, 10);
    test::check_all_well(Runner::run(4, [&](auto& link) {
        test::for_each_reducer(link, [&](const auto& reducer) {
            test::ReplicaOf<Hollow, decltype(link)> hollow{Hollow{}, link, reducer};
            hollow.backward(test::Inputs{x});
            test::expect(hollow.model().slopes == std::vector<float>{5.5F, 11, 16.5F}, "gradients");
            test::ReplicaOf<Empty, decltype(link)> empty{Empty{}, link, reducer};
            test::expect(empty.backward(test::Inputs{x}).mean == 1, "loss");
        });
    }));
}

BOOST_AUTO_TEST_CASE(one_rank_opens_no_socket_and_keeps_its_bits) {
    const std::vector<std::uint32_t> brought{0x80000000, 0x7FC12345, 0x7F812345, 0xFFFFFFFF, 0x00000001};
    const std::size_t before = test::open_descriptors();
    Sockets link{SocketsOptions{.rank = 0, .world_size = 1, .address = "nobody.invalid:1"}};
    BOOST_TEST(test::open_descriptors() == before);
    test::for_each_reducer(link, [&](const auto& reducer) {
        test::Values<float> values(brought.size(), 1);
        std::memcpy(values.span().data(), brought.data(), values.span().size_bytes());
        reducer.all_reduce(link, values.span());
        BOOST_TEST((test::bits_of(values.span()) == brought), reducer.name);
    });
    BOOST_TEST((link.traffic() == Traffic{}));
}

}  // namespace
