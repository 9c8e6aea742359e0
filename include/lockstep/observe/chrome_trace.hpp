// SPDX-License-Identifier: MIT
/// @file
/// A merged timeline as a file that Perfetto and chrome://tracing open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include <lockstep/core/error.hpp>
#include <lockstep/observe/merge.hpp>

namespace lockstep {

/// The Chrome trace event format: complete events (`X`) with times in microseconds, one process a rank, one thread a lane;
/// arrows (`s`, `f`) from the exchange that sends a message to the one that receives it.
inline std::string chrome_trace(const MergedTimeline& merged) {
    std::string text = "{\"displayTimeUnit\": \"ms\", \"otherData\": {\"dropped_events\": \"" +
                       std::to_string(merged.dropped) + "\"}, \"traceEvents\": [\n";
    const char* separator = "";
    const auto add = [&](const std::string& event) {
        text += separator + event;
        separator = ",\n";
    };
    const auto name_of_row = [&](const char* kind, std::size_t rank, int lane, const std::string& name) {
        add("{\"ph\": \"M\", \"name\": \"" + std::string(kind) + "\", \"pid\": " + std::to_string(rank) +
            ", \"tid\": " + std::to_string(lane) + ", \"args\": {\"name\": \"" + name + "\"}}");
    };
    const auto microseconds = [](std::int64_t nanoseconds) {
        char number[32];
        std::snprintf(number, sizeof number, "%.3f", static_cast<double>(nanoseconds) / 1000);
        return std::string(number);
    };
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> sent;
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> received;
    for (std::size_t rank = 0; rank < merged.ranks.size(); ++rank) {
        name_of_row("process_name", rank, 0, "rank " + std::to_string(rank));
        name_of_row("thread_name", rank, 0, "training");
        name_of_row("thread_name", rank, 1, "communication");
        const std::string place = ", \"pid\": " + std::to_string(rank) + ", \"tid\": ";
        for (const Event& event : merged.ranks[rank]) {
            std::string title;
            for (const char letter : event.title()) {
                title += letter >= ' ' && letter != '"' && letter != '\\' && letter != 127 ? letter : '?';
            }
            if (event.kind == EventKind::wait) title += " for rank " + std::to_string(event.from);
            std::string details;
            const auto detail = [&](const char* name, std::uint64_t value) {
                details += (details.empty() ? "\"" : ", \"") + std::string(name) + "\": " + std::to_string(value);
            };
            if (event.bytes > 0) detail(event.kind == EventKind::exchange ? "sent_bytes" : "bytes", event.bytes);
            if (event.received > 0) detail("received_bytes", event.received);
            if (event.to >= 0) detail("to", static_cast<std::uint64_t>(event.to));
            if (event.from >= 0) detail("from", static_cast<std::uint64_t>(event.from));
            constexpr const char* categories[]{"phase", "call", "exchange", "wait"};
            add("{\"ph\": \"X\", \"name\": \"" + title + "\", \"cat\": \"" +
                categories[static_cast<std::size_t>(event.kind)] + "\", \"ts\": " + microseconds(event.begin) +
                ", \"dur\": " + microseconds(event.duration()) + place + std::to_string(event.lane) + ", \"args\": {" +
                details + "}}");
            if (event.kind != EventKind::exchange) continue;
            // One number for both ends of a message.
            const auto arrow = [&](const char* end, std::size_t from, std::size_t to, std::size_t number) {
                add("{\"ph\": \"" + std::string(end) +
                    "\", \"bp\": \"e\", \"name\": \"message\", \"cat\": \"message\", \"id\": \"" +
                    std::to_string(from) + "-" + std::to_string(to) + "-" + std::to_string(number) + "\", \"ts\": " +
                    microseconds(end[0] == 's' ? event.begin : event.end) + place + std::to_string(event.lane) + "}");
            };
            if (event.to >= 0) {
                const auto to = static_cast<std::size_t>(event.to);
                arrow("s", rank, to, sent[{rank, to}]++);
            }
            if (event.from >= 0) {
                const auto from = static_cast<std::size_t>(event.from);
                arrow("f", from, rank, received[{from, rank}]++);
            }
        }
    }
    return text + "\n]}\n";
}

/// @throws FormatError naming the file if it cannot be written to its end
inline void write_chrome_trace(const std::string& path, const MergedTimeline& merged) {
    const std::string text = chrome_trace(merged);
    std::FILE* const file = std::fopen(path.c_str(), "wb");
    bool good = file != nullptr;
    if (good) good = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (file != nullptr) good = std::fclose(file) == 0 && good;
    if (!good) throw FormatError(path + ": the timeline cannot be written");
}

}  // namespace lockstep
