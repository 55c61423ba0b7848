# SPDX-FileCopyrightText: The nanoserve authors
# SPDX-License-Identifier: Apache-2.0
# One function for each kind of target.

# Warnings for our own code, never for what includes it.
function(nanoserve_warnings target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
  if(NANOSERVE_WARNINGS_AS_ERRORS)
    set_target_properties(${target} PROPERTIES COMPILE_WARNING_AS_ERROR ON)
  endif()
endfunction()

# nanoserve_day(day19_fused main.cpp ...): the program of one day.
function(nanoserve_day name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE nanoserve::nanoserve nanoserve::report fmt::fmt)
  nanoserve_warnings(${name})
endfunction()

# nanoserve_test(name LABEL pure SOURCES a_test.cpp ... LINK lib ...): one Catch2 executable, one CTest
# entry for each test case. One label per executable: Catch2 3.7 loses all but the first of a list.
function(nanoserve_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "SOURCES;LINK")
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE nanoserve::nanoserve Catch2::Catch2WithMain ${arg_LINK})
  nanoserve_warnings(${name})
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize") # takes longer to compile than to run
    target_compile_options(${name} PRIVATE -O0)
  endif()
  catch_discover_tests(${name} TEST_PREFIX "${arg_LABEL}/" DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS ${arg_LABEL} SKIP_RETURN_CODE 4 TIMEOUT 1200)
endfunction()

# nanoserve_script_tests(course course_test.sh [arguments]): one CTest test for each function test_... of a
# bash script, named by its words; the script is called with the arguments and the function's name. What begins
# with test_open_24_ is about the published fault OPEN-24 and says so.
function(nanoserve_script_tests prefix script)
  find_program(NANOSERVE_BASH bash REQUIRED)
  set(script ${CMAKE_CURRENT_SOURCE_DIR}/${script})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
  file(STRINGS ${script} functions REGEX "^test_[a-z0-9_]+\\(\\)")
  foreach(function IN LISTS functions)
    string(REGEX REPLACE "^(test_[a-z0-9_]+).*" "\\1" function "${function}")
    string(REGEX REPLACE "^test_" "pure/${prefix} " name "${function}")
    string(REPLACE "_" " " name "${name}")
    string(REGEX REPLACE " open ([0-9][0-9]) " " OPEN-\\1: " name "${name}") # a published fault
    add_test(NAME "${name}" COMMAND ${NANOSERVE_BASH} ${script} ${ARGN} ${function})
    set_tests_properties("${name}" PROPERTIES LABELS pure SKIP_RETURN_CODE 4 TIMEOUT 120)
  endforeach()
endfunction()
