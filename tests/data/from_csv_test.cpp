// SPDX-License-Identifier: MIT
#include <lockstep/data/from_csv.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

namespace {

using namespace lockstep;
using Scalars = boost::mpl::list<float, double>;

auto says(const std::string& text) {
    return [text](const std::exception& error) {
        BOOST_TEST(error.what() == text);
        return true;
    };
}

template <class Scalar>
Csv<Scalar> table(std::string_view text, bool header = false) {
    return parse_csv<Scalar>(text, "t.csv", {.header = header, .missing_as_nan = true});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(labels_come_from_the_last_column_or_another, Scalar, Scalars) {
    const auto csv = table<Scalar>("a,b,y\n1,2,0\n3,4,1\n5,6,1\n", true);
    const auto dataset = labelled_from_csv(csv);
    BOOST_TEST(dataset.size() == 3U);
    BOOST_TEST(dataset.features() == 2U);
    const std::array<std::int32_t, 3> labels{0, 1, 1};
    for (std::size_t row = 0; row < 3; ++row) {
        BOOST_TEST(dataset.batch().targets[row] == labels[row]);
        BOOST_TEST(dataset.batch().inputs(row, 0) == static_cast<Scalar>(2 * row + 1));
        BOOST_TEST(dataset.batch().inputs(row, 1) == static_cast<Scalar>(2 * row + 2));
    }
    const auto other = labelled_from_csv(csv, csv.column("b"));
    BOOST_TEST(other.batch().targets[2] == 6);
    BOOST_TEST(other.batch().inputs(2, 0) == 5);
    BOOST_TEST(other.batch().inputs(2, 1) == 1);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(labels_that_are_no_classes_are_refused, Scalar, Scalars) {
    for (const std::string label : {"1.5", "-1", "1e+20", "-0.5", "nan"}) {
        const std::string text = "x,y\n1,0\n2," + label;
        const std::string limit = sizeof(Scalar) == 4 ? "16777215" : "2147483647";
        BOOST_CHECK_EXCEPTION(
            labelled_from_csv(table<Scalar>(text, true)), FormatError,
            says("t.csv: line 3, column 2 (\"y\"): the label " + label + " is not a whole number from 0 to " + limit));
    }
    BOOST_CHECK_THROW(labelled_from_csv(table<Scalar>("1,")), FormatError);
    BOOST_TEST(labelled_from_csv(table<Scalar>("1,-0")).batch().targets[0] == 0);
}

BOOST_AUTO_TEST_CASE(labels_are_exact_or_refused) {
    BOOST_TEST(labelled_from_csv(table<double>("1,2147483647")).batch().targets[0] == 2147483647);
    BOOST_CHECK_EXCEPTION(
        labelled_from_csv(table<double>("1,2147483648")), FormatError,
        says("t.csv: line 1, column 2: the label 2147483648 is not a whole number from 0 to 2147483647"));
    BOOST_TEST(labelled_from_csv(table<float>("1,16777215")).batch().targets[0] == 16777215);
    // As a float this is 16777216: another class.
    BOOST_CHECK_THROW(labelled_from_csv(table<float>("1,16777217")), FormatError);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(several_columns_may_be_targets, Scalar, Scalars) {
    const auto csv = table<Scalar>("1,2,3,4\n5,6,7,8\n");
    const auto dataset = regression_from_csv(csv, {3, 1});
    BOOST_TEST(dataset.features() == 2U);
    BOOST_TEST(dataset.batch().inputs(1, 0) == 5);
    BOOST_TEST(dataset.batch().inputs(1, 1) == 7);
    BOOST_TEST(dataset.batch().targets.cols == 2U);
    BOOST_TEST(dataset.batch().targets(1, 0) == 8);
    BOOST_TEST(dataset.batch().targets(1, 1) == 6);
    const auto last = regression_from_csv(csv);
    BOOST_TEST(last.features() == 3U);
    BOOST_TEST(last.batch().targets(0, 0) == 4);
}

BOOST_AUTO_TEST_CASE(columns_that_make_no_sense_are_refused) {
    const auto csv = table<float>("1,2,3\n");
    BOOST_CHECK_EXCEPTION(labelled_from_csv(csv, 3), ShapeError, says("t.csv: column 4 of a table of 3 columns"));
    BOOST_CHECK_EXCEPTION(regression_from_csv(csv, {0, 7}), ShapeError,
                          says("t.csv: column 8 of a table of 3 columns"));
    BOOST_CHECK_EXCEPTION(regression_from_csv(csv, {2, last_column}), ShapeError, says("t.csv: target column 3 twice"));
    BOOST_CHECK_EXCEPTION(regression_from_csv(csv, {2, 0, 1}), ShapeError,
                          says("t.csv: no column is left for the inputs"));
    BOOST_CHECK_THROW(labelled_from_csv(table<float>("1\n2")), ShapeError);
    BOOST_CHECK_THROW(labelled_from_csv(Csv<float>{.name = "none"}), ShapeError);
}

BOOST_AUTO_TEST_CASE(a_table_without_rows_is_a_dataset_without_rows) {
    const auto dataset = labelled_from_csv(table<float>("a,b,y\n", true));
    BOOST_TEST(dataset.size() == 0U);
    BOOST_TEST(dataset.features() == 2U);
}

BOOST_AUTO_TEST_CASE(the_digits_are_labelled) {
    const auto dataset = labelled_from_csv(read_csv<float>(LOCKSTEP_EXAMPLE_DATA "/digits.csv"));
    BOOST_TEST(dataset.size() == 1797U);
    BOOST_TEST(dataset.features() == 64U);
    std::array<int, 10> counts{};
    for (const std::int32_t label : dataset.batch().targets) ++counts.at(static_cast<std::size_t>(label));
    // Counted from the file by other means.
    const std::array expected{178, 182, 177, 183, 181, 182, 181, 179, 174, 180};
    BOOST_TEST((counts == expected));
}

}  // namespace
