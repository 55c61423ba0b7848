// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/report/temporary_file.hpp>

#include <cstdio>
#include <list>

namespace nanoserve::report {

/// The call that gives a file another name; it has the signature and the error rules of POSIX
/// `rename`.
using RenameFile = int (*)(const char* from, const char* to);

/// Gives files that belong together the names of their targets, all or none: when one can't take
/// its name, those before it give way to what stood there. That is kept as a hard link meanwhile; a
/// file system without them has no way back.
///
/// Another process or thread that replaces the same files at once waits, so the files are those of
/// one writer; not where a folder can't be locked, and no longer than a second for a writer that
/// was stopped in the middle. Throws `FileError`.
void replace_targets(std::list<TemporaryFile>& files, RenameFile rename_file = &::rename);

}  // namespace nanoserve::report
