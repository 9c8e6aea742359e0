// SPDX-License-Identifier: MIT
/// @file
/// Also B30: a load that fails changes nothing.
#include <lockstep/checkpoint/checkpoint.hpp>

#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <ratio>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include <lockstep/core/random.hpp>
#include <lockstep/data/dataset.hpp>
#include <lockstep/data/loader.hpp>
#include <lockstep/data/shuffled_sampler.hpp>
#include <lockstep/data_parallel/data_parallel.hpp>
#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/batch_norm.hpp>
#include <lockstep/nn/cross_entropy.hpp>
#include <lockstep/nn/dropout.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/network.hpp>
#include <lockstep/nn/sequential.hpp>
#include <lockstep/optim/adam.hpp>
#include <lockstep/optim/sgd.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/transport/solo.hpp>

#include "support/messages.hpp"
#include "support/temporary_file.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

template <class Scalar>
using Net = Network<Sequential<Linear<6, 8>, BatchNorm<Features<8>>, Relu, Dropout<std::ratio<1, 4>>, Linear<8, 3>>,
                    CrossEntropy, Scalar>;

template <class Scalar>
LabelledDataset<Scalar> rows(std::size_t count) {
    Tensor<Scalar> inputs({count, 6});
    std::vector<std::int32_t> labels;
    for (std::size_t index = 0; index < count * 6; ++index) {
        inputs.data()[index] = static_cast<Scalar>(static_cast<int>(index * index) % 47 - 23) / 16;
    }
    for (std::size_t row = 0; row < count; ++row) labels.push_back(static_cast<std::int32_t>(row * 5 % 3));
    return {std::move(inputs), std::move(labels)};
}

/// What a run leaves behind: every loss, and the parameters.
struct Trail {
    std::vector<double> losses;
    std::vector<double> parameters;
};

/// Steps `from` to `to` of a run, 5 batches of 20 rows an epoch; saved before step `save_at`, loaded at the beginning
/// if that is not step 0.
template <class Scalar, class Optimizer, class Strategy, class Over>
Trail train(int world_size, std::size_t from, std::size_t to, std::size_t save_at, const std::string& path) {
    const auto data = rows<Scalar>(97);
    Trail trail;
    std::mutex mutex;
    const auto outcomes = Over::run(world_size, [&](auto& link) {
        using Link = std::remove_reference_t<decltype(link)>;
        // Whoever loads has a seed of its own: it must be forgotten.
        const std::uint64_t seed = from == 0 ? 5 : 99 + static_cast<std::uint64_t>(link.rank());
        DataParallel<Net<Scalar>, Strategy, Link> replica(Net<Scalar>(seed), link);
        Optimizer optimizer({.learning_rate = 0.01});
        Loader loader{data, ShuffledSampler{17}, 20};
        Position position;
        if (from > 0) {
            position = load_checkpoint(path, replica, optimizer);
            test::expect(position.epoch * 5 + position.batch == from, "the position");
            test::expect(position.notes.at("why") == "a test of \"notes\"\n", "the note");
            test::expect(position.notes.size() == 1, "one note");
        }
        std::vector<double> losses;
        std::size_t step = from;
        for (; step < to; ++position.epoch, position.batch = 0) {
            const auto epoch = loader.epoch(position.epoch);
            for (; position.batch < epoch.size() && step < to; ++position.batch, ++step) {
                if (step == save_at && link.rank() == 0) {
                    position.notes = {{"why", "a test of \"notes\"\n"}};
                    save_checkpoint(path, replica, optimizer, position);
                }
                losses.push_back(replica.backward(epoch[position.batch]).mean);
                replica.step(optimizer);
            }
        }
        if (link.rank() != 0) return;
        const std::lock_guard lock(mutex);
        trail.losses = losses;
        trail.parameters.assign(replica.model().parameters().begin(), replica.model().parameters().end());
    });
    test::check_all_well(outcomes);
    return trail;
}

template <class Scalar, class Optimizer, class Strategy, class Over>
void goes_on_alike(int saved_by, int resumed_by, double tolerance) {
    constexpr std::size_t saved = 13;
    constexpr std::size_t end = saved + 20;
    const test::TemporaryFile file("");
    const Trail whole = train<Scalar, Optimizer, Strategy, Over>(saved_by, 0, end, saved, file.path());
    const Trail rest = train<Scalar, Optimizer, Strategy, Over>(resumed_by, saved, end, end, file.path());
    BOOST_REQUIRE(rest.losses.size() == 20U);
    BOOST_REQUIRE(whole.losses.size() == end);
    for (std::size_t step = 0; step < 20; ++step) {
        const double expected = whole.losses[saved + step];
        BOOST_TEST(
            (std::abs(rest.losses[step] - expected) <= tolerance * std::abs(expected)),
            saved_by << " to " << resumed_by << ", step " << step << ": " << rest.losses[step] << " != " << expected);
    }
    if (tolerance == 0) BOOST_TEST(rest.parameters == whole.parameters);
}

BOOST_AUTO_TEST_CASE(a_run_goes_on_bit_for_bit) {
    for (const int world_size : {1, 2, 3, 4, 5, 8}) {
        goes_on_alike<float, Adam<float>, Ring, test::OverThreads>(world_size, world_size, 0);
    }
    goes_on_alike<double, AdamW<double>, Naive, test::OverThreads>(3, 3, 0);
    goes_on_alike<float, Adam<float>, Ring, test::OverTcp>(2, 2, 0);
}

BOOST_AUTO_TEST_CASE(a_run_goes_on_in_another_world) {
    for (const auto& [before, after] : {std::pair{2, 3}, std::pair{3, 2}, std::pair{1, 8}, std::pair{5, 1}}) {
        goes_on_alike<float, Adam<float>, Ring, test::OverThreads>(before, after, 1e-5);
        goes_on_alike<double, Adam<double>, Ring, test::OverUnix>(before, after, 1e-12);
    }
}

// ---- Loads that fail ------------------------------------------------------------------------------------------------

using Small = Network<Linear<2, 3>, CrossEntropy>;
using Lone = DataParallel<Small, Ring, Solo>;

/// A checkpoint of a small run, with every part of it different from a new one.
struct Saved {
    test::TemporaryFile file{""};
    Saved() {
        Lone replica(Small(3), Solo{});
        Adam adam;
        adam.reserve(Small::parameter_count);
        float value = 0;
        for (float& state : adam.state()) state = value++;
        adam.set_steps(4);
        replica.set_steps(6);
        save_checkpoint(file.path(), replica, adam, {.epoch = 2, .batch = 1});
    }
};

/// Rewrites the file with a change of texts and a changed list of tensors.
template <class Change>
std::string changed(const std::string& path, const Change& change, const std::string& leave_out = "",
                    std::pair<std::string, std::string> text = {}) {
    const auto file = Safetensors::read(path);
    Safetensors other;
    for (const SavedTensor& tensor : file.tensors()) {
        if (tensor.name == leave_out) continue;
        std::size_t size = 1;
        for (const std::size_t extent : tensor.shape) size *= extent;
        std::vector<float> values(size);
        file.copy(tensor.name, tensor.shape, std::span(values));
        other.add(tensor.name, tensor.shape, std::span<const float>(values));
    }
    change(other);
    for (const auto& [key, value] : file.metadata()) other.set(key, value);
    other.set("digest", other.digest());
    if (!text.first.empty()) other.set(text.first, text.second);
    other.write(path);
    return read_file(path);
}

void a_load_changes_nothing(const std::string& path, const std::vector<std::string>& parts) {
    Lone replica(Small(8), Solo{});
    Adam adam;
    adam.reserve(Small::parameter_count);
    for (float& state : adam.state()) state = 42;
    adam.set_steps(1);
    const auto digest_of = [&] {
        return hex_digest(std::span<const float>(replica.model().parameters())) +
               hex_digest(std::span<const float>(adam.state()));
    };
    const std::string before = digest_of();
    std::vector<std::string> all = parts;
    all.push_back(path);
    test::check_error(test::outcome_of([&] { load_checkpoint(path, replica, adam); }), ErrorKind::format, all);
    BOOST_TEST(digest_of() == before);
    BOOST_TEST(adam.steps() == 1);
    BOOST_TEST(replica.steps() == 0U);
    BOOST_TEST(replica.model().seed() == 8U);
}

BOOST_AUTO_TEST_CASE(everything_comes_back) {
    const Saved saved;
    Lone replica(Small(8), Solo{});
    Adam adam;
    const Position position = load_checkpoint(saved.file.path(), replica, adam);
    BOOST_TEST(position.epoch == 2U);
    BOOST_TEST(position.batch == 1U);
    BOOST_TEST(position.notes.empty());
    BOOST_TEST(adam.steps() == 4);
    BOOST_TEST(replica.steps() == 6U);
    BOOST_TEST(replica.model().seed() == 3U);
    BOOST_TEST(replica.model().parameters() == Small(3).parameters(), boost::test_tools::per_element());
    for (std::size_t index = 0; index < adam.state().size(); ++index)
        BOOST_TEST(adam.state()[index] == static_cast<float>(index));
    // The names that other programs find.
    const auto file = Safetensors::read(saved.file.path());
    std::string names;
    for (const SavedTensor& tensor : file.tensors()) names += tensor.name + ' ';
    BOOST_TEST(names ==
               "weight bias optimizer.exp_avg.weight optimizer.exp_avg.bias optimizer.exp_avg_sq.weight "
               "optimizer.exp_avg_sq.bias ");
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
    const auto nothing = [](Safetensors&) {};
    const std::vector<float> values(6);
    const auto with = [&](const auto& change, const std::string& leave_out, const std::vector<std::string>& parts,
                          std::pair<std::string, std::string> text = {}) {
        const Saved saved;
        changed(saved.file.path(), change, leave_out, std::move(text));
        a_load_changes_nothing(saved.file.path(), parts);
    };
    with(nothing, "bias", {"no tensor \"bias\""});
    with(nothing, "optimizer.exp_avg_sq.bias", {"no tensor \"optimizer.exp_avg_sq.bias\""});
    with([&](Safetensors& file) { file.add("more", {6}, std::span<const float>(values)); }, "",
         {"\"more\" (F32, shape (6))", "none of those"});
    with([&](Safetensors& file) { file.add("weight", {6}, std::span<const float>(values)); }, "weight",
         {"\"weight\" (F32, shape (6))", "(F32, shape (3, 2))"});
    with(
        [&](Safetensors& file) {
            file.add("weight", {3, 2}, std::span<const double>(std::vector<double>(6)));
        },
        "weight", {"\"weight\" (F64, shape (3, 2))"});
    with(nothing, "", {"\"optimizer\" is \"Sgd\", not \"Adam\""}, {"optimizer", "Sgd"});
    with(nothing, "", {"\"steps\" is \"6x\""}, {"steps", "6x"});
    with(nothing, "", {"\"epoch\" is \"\""}, {"epoch", ""});
    with(nothing, "", {"\"optimizer steps\"", "too large"}, {"optimizer steps", "18446744073709551615"});
    with(nothing, "", {"\"format\" is \"pt\""}, {"format", "pt"});
    with(nothing, "", {"\"digest\""}, {"digest", "0123456789abcdef"});
    a_load_changes_nothing("/nowhere/run.safetensors", {"No such file"});
}

BOOST_AUTO_TEST_CASE(a_damaged_file_is_refused_whatever_the_damage) {
    const Saved saved;
    const std::string whole = read_file(saved.file.path());
    const auto refused = [&](const std::string& bytes) {
        replace_file(saved.file.path(), {bytes});
        Lone replica(Small(8), Solo{});
        Adam adam;
        return test::outcome_of([&] { load_checkpoint(saved.file.path(), replica, adam); }).threw;
    };
    for (std::size_t size = 0; size < whole.size(); ++size)
        BOOST_TEST(refused(whole.substr(0, size)), size << " bytes");
    // A bit of any tensor.
    const std::size_t data = Small::parameter_count * 3 * sizeof(float);
    for (std::size_t at = whole.size() - data; at < whole.size(); ++at) {
        std::string other = whole;
        other[at] = static_cast<char>(other[at] ^ 0x10);
        BOOST_TEST(refused(other), "byte " << at);
    }
    BOOST_TEST(!refused(whole));
}

BOOST_AUTO_TEST_CASE(all_ranks_learn_that_rank_0_cannot_read) {
    const auto outcomes = test::OverThreads::run(3, [](Threads& link) {
        DataParallel<Small, Ring, Threads> replica(Small(8), link);
        Adam adam;
        load_checkpoint("/nowhere/run.safetensors", replica, adam);
    });
    test::check_all_threw(outcomes, "/nowhere/run.safetensors: cannot be opened");
}

BOOST_AUTO_TEST_CASE(parameters_alone_are_saved_and_loaded) {
    const test::TemporaryFile file("");
    Net<float> net(1);
    for (float& value : net.buffers()) value += 0.5F;
    save_parameters(file.path(), net);
    Net<float> other(2);
    load_parameters(file.path(), other);
    BOOST_TEST(other.parameters() == net.parameters(), boost::test_tools::per_element());
    BOOST_TEST(other.buffers() == net.buffers(), boost::test_tools::per_element());
    // Of a checkpoint too.
    const Saved saved;
    Small small(9);
    load_parameters(saved.file.path(), small);
    BOOST_TEST(small.parameters() == Small(3).parameters(), boost::test_tools::per_element());
    // Not of another model.
    const std::vector<float> before(small.parameters().begin(), small.parameters().end());
    test::check_error(test::outcome_of([&] { load_parameters(file.path(), small); }), ErrorKind::format,
                      {file.path(), "no tensor \"weight\""});
    BOOST_TEST(std::vector<float>(small.parameters().begin(), small.parameters().end()) == before);
}

// ---- Saves that are killed ------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_save_that_is_killed_leaves_a_whole_file) {
    using Wide = Network<Linear<200, 50>, CrossEntropy>;
    const test::TemporaryFile file("");
    const auto save = [&](std::uint64_t number) {
        DataParallel<Wide, Ring, Solo> replica(Wide(number), Solo{});
        Adam adam;
        save_checkpoint(file.path(), replica, adam, {.epoch = number});
    };
    save(0);
    Random random(1);
    for (int kill = 0; kill < 200; ++kill) {
        int pipe[2];
        BOOST_REQUIRE(::pipe(pipe) == 0);
        const pid_t child = ::fork();
        BOOST_REQUIRE(child >= 0);
        if (child == 0) {
            for (std::uint64_t number = 1;; ++number) {
                // Only this much may be left out if nobody reads.
                if (::write(pipe[1], "s", 1) != 1) ::_exit(1);
                save(number);
            }
        }
        ::close(pipe[1]);
        char begun = 0;
        BOOST_TEST(::read(pipe[0], &begun, 1) == 1);
        // Anywhere in the first saves: as many turns as a random number says.
        volatile std::uint64_t turns = random() % 8'000'000;
        while (turns > 0) turns = turns - 1;
        ::kill(child, SIGKILL);
        int status = 0;
        BOOST_TEST(::waitpid(child, &status, 0) == child);
        BOOST_TEST(WIFSIGNALED(status));
        std::uint64_t begins = 1;
        while (::read(pipe[0], &begun, 1) == 1) ++begins;
        ::close(pipe[0]);
        ::unlink((file.path() + ".partial-" + std::to_string(child)).c_str());

        // Checks the digest: all of it is of one save, the last that ended or the one that was on its way.
        DataParallel<Wide, Ring, Solo> replica(Wide(77), Solo{});
        Adam adam;
        const Position position = load_checkpoint(file.path(), replica, adam);
        BOOST_TEST(position.epoch <= begins);
        BOOST_TEST((position.epoch + 1 >= begins || position.epoch == 0));
        BOOST_TEST(hex_digest(std::span<const float>(replica.model().parameters())) ==
                   hex_digest(std::span<const float>(Wide(position.epoch).parameters())));
        if (position.epoch != 0) save(0);
    }
}

}  // namespace
