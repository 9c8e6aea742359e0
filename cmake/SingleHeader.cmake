# SPDX-License-Identifier: MIT
# cmake -D INCLUDE_DIR=include -D VERSION=1.2.3 -D OUTPUT=lockstep_single.hpp -P SingleHeader.cmake
# All headers in one, each before the first that needs it, for those who paste into an online compiler. Adapters are
# left out, as they need the libraries to which they adapt.
cmake_minimum_required(VERSION 3.23)
get_filename_component(INCLUDE_DIR ${INCLUDE_DIR} ABSOLUTE)

set_property(GLOBAL PROPERTY single "// SPDX-License-Identifier: MIT\n// lockstep ${VERSION}: all headers in one, made by \
cmake/SingleHeader.cmake.\n#pragma once\n")
set_property(GLOBAL PROPERTY written "")
set(include_line "\n#include <lockstep/")

# Text is only ever searched and cut: lists and regular expressions trip over the semicolons and brackets of C++.
function(append_header name)
    get_property(written GLOBAL PROPERTY written)
    if(name IN_LIST written)
        return()
    endif()
    set_property(GLOBAL APPEND PROPERTY written ${name})
    file(READ ${INCLUDE_DIR}/lockstep/${name} text)
    string(REPLACE "\n#pragma once\n" "\n" text "${text}")
    string(REPLACE "// SPDX-License-Identifier: MIT\n" "\n// ---- lockstep/${name}\n" text "${text}")
    string(LENGTH "${include_line}" prefix)
    string(FIND "${text}" "${include_line}" position)
    while(NOT position EQUAL -1)
        string(SUBSTRING "${text}" 0 ${position} before)
        set_property(GLOBAL APPEND_STRING PROPERTY single "${before}")
        math(EXPR position "${position} + ${prefix}")
        string(SUBSTRING "${text}" ${position} -1 text)
        string(FIND "${text}" ">" position)
        string(SUBSTRING "${text}" 0 ${position} included)
        append_header("${included}")
        math(EXPR position "${position} + 1")
        string(SUBSTRING "${text}" ${position} -1 text)
        string(FIND "${text}" "${include_line}" position)
    endwhile()
    set_property(GLOBAL APPEND_STRING PROPERTY single "${text}")
endfunction()

file(GLOB_RECURSE headers RELATIVE ${INCLUDE_DIR}/lockstep ${INCLUDE_DIR}/lockstep/*.hpp)
list(FILTER headers EXCLUDE REGEX "^adapters/")
foreach(header IN LISTS headers)
    append_header(${header})
endforeach()
get_property(single GLOBAL PROPERTY single)
file(WRITE ${OUTPUT} "${single}")
