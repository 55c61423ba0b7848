# SPDX-FileCopyrightText: The nanoserve authors
# SPDX-License-Identifier: Apache-2.0
# NANOSERVE_EXERCISE=day19 builds the library with the learner's files of Day 19 in the place of its own, and
# the program check_day19 that says which behaviours they have. days/day19_*/exercise/exercise.txt names the
# files; the learner's stand in work/day19. Everything else about an exercise is in ./course.

set(NANOSERVE_EXERCISE "" CACHE STRING "A day, such as day19, whose files in NANOSERVE_WORK replace the library's")
set(NANOSERVE_WORK "${PROJECT_SOURCE_DIR}/work" CACHE PATH "Where the learner's files are, in a folder for each day")

# A file that is half written has unused things in it, and its first errors are the ones to read.
set(nanoserve_learner_options
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-unused> $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fmax-errors=3>)

# nanoserve_exercise_field(field variable): the values of `field` in the day's exercise.txt, a list.
function(nanoserve_exercise_field field variable)
  file(STRINGS ${exercise}/exercise.txt lines REGEX "^${field}: ")
  list(TRANSFORM lines REPLACE "^${field}: *" "")
  set(${variable} ${lines} PARENT_SCOPE)
endfunction()

# What every check is linked with: it says behaviours in words.
function(nanoserve_behaviours)
  find_package(Catch2 3 REQUIRED)
  if(NOT TARGET nanoserve_test_support)
    add_subdirectory(tests/support)
  endif()
  set(folder ${PROJECT_SOURCE_DIR}/tests/exercise)
  add_library(nanoserve_behaviours OBJECT ${folder}/behaviour_reporter.cpp ${folder}/expect.cpp)
  target_link_libraries(nanoserve_behaviours PUBLIC nanoserve_test_support Catch2::Catch2WithMain)
  nanoserve_warnings(nanoserve_behaviours)
endfunction()

function(nanoserve_check name source)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE nanoserve_behaviours ${ARGN})
  nanoserve_warnings(${name})
endfunction()

# The library compiles the learner's file `mine` where it compiled `source`.
function(nanoserve_replace_source source mine)
  get_target_property(sources nanoserve SOURCES)
  if(NOT "${PROJECT_SOURCE_DIR}/${source}" IN_LIST sources)
    message(FATAL_ERROR "${exercise}/exercise.txt: the library has no source ${source}")
  endif()
  list(TRANSFORM sources REPLACE "^${PROJECT_SOURCE_DIR}/${source}$" "${mine}")
  set_property(TARGET nanoserve PROPERTY SOURCES ${sources})
  set_property(SOURCE ${mine} TARGET_DIRECTORY nanoserve PROPERTY COMPILE_OPTIONS ${nanoserve_learner_options})
endfunction()

# The targets find a header of that name before the library's: it includes the learner's file `mine`.
function(nanoserve_replace_header source mine)
  set(overlay ${PROJECT_BINARY_DIR}/overlay/${NANOSERVE_EXERCISE})
  string(REGEX REPLACE "^src/" "" header ${source})
  file(CONFIGURE OUTPUT ${overlay}/${header} CONTENT "#include \"${mine}\"\n" @ONLY)
  foreach(target IN LISTS ARGN)
    get_target_property(aliased ${target} ALIASED_TARGET)
    if(aliased)
      set(target ${aliased})
    endif()
    target_include_directories(${target} BEFORE PRIVATE ${overlay})
    target_compile_options(${target} PRIVATE ${nanoserve_learner_options})
  endforeach()
endfunction()

function(nanoserve_exercise day)
  file(GLOB exercise ${PROJECT_SOURCE_DIR}/days/${day}_*/exercise)
  if(NOT exercise)
    message(FATAL_ERROR "NANOSERVE_EXERCISE=${day}: there is no folder days/${day}_.../exercise")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${exercise}/exercise.txt)
  nanoserve_exercise_field(source sources)
  nanoserve_exercise_field(link links)

  target_compile_definitions(nanoserve PRIVATE NANOSERVE_CHECK_CALLS)
  nanoserve_behaviours()
  nanoserve_check(check_${day} ${exercise}/check.cpp ${links})
  set(users check_${day} ${links})
  if(NANOSERVE_HAVE_CUDA AND EXISTS ${exercise}/check_gpu.cpp)
    nanoserve_check(check_${day}_gpu ${exercise}/check_gpu.cpp nanoserve::kernels)
    list(APPEND users check_${day}_gpu nanoserve::kernels)
  endif()

  foreach(source IN LISTS sources)
    cmake_path(GET source FILENAME name)
    set(mine ${NANOSERVE_WORK}/${day}/${name})
    if(name MATCHES "[.]cpp$")
      nanoserve_replace_source(${source} ${mine})
    else()
      nanoserve_replace_header(${source} ${mine} ${users})
    endif()
  endforeach()
endfunction()
