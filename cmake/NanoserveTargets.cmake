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
  target_link_libraries(${name} PRIVATE nanoserve::nanoserve)
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
  catch_discover_tests(${name} TEST_PREFIX "${arg_LABEL}/" DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS ${arg_LABEL} SKIP_RETURN_CODE 4 TIMEOUT 300)
endfunction()
