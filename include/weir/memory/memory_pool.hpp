// SPDX-License-Identifier: Apache-2.0
// weir/memory/memory_pool.hpp - pools, from which stream-ordered memory is allocated and to which
// it returns.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/closed.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/device.hpp>
#include <weir/memory/memory_location.hpp>
#include <weir/stream/stream.hpp>

#include <cstddef>
#include <optional>
#include <type_traits>

namespace weir {

/// The kind of memory that a pool allocates.
enum class pool_memory : unsigned char {
  device,  ///< memory of the pool's device
  pinned,  ///< page-locked host memory, which the pool's device can access
  /// Memory that migrates to the processor that uses it, the host or any device. Needs a driver of
  /// CUDA 13.
  managed,
};

/// Says whether other processes may import the pool, and by which kind of handle. The numbers are
/// the driver's. A device supports the bits of its attribute
/// CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES.
enum class pool_sharing : unsigned { none = 0, file_descriptor = 1, fabric = 8 };

/// The access that a device has to a pool's memory. A device always has access to its own pools of
/// device memory.
enum class pool_access : unsigned char { none = 0, read_write = 3 };

/// Rules for reusing memory that one stream freed for an allocation on another stream. An
/// allocation on the freeing stream may always reuse the memory. All rules are on by default. Turn
/// them off to make the addresses of allocations repeatable.
struct pool_reuse {
  /// Allows reuse if the allocating stream has waited for the free, through events.
  bool follow_event_dependencies = true;
  /// Allows reuse if the free has already completed.
  bool opportunistic = true;
  /// Allows reuse if the driver makes the allocating stream wait for the free.
  bool internal_dependencies = true;
  friend constexpr bool operator==(const pool_reuse&, const pool_reuse&) noexcept = default;
};

/// Memory of a pool, in bytes. `reserved` is taken from the device, `used` is the part of it in
/// allocations. The members with the suffix _high are the highest values since the last
/// reset_high_watermarks().
struct pool_usage {
  unsigned long long reserved = 0;
  unsigned long long reserved_high = 0;
  unsigned long long used = 0;
  unsigned long long used_high = 0;
};

/// A value for set_release_threshold() that keeps all idle memory in the pool.
inline constexpr unsigned long long keep_all = ~0ull;

/// A borrowed memory pool. Trivially copyable; pass by value. Valid while its owner is alive.
///
/// A reference also holds the pool's device, and the number of retries of an allocation (see
/// retrying()).
///
/// In a capture: allowed in every mode, except for allocate() and deallocate(); see there.
/// In a host function: throws `not_permitted`.
/// Thread safety: all members may be called from any thread.
class WEIR_EXPORT memory_pool_ref {
 public:
  /// Refers to a pool of the driver (CUmemoryPool, cudaMemPool_t) that belongs to `gpu`. No driver
  /// call.
  constexpr memory_pool_ref(CUmemPoolHandle_st* handle, weir::device gpu) noexcept
      : handle_{handle}, device_{gpu.ordinal()} {}

  /// Allocates `bytes` bytes for work that is queued on the stream after this call. The memory is
  /// uninitialised and aligned to 256 bytes. Returns null if `bytes` is 0.
  /// The stream may belong to another device if set_access() gives that device access to the pool.
  /// The class buffer calls both allocate() and deallocate(): buffer<float> x{pool, s, n}.
  ///
  /// Throws: `out_of_memory`.
  /// In a capture: on the capturing stream, adds an allocation node, if the driver has such nodes.
  /// On another stream, the call is allowed while a capture begun through weir is open. During a
  /// capture started directly through the driver, the driver refuses the call
  /// (`stream_capture_unsupported`) and invalidates that capture. There are two exceptions: the
  /// driver allows the call if the capture or the calling thread is in relaxed mode, and if another
  /// thread began the capture in another mode than global.
  /// Driver: cuMemAllocFromPoolAsync.
  [[nodiscard]] void* allocate(stream_ref stream, std::size_t bytes,
                               call_site at = call_site::current()) const;

  /// Frees memory after the work queued on the stream so far. Does nothing if `address` is null.
  ///
  /// In a capture: as allocate(); on the capturing stream, adds a free node.
  /// Driver: cuMemFreeAsync.
  void deallocate(stream_ref stream, void* address, call_site at = call_site::current()) const;

  /// Returns a reference to this pool whose allocations are retried up to `attempts` times when
  /// memory has run out. Each retry blocks the host: it waits for all work of the stream's context,
  /// so that queued frees complete, and trims this pool.
  ///
  /// In a capture: no retry while the stream captures or any capture begun through weir is open,
  /// since a wait would invalidate it. The allocation throws `out_of_memory` immediately.
  /// Driver: that of context_ref::sync(), cuMemPoolTrimTo.
  [[nodiscard]] constexpr memory_pool_ref retrying(int attempts = 3) const noexcept {
    memory_pool_ref result = *this;
    result.retries_ = attempts;
    return result;
  }

  /// Returns how many bytes of idle memory the pool keeps. The default is 0.
  ///
  /// Driver: cuMemPoolGetAttribute.
  [[nodiscard]] unsigned long long release_threshold(call_site at = call_site::current()) const;
  /// Sets how many bytes of idle memory the pool keeps. Whenever a thread waits for work, the pool
  /// returns idle memory beyond `bytes` to the device, and a later allocation must reserve it
  /// again. keep_all keeps everything until trim().
  ///
  /// Driver: cuMemPoolSetAttribute.
  void set_release_threshold(unsigned long long bytes, call_site at = call_site::current()) const;

  /// Returns idle memory to the device now, until at most `kept_bytes` bytes stay reserved. Memory
  /// in use, and memory whose free is still queued, stays reserved.
  ///
  /// Driver: cuMemPoolTrimTo.
  void trim(std::size_t kept_bytes = 0, call_site at = call_site::current()) const;

  /// Returns the rules for reusing memory across streams.
  ///
  /// Driver: cuMemPoolGetAttribute.
  [[nodiscard]] pool_reuse reuse(call_site at = call_site::current()) const;
  /// Sets the rules for reusing memory across streams.
  ///
  /// Driver: cuMemPoolSetAttribute.
  void set_reuse(pool_reuse rules, call_site at = call_site::current()) const;

  /// Returns how much memory the pool has reserved, and how much of it is allocated. The _high
  /// values cover the time since the pool was created or reset_high_watermarks() was called.
  ///
  /// Driver: cuMemPoolGetAttribute.
  [[nodiscard]] pool_usage usage(call_site at = call_site::current()) const;
  /// Resets the _high values of usage() to the current values.
  ///
  /// Driver: cuMemPoolSetAttribute.
  void reset_high_watermarks(call_site at = call_site::current()) const;

  /// Allows or forbids streams of another device to use the pool's memory, including memory that is
  /// already allocated. `peer` must be able to access the pool's device (device::can_access).
  /// Copies do not need this.
  ///
  /// Throws: `invalid_device` when access of the pool's own device is forbidden.
  /// Driver: cuMemPoolSetAccess.
  void set_access(weir::device peer, pool_access access, call_site at = call_site::current()) const;
  /// Returns the access that `peer` has to the pool's memory.
  ///
  /// Driver: cuMemPoolGetAccess.
  [[nodiscard]] pool_access access(weir::device peer, call_site at = call_site::current()) const;

  /// Returns the device that the pool belongs to. No driver call.
  [[nodiscard]] constexpr weir::device device() const noexcept { return weir::device{device_}; }
  /// Returns the maximum number of retries of an allocation; 0 unless this reference comes from
  /// retrying().
  [[nodiscard]] constexpr int retries() const noexcept { return retries_; }
  /// Returns the driver's handle. No driver call.
  [[nodiscard]] constexpr CUmemPoolHandle_st* get() const noexcept { return handle_; }

  /// Returns true if both refer to one pool. The number of retries is ignored.
  friend constexpr bool operator==(memory_pool_ref a, memory_pool_ref b) noexcept {
    return a.handle_ == b.handle_;
  }

 protected:
  /// Replaces the handle and returns the previous one. Does not change the device. Called by
  /// memory_pool, the owner.
  CUmemPoolHandle_st* exchange_handle(CUmemPoolHandle_st* replacement) noexcept {
    CUmemPoolHandle_st* const previous = handle_;
    handle_ = replacement;
    return previous;
  }

 private:
  CUmemPoolHandle_st* handle_;
  int device_;
  int retries_ = 0;  ///< see retries()
};

static_assert(std::is_trivially_copyable_v<memory_pool_ref> &&
              sizeof(memory_pool_ref) == 2 * sizeof(void*));

/// Options of a new memory_pool.
struct memory_pool_options {
  pool_memory memory = pool_memory::device;
  /// The location of the memory. For a pinned pool: the host or one of its NUMA nodes. For a
  /// managed pool: the preferred location, where pages are placed first. Unset: the driver chooses;
  /// a device pool is always on its device.
  std::optional<memory_location> location = {};
  std::size_t max_size = 0;  ///< bytes; the driver may round up; 0: no limit
  unsigned long long release_threshold = 0;
  pool_reuse reuse = {};
  pool_sharing sharing = pool_sharing::none;
};

/// Owns a memory pool. Has all operations of memory_pool_ref, and converts to it.
///
/// Move-only. A moved-from or closed pool throws `closed` when used. The pool may be destroyed
/// before the memory allocated from it: that memory stays valid, and the driver destroys the pool
/// with the last allocation.
///
/// Thread safety: the operations of memory_pool_ref may be called from any thread; moving and
/// closing need exclusive access.
///
/// Do not assign through a `memory_pool_ref&` that is bound to an owner, and do not delete an owner
/// as its base: the pool would leak, or be destroyed twice.
class WEIR_EXPORT memory_pool : public memory_pool_ref {
 public:
  /// Creates a pool. A pinned pool gives its device access. If the constructor throws, no pool
  /// exists.
  ///
  /// Throws: `invalid_value` for a location that memory of the given kind cannot have. The driver
  /// refuses a managed pool with a size limit or with sharing, and NUMA nodes that the host does
  /// not have.
  /// In a capture: allowed.
  /// Driver: cuMemPoolCreate, cuMemPoolSetAttribute, cuMemPoolSetAccess.
  explicit memory_pool(weir::device gpu, memory_pool_options options = {},
                       call_site at = call_site::current());

  /// Takes ownership of a pool of the driver.
  ///
  /// Throws: `invalid_value` if `handle` is null.
  [[nodiscard]] static memory_pool adopt(CUmemPoolHandle_st* handle, weir::device gpu,
                                         call_site at = call_site::current());

  memory_pool(memory_pool&& other) noexcept;
  /// Destroys the pool that this object held, as the destructor does, and takes over the pool of
  /// the other object.
  memory_pool& operator=(memory_pool&& other) noexcept;
  /// Destroys the pool and never blocks. Errors go to set_unhandled_error_handler.
  ///
  /// In a capture: another thread destroys the pool later, if the capture was begun through weir.
  /// In a host function: another thread destroys the pool later.
  ~memory_pool();

  /// Destroys the pool now and reports errors. A second call does nothing. If the pool is its
  /// device's current pool, the device's default pool becomes current again.
  ///
  /// Driver: cuMemPoolDestroy.
  void close(call_site at = call_site::current());
  /// Returns true if the object owns no pool: it was closed, released or moved from.
  [[nodiscard]] bool closed() const noexcept {
    return get() == detail::closed_handle<CUmemPoolHandle_st>();
  }

  /// Gives up ownership and returns the handle; the caller must destroy the pool. The object is
  /// closed afterwards.
  [[nodiscard]] CUmemPoolHandle_st* release(call_site at = call_site::current());

  /// Returns the reference to this pool.
  [[nodiscard]] memory_pool_ref ref() const noexcept { return *this; }

 private:
  explicit memory_pool(memory_pool_ref pool) noexcept : memory_pool_ref{pool} {}
};

static_assert(!std::is_copy_constructible_v<memory_pool> &&
              !std::is_constructible_v<memory_pool, memory_pool_ref> &&
              !std::is_assignable_v<memory_pool&, memory_pool_ref>);

// Each device has a default pool, which is never destroyed, and a current pool, which is the
// default pool at first. Buffers without a pool of their own, cuMemAllocAsync and cudaMallocAsync
// allocate from the current pool, in all threads of the process.

/// Returns the device's default pool, which is never destroyed.
///
/// In a host function: throws `not_permitted`.
/// Thread safety: may be called from any thread.
/// Driver: cuDeviceGetDefaultMemPool.
[[nodiscard]] WEIR_EXPORT memory_pool_ref default_memory_pool(device gpu,
                                                              call_site at = call_site::current());
/// Returns the device's current pool: buffers without a pool of their own, cuMemAllocAsync and
/// cudaMallocAsync allocate from it. At first it is the default pool.
///
/// In a host function: throws `not_permitted`.
/// Thread safety: may be called from any thread.
/// Driver: cuDeviceGetMemPool.
[[nodiscard]] WEIR_EXPORT memory_pool_ref current_memory_pool(device gpu,
                                                              call_site at = call_site::current());
/// Makes a pool the current pool of its device, for all threads of the process.
///
/// Throws: `invalid_value` for a pinned or managed pool.
/// In a host function: throws `not_permitted`.
/// Thread safety: may be called from any thread.
/// Driver: cuDeviceSetMemPool.
WEIR_EXPORT void set_current_memory_pool(memory_pool_ref pool, call_site at = call_site::current());

/// Makes a pool the current pool of its device until the end of the block, then restores the
/// previous pool. The current pool belongs to the process, not to a thread: if scopes for one
/// device overlap in several threads, the scope that ends last restores its own previous pool.
class WEIR_EXPORT memory_pool_scope {
 public:
  /// Makes `pool` the current pool of its device.
  ///
  /// Throws: as set_current_memory_pool() and current_memory_pool().
  /// Driver: cuDeviceGetMemPool, cuDeviceSetMemPool.
  [[nodiscard]] explicit memory_pool_scope(memory_pool_ref pool,
                                           call_site at = call_site::current());
  memory_pool_scope(const memory_pool_scope&) = delete;
  memory_pool_scope& operator=(const memory_pool_scope&) = delete;
  /// Restores the previous pool. Errors go to set_unhandled_error_handler.
  ~memory_pool_scope();

 private:
  memory_pool_ref previous_pool_;
};

}  // namespace weir
