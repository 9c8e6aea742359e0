// SPDX-License-Identifier: MIT
#include <lockstep/checkpoint/json_text.hpp>

#include <string>

#include <boost/test/unit_test.hpp>

namespace {

using lockstep::detail::is_utf8;
using lockstep::detail::json_quoted;
using lockstep::detail::JsonText;

BOOST_AUTO_TEST_CASE(strings_are_read_as_the_standard_says) {
    const auto read = [](const char* text) { return JsonText(text).string(); };
    BOOST_TEST((read(R"("plain")") == "plain"));
    BOOST_TEST((read(R"(  "")") == ""));
    BOOST_TEST((read(R"("\"\\\/\b\f\n\r\t")") == "\"\\/\b\f\n\r\t"));
    BOOST_TEST((read(R"("\u0041\u00e9\u20AC\ud83d\ude00")") == "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"));
    for (const char* wrong :
         {"", "plain", "\"open", "\"line\nbreak\"", R"("\x")", R"("\u12")", R"("\u12g4")", R"("\ud83d")",
          R"("\ud83dx")", R"("\ud83d\u0041")", R"("\ude00")", "\"\\", "\"\xFF\"", "\"\xC3\""}) {
        BOOST_TEST(!read(wrong), wrong << " was read");
    }
}

BOOST_AUTO_TEST_CASE(whole_numbers_that_fit_are_read) {
    const auto read = [](const char* text) { return JsonText(text).number(); };
    BOOST_TEST((read(" 0") == 0U));
    BOOST_TEST((read("18446744073709551615") == 18446744073709551615U));
    for (const char* wrong : {"", "x", "-1", "01", "18446744073709551616", "99999999999999999999999"}) {
        BOOST_TEST(!read(wrong), wrong << " was read");
    }
    // What follows is the caller's to refuse.
    JsonText words("12.5");
    BOOST_TEST((words.number() == 12U));
    BOOST_TEST(words.accept('.'));
    BOOST_TEST((words.number() == 5U));
    BOOST_TEST(words.at_end());
}

BOOST_AUTO_TEST_CASE(what_is_quoted_is_read_back) {
    std::string all;
    for (int code = 0; code < 128; ++code) all += static_cast<char>(code);
    all += "\xC3\xA9\xF4\x8F\xBF\xBF";
    BOOST_TEST((JsonText(json_quoted(all)).string() == all));
    BOOST_TEST(json_quoted("a\"b\\\n") == R"("a\"b\\\u000a")");
}

BOOST_AUTO_TEST_CASE(only_shortest_forms_are_utf8) {
    for (const char* good : {"", "abc", "\xC2\x80", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xF0\x90\x80\x80"})
        BOOST_TEST(is_utf8(good));
    for (const char* bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
                            "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82", "\xE2\x28\xA1"}) {
        BOOST_TEST(!is_utf8(bad));
    }
}

}  // namespace
