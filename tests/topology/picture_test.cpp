// SPDX-License-Identifier: MIT
#include <lockstep/topology/picture.hpp>

#include <string>
#include <string_view>
#include <vector>

#include <lockstep/topology/circulant.hpp>
#include <lockstep/topology/direct.hpp>
#include <lockstep/topology/double_tree.hpp>
#include <lockstep/topology/halving_doubling.hpp>
#include <lockstep/topology/hierarchical.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/topology/pipelined.hpp>
#include <lockstep/topology/recursive_doubling.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/tree.hpp>

#include <boost/test/unit_test.hpp>

namespace {

using namespace lockstep;

std::size_t occurrences(std::string_view text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

/// What is wrong with a document that uses no more of XML than tags, attributes in single quotes, and text.
std::string fault_of(std::string_view xml) {
    std::vector<std::string> open;
    std::size_t roots = 0;
    while (!xml.empty()) {
        const std::size_t tag = xml.find('<');
        for (std::size_t at = xml.find('&'); at < tag; at = xml.find('&', at + 1)) {
            if (xml.find(';', at) > at + 5) return "a lone ampersand";
        }
        if (tag == std::string_view::npos) return xml == "\n" && open.empty() && roots == 1 ? "" : "text at the end";
        const std::size_t end = xml.find('>', tag);
        if (end == std::string_view::npos) return "an endless tag";
        std::string_view inside = xml.substr(tag + 1, end - tag - 1);
        if (xml.substr(0, tag).find('>') != std::string_view::npos) return "a lone bracket";
        xml.remove_prefix(end + 1);
        if (inside.front() == '/') {
            if (open.empty() || open.back() != inside.substr(1)) return "</" + std::string(inside.substr(1)) + ">";
            open.pop_back();
            continue;
        }
        const bool closed = inside.back() == '/';
        if (closed) inside.remove_suffix(1);
        const std::string name(inside.substr(0, inside.find(' ')));
        inside.remove_prefix(name.size());
        std::vector<std::string> attributes;
        while (!inside.empty()) {
            const std::size_t equals = inside.find("='");
            if (inside.front() != ' ' || equals == std::string_view::npos) return name + " without attributes";
            const std::size_t quote = inside.find('\'', equals + 2);
            if (quote == std::string_view::npos) return name + " without a quote";
            const std::string attribute(inside.substr(1, equals - 1));
            for (const std::string& each : attributes) {
                if (each == attribute) return name + " with two " + attribute;
            }
            attributes.push_back(attribute);
            inside.remove_prefix(quote + 1);
        }
        if (open.empty()) ++roots;
        if (!closed) open.push_back(name);
    }
    return "no line end";
}

/// The laws of a picture, for one world size.
template <class Shape>
void check(int world_size) {
    BOOST_TEST_CONTEXT(Shape::name << " over " << world_size) {
        const std::string svg = space_time_svg<Shape>(world_size);
        BOOST_TEST(fault_of(svg) == "");
        std::uint64_t messages = 0;
        for (int rank = 0; rank < world_size; ++rank) {
            messages += counts_of<Shape>(rank, world_size, 100).messages_sent;
            BOOST_TEST(svg.find(">rank " + std::to_string(rank) + "</text>") != std::string::npos);
        }
        BOOST_TEST(occurrences(svg, "class='message'") == messages);
        BOOST_TEST(occurrences(svg, "class='rank'") == static_cast<std::size_t>(world_size));
        // Chunks are named at every message, or at none; the legend names one, too.
        const std::size_t names = occurrences(svg, "class='chunks'");
        BOOST_TEST((names == 0 || names == messages + 1));
        BOOST_TEST(svg.find("nan") == std::string::npos);
        BOOST_TEST(svg == space_time_svg<Shape>(world_size));
    }
}

template <class... Shapes>
void check_all() {
    for (const int world_size : {1, 2, 3, 4, 5, 8, 11, 16}) (check<Shapes>(world_size), ...);
}

BOOST_AUTO_TEST_CASE(every_topology_can_be_drawn) {
    check_all<Naive, Tree, Ring, RecursiveDoubling, HalvingDoubling, Direct, Circulant, DoubleTree, Pipelined<Tree>,
              Hierarchical<Ring, Ring, 4>, Hierarchical<Direct, Tree, 3>>();
}

BOOST_AUTO_TEST_CASE(a_ring_of_three_says_what_happens) {
    const std::string svg = space_time_svg<Ring>(3);
    for (const char* const words :
         {"<title>ring, 3 ranks</title>", ">reduce: sums travel to their owners<",
          ">distribute: results travel to everyone<", "cut into 3 chunks, c0-2. It takes 12 messages.", ">owns c0<",
          ">owns c1<", ">owns c2<", ">round 1<", ">added to what the rank has<", ">replaces what the rank has<"}) {
        BOOST_TEST(svg.find(words) != std::string::npos, words);
    }
    BOOST_TEST(svg.find(">3</text>") == std::string::npos);  // no third round in either half
    BOOST_TEST(svg.find("kept") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(runs_of_chunks_are_named_as_runs) {
    const std::string svg = space_time_svg<HalvingDoubling>(8);
    BOOST_TEST(svg.find(">c4-7</text>") != std::string::npos);
    BOOST_TEST(svg.find(">c2-3</text>") != std::string::npos);
    BOOST_TEST(space_time_svg<DoubleTree>(4).find(">owns c8-15<") != std::string::npos);
    using Scattered = Pipelined<Ring, 2>;
    BOOST_TEST(space_time_svg<Scattered>(4).find(">owns 2 chunks<") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_is_kept_is_added_in_a_round_of_its_own) {
    const std::string svg = space_time_svg<Direct>(4);
    BOOST_TEST(occurrences(svg, "m3 -4h-6l4 4l-4 4h6") == 4U + 1U);  // a sigma for each rank, and one in the legend
    BOOST_TEST(svg.find(">all that was kept is added, in the order of ranks<") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(names_give_way_to_colours_where_there_is_no_room) {
    BOOST_TEST(occurrences(space_time_svg<Ring>(8), "class='chunks'") == 112U + 1U);
    const std::string crowded = space_time_svg<Ring>(16);
    BOOST_TEST(occurrences(crowded, "class='chunks'") == 0U);
    BOOST_TEST(crowded.find(">a message with chunk c0<") != std::string::npos);
    BOOST_TEST(crowded.find(">c15<") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(one_rank_sends_nothing) {
    const std::string svg = space_time_svg<Tree>(1);
    BOOST_TEST(occurrences(svg, "nothing to send") == 2U);
    BOOST_TEST(svg.find("It takes 0 messages.") != std::string::npos);
    BOOST_TEST(svg.find(">owns c0<") != std::string::npos);
}

struct Oddly : Naive {
    static constexpr const char* name = "naive<float> & co";
};
BOOST_AUTO_TEST_CASE(any_name_makes_a_document) {
    const std::string svg = space_time_svg<Oddly>(2);
    BOOST_TEST(fault_of(svg) == "");
    BOOST_TEST(svg.find("<title>naive&lt;float&gt; &amp; co, 2 ranks</title>") != std::string::npos);
}

struct Silent : Naive {
    template <class Emit>
    static constexpr void distribute(int, int, Emit&&) {}
};
template <class Shape>
std::string error_of(int world_size) {
    try {
        space_time_svg<Shape>(world_size);
    } catch (const ConfigurationError& error) {
        return error.what();
    }
    return "no error";
}
BOOST_AUTO_TEST_CASE(only_what_sums_is_drawn) {
    BOOST_TEST(error_of<Silent>(2).find("naive: ends without the owner's chunk") == 0U);
    BOOST_TEST(error_of<Ring>(0) == "ring: can be verified for 1 to 64 ranks only (reduce)");
    BOOST_TEST(error_of<Ring>(65) == "ring: can be verified for 1 to 64 ranks only (reduce)");
}

// The scanner itself must be able to say no.
BOOST_AUTO_TEST_CASE(the_scanner_finds_faults) {
    BOOST_TEST(fault_of("<a b='c'><d/>e</a>\n") == "");
    for (const char* const wrong :
         {"<a>\n", "<a></b>\n", "<a b='c' b='d'/>\n", "<a b=c/>\n", "<a>&</a>\n", "<a/>", "<a/><a/>\n", "<a>></a>\n"}) {
        BOOST_TEST(fault_of(wrong) != "", wrong);
    }
}

}  // namespace
