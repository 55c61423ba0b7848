// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The steps of a kernel are compiled twice: by nvcc for the GPU and by g++ for the kernel's CPU
// twin. These macros are all that differs.

/// A function that runs on the GPU under nvcc, and an ordinary function under any other compiler.
#if defined(__CUDACC__)
#define NANOSERVE_DEVICE __device__
#else
#define NANOSERVE_DEVICE
#endif

/// Unrolls the loop that follows: completely, so that arrays indexed in it can live in registers.
#if defined(__CUDACC__)
#define NANOSERVE_UNROLL _Pragma("unroll")
#else
#define NANOSERVE_UNROLL
#endif

/// Unrolls the loop that follows four times, so that the loads of four rounds are under way
/// together.
#if defined(__CUDACC__)
#define NANOSERVE_UNROLL_4 _Pragma("unroll 4")
#else
#define NANOSERVE_UNROLL_4
#endif

/// Leaves the loop that follows as it is.
#if defined(__CUDACC__)
#define NANOSERVE_NO_UNROLL _Pragma("unroll 1")
#else
#define NANOSERVE_NO_UNROLL
#endif
