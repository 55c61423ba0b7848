// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The instructions that CUDA C++ has no name for, each behind one (PTX ISA 8.0, sm_80 and later). A
// shared address is a 32-bit address in the shared state space.
#pragma once

#include <nanoserve/model/dtype.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>
#include <type_traits>

namespace nanoserve::ptx {

/// Keeps a value in its register: without it the compiler works out cheap values again and again,
/// thread index and all, inside the loop that uses them.
template <class T>
__device__ inline void keep(T& value) {
    if constexpr (sizeof(T) == 8) {
        asm volatile("" : "+l"(value));
    } else {
        asm volatile("" : "+r"(value));
    }
}

__device__ inline std::uint32_t shared_address(const void* pointer) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ inline float4 load_shared(std::uint32_t address) {
    return *static_cast<const float4*>(__cvta_shared_to_generic(address));
}
__device__ inline void store_shared(std::uint32_t address, float4 x) {
    *static_cast<float4*>(__cvta_shared_to_generic(address)) = x;
}

// ---- Asynchronous copies, global to shared

/// Asks for 16 bytes, past the first-level cache.
__device__ inline void copy_async_16(std::uint32_t target, const void* source) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(target), "l"(source));
}

/// The same. With `present` false nothing is read and zeros are stored.
__device__ inline void copy_async_16(std::uint32_t target, const void* source, bool present) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(target),
                 "l"(source), "r"(present ? 16 : 0));
}

/// The same, with a policy for the second-level cache.
__device__ inline void copy_async_16(std::uint32_t target, const void* source,
                                     std::uint64_t policy) {
    asm volatile(
        "cp.async.cg.shared.global.L2::cache_hint.L2::128B [%0], [%1], 16, %2;" ::"r"(target),
        "l"(source), "l"(policy));
}
__device__ inline void copy_async_16(std::uint32_t target, const void* source, bool present,
                                     std::uint64_t policy) {
    asm volatile(
        "cp.async.cg.shared.global.L2::cache_hint.L2::128B [%0], [%1], 16, %2, %3;" ::"r"(target),
        "l"(source), "r"(present ? 16 : 0), "l"(policy));
}

/// The policy of rows that nobody is expected to read again soon.
__device__ inline std::uint64_t evict_first() {
    std::uint64_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

/// Closes the group of copies that this thread has asked for since the last one.
__device__ inline void close_copy_group() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits until all but the newest kGroups groups of this thread have arrived.
template <int kGroups>
__device__ inline void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
}

/// 16 bytes of shared memory.
__device__ inline uint4 load_shared_16(std::uint32_t address) {
    uint4 chunk;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(chunk.x), "=r"(chunk.y), "=r"(chunk.z), "=r"(chunk.w)
                 : "r"(address)
                 : "memory");
    return chunk;
}

// ---- Matrix fragments of one warp. Lane = 4 * row + pair.

/// Four 8 x 8 matrices of 16-bit elements. Lane 8 i + r names row r of matrix i, 16 bytes; lane
/// (4 * row + pair) gets elements 2 pair and 2 pair + 1 of row `row` of each matrix.
__device__ inline void load_matrices(std::uint32_t row_address, std::uint32_t (&matrix)[4]) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(matrix[0]), "=r"(matrix[1]), "=r"(matrix[2]), "=r"(matrix[3])
                 : "r"(row_address)
                 : "memory");
}

/// The same, each matrix transposed on the way.
__device__ inline void load_matrices_transposed(std::uint32_t row_address,
                                                std::uint32_t (&matrix)[4]) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(matrix[0]), "=r"(matrix[1]), "=r"(matrix[2]), "=r"(matrix[3])
                 : "r"(row_address)
                 : "memory");
}

/// An 8 x 8 matrix of 16-bit elements, transposed between the lanes.
__device__ inline std::uint32_t transpose(std::uint32_t matrix) {
    std::uint32_t transposed;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(transposed) : "r"(matrix));
    return transposed;
}

/// c += a * b: a [16, 16], b [16, 8] of T (Bf16 or Fp16), c [16, 8] fp32. Lane (4 row + pair) holds
/// c[row][2 pair], c[row][2 pair + 1], c[row + 8][2 pair], c[row + 8][2 pair + 1].
template <class T>
__device__ inline void multiply_add(float (&c)[4], const std::uint32_t (&a)[4],
                                    const std::uint32_t (&b)[2]) {
    if constexpr (std::is_same_v<T, Bf16>) {
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    } else {
        static_assert(std::is_same_v<T, Fp16>);
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
}

/// Of two pairs of bf16 the larger magnitude in each half, as a number without sign. A NaN is left
/// out unless both are.
__device__ inline std::uint32_t larger_magnitudes(std::uint32_t magnitudes, std::uint32_t pair) {
    std::uint32_t larger;
    asm("{.reg .b32 magnitude; abs.bf16x2 magnitude, %2; max.bf16x2 %0, %1, magnitude;}"
        : "=r"(larger)
        : "r"(magnitudes), "r"(pair));
    return larger;
}

/// Two floats rounded to T, the first in the lower half.
template <class T>
__device__ inline std::uint32_t pack(float low, float high) {
    std::uint32_t packed;
    if constexpr (std::is_same_v<T, Bf16>) {
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    } else {
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    }
    return packed;
}

/// The e4m3 elements in the lower and in the upper half of a register, two each, as fp16. Exact.
__device__ inline std::uint32_t lower_e4m3_as_fp16(std::uint32_t codes) {
#if __CUDA_ARCH__ >= 890
    std::uint32_t pair;
    asm("{.reg .b16 low, high; mov.b32 {low, high}, %1; cvt.rn.f16x2.e4m3x2 %0, low;}"
        : "=r"(pair)
        : "r"(codes));
    return pair;
#else
    const auto element = [&](int i) {
        return to_float(Fp8E4m3{static_cast<std::uint8_t>(codes >> (8 * i))});
    };
    return pack<Fp16>(element(0), element(1));
#endif
}
__device__ inline std::uint32_t upper_e4m3_as_fp16(std::uint32_t codes) {
#if __CUDA_ARCH__ >= 890
    std::uint32_t pair;  // the instruction takes either half: a shift would be one more
    asm("{.reg .b16 low, high; mov.b32 {low, high}, %1; cvt.rn.f16x2.e4m3x2 %0, high;}"
        : "=r"(pair)
        : "r"(codes));
    return pair;
#else
    return lower_e4m3_as_fp16(codes >> 16);
#endif
}

/// Four bytes of two registers, low's numbered from 0, high's from 4: nibble i of `bytes` names the
/// one that becomes byte i.
__device__ inline std::uint32_t permute(std::uint32_t low, std::uint32_t high,
                                        std::uint32_t bytes) {
    return __byte_perm(low, high, bytes);
}

/// 2^x, off by at most 2 units in the last place; 2^-inf is 0.
__device__ inline float exp2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/// 1 / x, off by at most 1 unit in the last place.
__device__ inline float reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// ---- Launches that overlap: sm_90. Without the launch attribute both do nothing.

/// Waits until the kernel before this one on the stream is done and what it wrote is visible.
__device__ inline void wait_for_previous_launch() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// A load of what the kernel before this one may write until that wait is over. `__ldg` promises
/// that the memory is constant while this kernel runs, and ptxas takes it at its word: it moves
/// such loads in front of the wait.
template <class T>
__device__ T load(const T* from) {
    return __ldca(from);
}

/// Says that the next kernel on the stream may start, as far as this thread block goes.
__device__ inline void let_next_launch_start() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// ---- Thread blocks of one cluster: sm_90. For older GPUs they compile and are never reached.

#if __CUDA_ARCH__ >= 900
/// The barrier of all threads of a cluster, in two halves: it says that they have come here, not
/// that what they have stored is visible.
__device__ inline void announce_to_cluster() {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ inline void wait_for_cluster() {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// The same shared address in thread block `rank` of the cluster.
__device__ inline std::uint32_t address_at(std::uint32_t shared_address, unsigned rank) {
    std::uint32_t remote;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(shared_address), "r"(rank));
    return remote;
}

// A barrier in shared memory that opens when so many bytes have been pushed: no thread waits until
// its own stores have arrived.

/// Makes a barrier for num_bytes of pushes, visible to the cluster behind its next barrier.
__device__ inline void prepare_barrier(std::uint32_t barrier, int num_bytes) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                 "r"(num_bytes)
                 : "memory");
}

/// Stores 16 bytes in a thread block of the cluster and counts them at its barrier there.
__device__ inline void push(std::uint32_t cluster_address, float4 x, std::uint32_t barrier) {
    asm volatile(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, "
        "[%5];" ::"r"(cluster_address),
        "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w), "r"(barrier)
        : "memory");
}

/// Waits until a barrier has opened for the first time; what was pushed is then visible.
__device__ inline void wait_for_pushes(std::uint32_t barrier) {
    asm volatile(
        "{\n"
        ".reg .pred opened;\n"
        "WAIT:\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 opened, [%0], 0;\n"
        "@!opened bra WAIT;\n"
        "}" ::"r"(barrier)
        : "memory");
}
#else
__device__ inline void announce_to_cluster() {
    __trap();
}
__device__ inline void wait_for_cluster() {
    __trap();
}
__device__ inline std::uint32_t address_at(std::uint32_t, unsigned) {
    return 0;
}
__device__ inline void prepare_barrier(std::uint32_t, int) {
    __trap();
}
__device__ inline void push(std::uint32_t, float4, std::uint32_t) {
    __trap();
}
__device__ inline void wait_for_pushes(std::uint32_t) {
    __trap();
}
#endif

}  // namespace nanoserve::ptx
