// SPDX-License-Identifier: Apache-2.0
// cccl_resource_test.cpp - weir's pools as memory resources of CCCL. No header of weir includes
// CCCL.
//
// CCCL 3.0 has these concepts as an experimental feature.
#define LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE
#include <gtest/gtest.h>

#include <cuda/memory_resource>
#include <cuda/stream_ref>
#include <weir/memory/memory_resource.hpp>
#include <weir/stream/stream.hpp>

namespace {

namespace mr = cuda::mr;

#if CCCL_VERSION >= 3001000
static_assert(mr::resource_with<weir::device_pool_resource, mr::device_accessible>);
static_assert(
    mr::resource_with<weir::pinned_pool_resource, mr::device_accessible, mr::host_accessible>);
static_assert(!mr::resource_with<weir::device_pool_resource, mr::host_accessible>);
using device_resource_ref = mr::resource_ref<mr::device_accessible>;
#else
static_assert(mr::async_resource_with<weir::device_pool_resource, mr::device_accessible>);
static_assert(mr::async_resource_with<weir::pinned_pool_resource, mr::device_accessible,
                                      mr::host_accessible>);
static_assert(!mr::async_resource_with<weir::device_pool_resource, mr::host_accessible>);
static_assert(mr::resource_with<weir::pinned_pool_resource, mr::host_accessible>);
using device_resource_ref = mr::async_resource_ref<mr::device_accessible>;
#endif

// Stands for library code that allocates from any CCCL memory resource.
void* taken_by_cccl(device_resource_ref from, cuda::stream_ref s) {
#if CCCL_VERSION >= 3001000
  return from.allocate(s, 1000, 16);
#else
  return from.allocate_async(1000, 16, s);
#endif
}

TEST(CcclResource, AMemoryPoolIsACcclMemoryResource) {
  const weir::device gpu;
  const weir::stream s{gpu};
  const weir::memory_pool pool{gpu};
  weir::device_pool_resource resource{pool};
  void* const memory = taken_by_cccl(resource, s);
  EXPECT_NE(memory, nullptr);
  EXPECT_GE(pool.usage().used, 1000u);
  resource.deallocate(s, memory, 1000);
  EXPECT_EQ(pool.usage().used, 0u);
}

}  // namespace
