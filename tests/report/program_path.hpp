// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Another PATH for the length of a test, with a stand-in for gnuplot in it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace nanoserve::report::testing {

/// Sets PATH to one folder, or puts one before the rest, and back.
class ProgramPath {
  public:
    enum class Rest { gone, kept };

    explicit ProgramPath(const std::filesystem::path& folder, Rest rest = Rest::gone) {
        const char* old = std::getenv("PATH");
        old_ = old == nullptr ? "" : old;
        ::setenv("PATH", (folder.string() + (rest == Rest::kept ? ":" + old_ : "")).c_str(), 1);
    }
    ProgramPath(const ProgramPath&) = delete;
    ProgramPath& operator=(const ProgramPath&) = delete;
    ~ProgramPath() { ::setenv("PATH", old_.c_str(), 1); }

  private:
    std::string old_;
};

/// Puts a shell script named gnuplot into the folder.
inline void install_stub(const std::filesystem::path& folder, const std::string& commands) {
    std::filesystem::create_directory(folder);
    std::ofstream(folder / "gnuplot") << "#!/bin/sh\n" << commands << "\n";
    std::filesystem::permissions(folder / "gnuplot", std::filesystem::perms::owner_all);
}

}  // namespace nanoserve::report::testing
