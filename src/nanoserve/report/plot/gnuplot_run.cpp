// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/plot/gnuplot_process.hpp>
#include <nanoserve/report/plot/gnuplot_run.hpp>
#include <nanoserve/report/plot/gnuplot_script_file.hpp>
#include <nanoserve/report/replace_targets.hpp>
#include <nanoserve/report/signal_hold.hpp>
#include <nanoserve/report/temporary_file.hpp>

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <list>
#include <string_view>

namespace nanoserve::report {
namespace fs = std::filesystem;
namespace {

// The last bytes of a file that is open for reading.
std::string tail_of(int descriptor, std::size_t num_bytes) {
    struct stat facts {};
    if (::fstat(descriptor, &facts) != 0) {
        return {};
    }
    std::string tail(std::min(num_bytes, static_cast<std::size_t>(facts.st_size)), '\0');
    const auto offset = facts.st_size - static_cast<off_t>(tail.size());
    const ssize_t num_read = ::pread(descriptor, tail.data(), tail.size(), offset);
    tail.resize(num_read > 0 ? static_cast<std::size_t>(num_read) : 0);
    return tail;
}

// A PNG ends with its empty chunk IEND and that chunk's checksum, an SVG with the end of its root.
bool is_whole(const fs::path& path, std::string_view tail) {
    if (path.extension() == ".png") {
        return tail.ends_with("IEND\xae\x42\x60\x82");
    }
    return tail.substr(0, tail.find_last_not_of(" \n\r") + 1).ends_with("</svg>");
}

// gnuplot's status is 0 on a full disk, too. A disk that is full takes no more from us either.
void check_picture(const fs::path& path, TemporaryFile& picture) {
    const std::string tail = tail_of(picture.descriptor(), 64);
    if (!is_whole(path, tail)) {
        picture.write_all(std::string(std::size_t{1} << 16, '\0'), &::write);
        throw PlotError(fmt::format("gnuplot reported success but drew {}; if it is broken, {}",
                                    tail.empty() ? "nothing" : "half a picture", kInstallGnuplot));
    }
}

// Leaves the script under the given name and says so. Somebody who ended the program has no use for
// it.
std::string keep_script(TemporaryFile& script, const fs::path& path) {
    if (SignalHold::one_waits()) {
        return {};
    }
    if (::rename(script.path().c_str(), path.c_str()) != 0) {
        return {};
    }
    script.release();
    return "; the script with the data is " + path.string();
}

void draw_one(const Picture& picture, TemporaryFile& file, std::chrono::milliseconds limit) {
    TemporaryFile script(picture.path);
    write_gnuplot_script(script.path(),
                         fmt::format("set terminal {}\n{}", picture.terminal, picture.commands));
    try {
        run_gnuplot(script.path(), file.descriptor(), limit);
        check_picture(picture.path, file);
    } catch (const std::exception& error) {
        throw PlotError(error.what() + keep_script(script, picture.path.string() + ".gp.tmp"));
    }
}

}  // namespace

void draw_pictures(std::span<const Picture> pictures, std::chrono::milliseconds limit) {
    const SignalHold hold;
    std::list<TemporaryFile> files;
    for (const Picture& picture : pictures) {
        try {
            draw_one(picture, files.emplace_back(picture.path), limit);
            files.back().flush();
        } catch (const std::exception& error) {
            throw PlotError(fmt::format("cannot draw {}: {}", picture.path.string(), error.what()));
        }
    }
    try {
        replace_targets(files);
    } catch (const FileError& error) {
        throw PlotError(error.what());
    }
}

}  // namespace nanoserve::report
