// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Which GPU this is, for the provenance of its figures.
#pragma once

#include <nanoserve/report/provenance.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace nanoserve::gpu_bench {

/// Why no kernel can be measured here, in one line; nullopt when one can. To be asked before
/// anything else of the GPU: it has the driver start its threads while signals are held, which they
/// inherit, so that none of them takes a signal that a `report::SignalHold` lets wait. Throws
/// CudaError.
[[nodiscard]] std::optional<std::string> reason_for_no_measurement();

/// Name, CUDA, driver and clocks of the GPU, the clocks taken under load. Throws CudaError, and
/// std::logic_error in a build without CUDA.
[[nodiscard]] report::GpuFacts gpu_facts();

/// Bytes of the GPU's second-level cache. Throws as gpu_facts() does.
[[nodiscard]] std::int64_t l2_bytes();

}  // namespace nanoserve::gpu_bench
