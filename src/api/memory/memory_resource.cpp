// SPDX-License-Identifier: Apache-2.0
// api/memory/memory_resource.cpp - pools as memory resources of other libraries.
#include <weir/core/error.hpp>
#include <weir/memory/memory_resource.hpp>
#include <weir/memory/pinned_allocator.hpp>

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/first_failure.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"

#include <fmt/format.h>

#include <bit>
#include <new>

namespace weir {
namespace detail {
namespace {

void require_alignment(memory_pool_ref pool, std::size_t alignment, call_site at) {
  if (std::has_single_bit(alignment) && alignment <= pool_alignment) return;
  throw_error(errc::invalid_value, "weir::memory_resource", to_text(pool),
              fmt::format("an alignment of {} bytes is not supported; use a power of two up to {}",
                          alignment, pool_alignment),
              at);
}

// Returns a non-blocking stream of the device's primary context, for calls that need a stream when
// the caller names none. It is created at first use and kept until the process ends. weir queues
// only allocations and frees in it.
stream_ref service_stream(device gpu, call_site at) {
  constexpr const char* call = "cuStreamCreate";
  device_record& record = record_of(gpu, call, at);
  if (const CUstream cached = record.service.load(std::memory_order_acquire)) return cached;

  // Two threads may create a stream at once, because no lock is held. The thread whose
  // compare_exchange fails destroys its stream.
  require_outside_host_function(call, gpu, at);
  const make_current current{primary_context(gpu, at), at};
  CUstream stream = nullptr;
  check(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), call, gpu, at);
  CUstream cached = nullptr;
  if (record.service.compare_exchange_strong(cached, stream, std::memory_order_acq_rel))
    return stream;
  report_if_failed(driver().cuStreamDestroy_v2(stream), "cuStreamDestroy", stream_ref{stream});
  return cached;
}

}  // namespace

void* allocate_aligned(memory_pool_ref pool, stream_ref stream, std::size_t bytes,
                       std::size_t alignment, call_site at) {
  require_alignment(pool, alignment, at);
  return pool.allocate(stream, bytes, at);
}

void deallocate_noexcept(memory_pool_ref pool, stream_ref stream, void* address) noexcept {
  report_failure_of(pool, "cuMemFreeAsync", [&] { pool.deallocate(stream, address, call_site{}); });
}

void* allocate_synchronously(memory_pool_ref pool, std::size_t bytes, std::size_t alignment,
                             call_site at) {
  require_alignment(pool, alignment, at);
  const stream_ref service = service_stream(pool.device(), at);
  const relaxed_capture_mode guard{at};  // the service stream takes part in no capture
  void* const address = pool.allocate(service, bytes, at);
  try {
    // Waits because the memory may have been freed in another stream, in which work that uses it is
    // not done yet. The service stream then waits for that work.
    service.sync(at);
  } catch (...) {
    deallocate_synchronously(pool, address);
    throw;
  }
  return address;
}

void deallocate_synchronously(memory_pool_ref pool, void* address) noexcept {
  report_failure_of(pool, "cuMemFreeAsync", [&] {
    const relaxed_capture_mode guard{call_site{}};
    pool.deallocate(service_stream(pool.device(), call_site{}), address, call_site{});
  });
}

namespace {

// Returns true if the host can access the memory, such as pinned and managed memory. Returns false
// for device memory, where an access of the host would crash the program on a machine with a GPU.
// Returns true if the query fails.
bool is_host_accessible(void* address) noexcept {
  int type = 0;
  unsigned managed = 0;
  const CUdeviceptr where = device_address(address);
  return driver().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, where) !=
             CUDA_SUCCESS ||
         type != CU_MEMORYTYPE_DEVICE ||
         (driver().cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, where) ==
              CUDA_SUCCESS &&
          managed != 0);
}

}  // namespace

void* allocate_or_bad_alloc(memory_pool_ref pool, std::size_t bytes, std::size_t alignment) {
  try {
    void* const address = allocate_synchronously(pool, bytes, alignment, call_site{});
    if (address == nullptr || is_host_accessible(address)) return address;
    deallocate_synchronously(pool, address);
    throw_error(errc::invalid_value, "weir::pinned_allocator", to_text(pool),
                "the host cannot access the pool's memory; use a pool of pinned memory",
                call_site{});
  } catch (const error& failure) {
    if (failure.result() == errc::out_of_memory) throw std::bad_alloc{};
    throw;
  }
}

}  // namespace detail

pinned_memory_resource::~pinned_memory_resource() = default;

void* pinned_memory_resource::do_allocate(std::size_t bytes, std::size_t alignment) {
  return detail::allocate_or_bad_alloc(resource_.pool(), bytes, alignment);
}

void pinned_memory_resource::do_deallocate(void* address, std::size_t bytes,
                                           std::size_t alignment) {
  resource_.deallocate_sync(address, bytes, alignment);
}

bool pinned_memory_resource::do_is_equal(const std::pmr::memory_resource& other) const noexcept {
  const auto* const same_kind = dynamic_cast<const pinned_memory_resource*>(&other);
  return same_kind != nullptr && same_kind->resource_ == resource_;
}

}  // namespace weir
