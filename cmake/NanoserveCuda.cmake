# SPDX-FileCopyrightText: The nanoserve authors
# SPDX-License-Identifier: Apache-2.0
# Finds nvcc as NANOSERVE_CUDA asks for it; sets NANOSERVE_HAVE_CUDA.

set(NANOSERVE_HAVE_CUDA OFF)
if(NOT NANOSERVE_CUDA)
  message(STATUS "nanoserve: GPU targets are off (NANOSERVE_CUDA=${NANOSERVE_CUDA})")
  return()
endif()

include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  if(NANOSERVE_CUDA STREQUAL "AUTO")
    message(STATUS "nanoserve: GPU targets are off (no working nvcc was found)")
    return()
  endif()
  message(FATAL_ERROR
    "NANOSERVE_CUDA=${NANOSERVE_CUDA}, but no working CUDA compiler was found. Install the CUDA Toolkit "
    "(12.0 or later) and put nvcc on PATH, or set CMAKE_CUDA_COMPILER; if nvcc refuses the host "
    "compiler, set CMAKE_CUDA_HOST_COMPILER to an older g++.")
endif()

# sm_80 must build and be correct, sm_90a is the one that is tuned.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90a-real)
endif()

# nanoserve_refuse_old_architectures(75 90a-real ...): stops at one that lacks what the kernels are made of,
# asynchronous copies and tensor cores for bf16.
function(nanoserve_refuse_old_architectures)
  foreach(architecture IN LISTS ARGN)
    if(architecture MATCHES "^([0-9]+)" AND CMAKE_MATCH_1 LESS 80)
      message(FATAL_ERROR
        "CMAKE_CUDA_ARCHITECTURES=${CMAKE_CUDA_ARCHITECTURES}, but the kernels need sm_80 or later. Name those "
        "that you need from 80 on (80-real;90a-real is the default), or build the CPU part alone with "
        "-DNANOSERVE_CUDA=OFF.")
    endif()
  endforeach()
endfunction()

nanoserve_refuse_old_architectures(${CMAKE_CUDA_ARCHITECTURES}) # before nvcc says so in its own words
enable_language(CUDA)
foreach(word all all-major native) # only now CMake knows what they stand for
  if(CMAKE_CUDA_ARCHITECTURES STREQUAL word)
    string(TOUPPER "${word}" word)
    string(REPLACE "-" "_" word "${word}")
    nanoserve_refuse_old_architectures(${CMAKE_CUDA_ARCHITECTURES_${word}})
  endif()
endforeach()

# CMake before 3.25.2 has no CUDA20 dialect for nvcc; nvcc 12.0 and later take the flag itself.
if(CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA" AND NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
set(NANOSERVE_HAVE_CUDA ON)
message(STATUS "nanoserve: GPU targets are on for ${CMAKE_CUDA_ARCHITECTURES}")
