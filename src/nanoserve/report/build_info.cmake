# SPDX-FileCopyrightText: The nanoserve authors
# SPDX-License-Identifier: Apache-2.0
# Writes build_info.hpp at build time: compiler, flags and the commit of the code that is being built.
# Takes SOURCE_DIR, TEMPLATE, OUTPUT, COMPILER, BUILD_TYPE and FLAGS; no path of this machine gets into the header.

# Sets `result` to the trimmed output of git, or to "" when git is absent or fails.
function(ask_git result)
  set(answer "")
  find_program(GIT_PROGRAM git)
  if(GIT_PROGRAM)
    execute_process(COMMAND ${GIT_PROGRAM} --no-optional-locks -C ${SOURCE_DIR} ${ARGN}
      OUTPUT_VARIABLE output RESULT_VARIABLE status ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(status EQUAL 0)
      set(answer "${output}")
    endif()
  endif()
  set(${result} "${answer}" PARENT_SCOPE)
endfunction()

# The commit is ours only when the checkout begins at our own folder, not somewhere above it.
set(COMMIT "unknown")
ask_git(toplevel rev-parse --show-toplevel)
file(REAL_PATH "${SOURCE_DIR}" source_path)
if(toplevel STREQUAL source_path)
  ask_git(hash rev-parse --short=10 HEAD)
  if(hash)
    set(COMMIT "${hash}")
    # Only code makes a build dirty: a run rewrites data/ and plots/.
    ask_git(changes status --porcelain --untracked-files=normal
      -- src kernels days cmake CMakeLists.txt CMakePresets.json)
    if(changes)
      string(APPEND COMMIT "-dirty")
    endif()
  endif()
endif()

# Flags that change the code, and none that could hold a path or a name.
separate_arguments(flags UNIX_COMMAND "${FLAGS}")
set(COMPILE_FLAGS "")
foreach(flag IN LISTS flags)
  if((flag MATCHES "^-(O|f|m|g|std=)" OR flag STREQUAL "-DNDEBUG") AND NOT flag MATCHES "[/\\\\\"]")
    list(APPEND COMPILE_FLAGS "${flag}")
  endif()
endforeach()
list(JOIN COMPILE_FLAGS " " COMPILE_FLAGS)
string(REPLACE "GNU " "GCC " COMPILER "${COMPILER}")

configure_file("${TEMPLATE}" "${OUTPUT}" @ONLY)
