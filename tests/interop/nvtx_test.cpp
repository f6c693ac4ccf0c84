// SPDX-License-Identifier: Apache-2.0
// nvtx_test.cpp - weir's declarations of NVTX's protocol compared with NVTX's own headers.
#include "api/profiler/nvtx_protocol.hpp"

#include <nvtx3/nvToolsExt.h>

namespace {

namespace nvtx = weir::detail::nvtx;

constexpr bool is(unsigned ours, unsigned theirs) { return ours == theirs; }
constexpr bool is(nvtx::module ours, unsigned theirs) {
  return static_cast<unsigned>(ours) == theirs;
}

static_assert(is(nvtx::module::core, NVTX_CB_MODULE_CORE) &&
              is(nvtx::core_size, NVTX_CBID_CORE_SIZE));
static_assert(is(nvtx::module::cuda, NVTX_CB_MODULE_CUDA) &&
              is(nvtx::cuda_size, NVTX_CBID_CUDA_SIZE));
static_assert(is(nvtx::module::opencl, NVTX_CB_MODULE_OPENCL) &&
              is(nvtx::opencl_size, NVTX_CBID_OPENCL_SIZE));
static_assert(is(nvtx::module::cuda_runtime, NVTX_CB_MODULE_CUDART));
static_assert(is(nvtx::cuda_runtime_size, NVTX_CBID_CUDART_SIZE));
static_assert(is(nvtx::module::core2, NVTX_CB_MODULE_CORE2) &&
              is(nvtx::core2_size, NVTX_CBID_CORE2_SIZE));
static_assert(is(nvtx::module::sync, NVTX_CB_MODULE_SYNC) &&
              is(nvtx::sync_size, NVTX_CBID_SYNC_SIZE));

static_assert(is(nvtx::mark, NVTX_CBID_CORE_MarkA) &&
              is(nvtx::push_range, NVTX_CBID_CORE_RangePushA));
static_assert(is(nvtx::pop_range, NVTX_CBID_CORE_RangePop) &&
              is(nvtx::name_thread, NVTX_CBID_CORE_NameOsThreadA));
static_assert(is(nvtx::name_device, NVTX_CBID_CUDA_NameCuDeviceA));
static_assert(is(nvtx::name_context, NVTX_CBID_CUDA_NameCuContextA));
static_assert(is(nvtx::name_stream, NVTX_CBID_CUDA_NameCuStreamA));
static_assert(is(nvtx::name_event, NVTX_CBID_CUDA_NameCuEventA));

static_assert(is(nvtx::callbacks_table_number, NVTX_ETID_CALLBACKS));
static_assert(is(nvtx::version_table_number, NVTX_ETID_VERSIONINFO) &&
              is(nvtx::version, NVTX_VERSION));
static_assert(sizeof(nvtx::callbacks_table) == sizeof(NvtxExportTableCallbacks));
static_assert(sizeof(nvtx::version_table) == sizeof(NvtxExportTableVersionInfo));

}  // namespace
