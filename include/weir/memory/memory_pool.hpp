// weir/memory/memory_pool.hpp - pools: where stream-ordered memory comes from, and how much of it
// is kept.
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

// What a pool hands out.
enum class pool_memory : unsigned char {
  device,   // of its device
  pinned,   // of the host, and its device reaches it
  managed,  // moves to whoever uses it, the host or any device; a driver of CUDA 13 has such pools
};

// Whether other processes may open the pool, and through what. Bits; the driver says which it can.
enum class pool_sharing : unsigned { none = 0, file_descriptor = 1, fabric = 8 };

// Who may use memory of a pool, beside the device that it is of.
enum class pool_access : unsigned char { none = 0, read_write = 3 };

// When memory that one stream has freed may go to another one that asks for some, beyond later work
// of the same stream. All are on unless the program turns them off, to make where memory comes from
// repeatable.
struct pool_reuse {
  bool follow_event_dependencies =
      true;                           // the other stream has waited for the free, through events
  bool opportunistic = true;          // the free happens to be done by now
  bool internal_dependencies = true;  // the driver makes the other stream wait for the free
  friend constexpr bool operator==(const pool_reuse&, const pool_reuse&) noexcept = default;
};

// In bytes: what a pool has taken from the device, and what of it is given out; now, and the most
// so far.
struct pool_usage {
  unsigned long long reserved = 0;
  unsigned long long reserved_high = 0;
  unsigned long long used = 0;
  unsigned long long used_high = 0;
};

// A release threshold that keeps everything.
inline constexpr unsigned long long keep_all = ~0ull;

// A pool, borrowed: valid while its owner is. Trivially copyable; pass by value. It knows its
// device, and what to do when it has run out. Thread safety: any operation from any thread. In a
// host function: refused. In a capture: allowed, in every mode, but for allocate() and
// deallocate(), which say for themselves.
class WEIR_EXPORT memory_pool_ref {
 public:
  // A pool of somebody else's (CUmemoryPool, cudaMemPool_t), on that device.
  constexpr memory_pool_ref(CUmemPoolHandle_st* handle, weir::device gpu) noexcept
      : handle_{handle}, device_{gpu.ordinal()} {}

  // Memory for work queued on the stream from now on, uninitialised, aligned to 256 bytes; null for
  // no bytes. Fails with out_of_memory. The stream may be of another device if that one may use the
  // pool (set_access). A buffer makes both calls: buffer<float> x{pool, s, n}.
  // cuMemAllocFromPoolAsync. In a capture of the stream: becomes a node of the graph, where the
  // driver has such nodes. On another stream while a capture is open: allowed if weir began it. In
  // one that was begun elsewhere the driver's answer stands: it refuses this
  // (stream_capture_unsupported) and drops the capture, unless that one or the calling thread is
  // relaxed, or it is another thread's and not in global mode.
  [[nodiscard]] void* allocate(stream_ref stream, std::size_t bytes,
                               call_site at = call_site::current()) const;

  // Gives memory back after the work queued on the stream so far. Null does nothing. Captures as
  // for allocate(). cuMemFreeAsync.
  void deallocate(stream_ref stream, void* address, call_site at = call_site::current()) const;

  // The same pool with more patience: an allocation that finds no memory waits for all work of the
  // stream's context, so that the frees in it are done, gives back what this pool holds idle, and
  // asks again, up to so many times. That blocks the host, so it has to be asked for. Not while
  // anything is captured through weir or the stream captures, which a wait would break:
  // out_of_memory at once then, as without this. cuCtxSynchronize, cuMemPoolTrimTo.
  [[nodiscard]] constexpr memory_pool_ref retrying(int attempts = 3) const noexcept {
    memory_pool_ref result = *this;
    result.retries_ = attempts;
    return result;
  }

  // What is kept. A pool gives memory that lies idle back to the device whenever a thread has
  // waited for work, except for so many bytes; 0 at first, so that the next allocation pays again.
  // keep_all keeps it all, up to trim(). cuMemPoolGetAttribute, cuMemPoolSetAttribute.
  [[nodiscard]] unsigned long long release_threshold(call_site at = call_site::current()) const;
  void set_release_threshold(unsigned long long bytes, call_site at = call_site::current()) const;

  // Gives idle memory back now, as long as more than `keep` bytes stay reserved. Memory in use and
  // memory whose free is still queued stay. cuMemPoolTrimTo.
  void trim(std::size_t keep = 0, call_site at = call_site::current()) const;

  [[nodiscard]] pool_reuse reuse(call_site at = call_site::current()) const;
  void set_reuse(pool_reuse rules, call_site at = call_site::current()) const;

  // The high marks are those since the pool was made or reset_high_watermarks(), which brings them
  // down to what is now.
  [[nodiscard]] pool_usage usage(call_site at = call_site::current()) const;
  void reset_high_watermarks(call_site at = call_site::current()) const;

  // Lets the streams of another device use the pool's memory, what is given out already too, or
  // forbids it. For devices that can reach it (device::can_access). Nothing of this is needed for
  // copies. Forbidding the pool's own device is refused (invalid_device). cuMemPoolSetAccess,
  // cuMemPoolGetAccess.
  void set_access(weir::device peer, pool_access access, call_site at = call_site::current()) const;
  [[nodiscard]] pool_access access(weir::device peer, call_site at = call_site::current()) const;

  [[nodiscard]] constexpr weir::device device() const noexcept { return weir::device{device_}; }
  [[nodiscard]] constexpr int retries() const noexcept { return retries_; }
  [[nodiscard]] constexpr CUmemPoolHandle_st* get() const noexcept { return handle_; }

  // The same pool? However patient.
  friend constexpr bool operator==(memory_pool_ref a, memory_pool_ref b) noexcept {
    return a.handle_ == b.handle_;
  }

 private:
  CUmemPoolHandle_st* handle_;
  int device_;
  int retries_ = 0;
};

static_assert(std::is_trivially_copyable_v<memory_pool_ref> &&
              sizeof(memory_pool_ref) == 2 * sizeof(void*));

struct memory_pool_options {
  pool_memory memory = pool_memory::device;
  // Where it is: pinned memory on the host, wherever or on one of its NUMA nodes; managed memory
  // anywhere, at first and rather than elsewhere. Unset: wherever there.
  std::optional<memory_location> location = {};
  std::size_t max_size = 0;  // bytes, which the driver may round up; 0: as much as there is
  unsigned long long release_threshold = 0;
  pool_reuse reuse = {};
  pool_sharing sharing = pool_sharing::none;
};

// A pool of our own. Move-only; moved-from and closed ones answer `closed` when used. It converts
// to its reference and has its operations. It may go before the memory that came from it: that
// lives on, and the driver ends the pool with the last of it. Thread safety: the reference's
// operations from any thread; moving and closing as any object.
class WEIR_EXPORT memory_pool {
 public:
  // Fails whole. A pinned pool lets its device use it. A place that such memory cannot be in is
  // refused (invalid_value); so are, by the driver, a managed pool with a limit or for other
  // processes, and nodes that the host does not have. In a capture: allowed. cuMemPoolCreate,
  // cuMemPoolSetAttribute, cuMemPoolSetAccess.
  explicit memory_pool(weir::device gpu, memory_pool_options options = {},
                       call_site at = call_site::current());

  // Takes over a pool; from now on it is ours to destroy. Null is refused (invalid_value).
  [[nodiscard]] static memory_pool adopt(CUmemPoolHandle_st* handle, weir::device gpu,
                                         call_site at = call_site::current());

  memory_pool(memory_pool&& other) noexcept;
  memory_pool& operator=(memory_pool&& other) noexcept;
  // Never blocks; what fails goes to set_unhandled_error_handler. During a capture begun through
  // weir and in host functions the pool is destroyed later, by another thread.
  ~memory_pool();

  // Destroys it now and reports what fails; does nothing a second time. A device whose current pool
  // this is goes back to its default pool. cuMemPoolDestroy.
  void close(call_site at = call_site::current());
  [[nodiscard]] bool closed() const noexcept {
    return ref_.get() == detail::closed_handle<CUmemPoolHandle_st>();
  }

  // Gives the handle up; its destruction is the caller's. The object is closed.
  [[nodiscard]] CUmemPoolHandle_st* release(call_site at = call_site::current());

  [[nodiscard]] void* allocate(stream_ref stream, std::size_t bytes,
                               call_site at = call_site::current()) const {
    return ref_.allocate(stream, bytes, at);
  }
  void deallocate(stream_ref stream, void* address, call_site at = call_site::current()) const {
    ref_.deallocate(stream, address, at);
  }
  [[nodiscard]] memory_pool_ref retrying(int attempts = 3) const noexcept {
    return ref_.retrying(attempts);
  }

  [[nodiscard]] unsigned long long release_threshold(call_site at = call_site::current()) const {
    return ref_.release_threshold(at);
  }
  void set_release_threshold(unsigned long long bytes, call_site at = call_site::current()) const {
    ref_.set_release_threshold(bytes, at);
  }
  void trim(std::size_t keep = 0, call_site at = call_site::current()) const {
    ref_.trim(keep, at);
  }
  [[nodiscard]] pool_reuse reuse(call_site at = call_site::current()) const {
    return ref_.reuse(at);
  }
  void set_reuse(pool_reuse rules, call_site at = call_site::current()) const {
    ref_.set_reuse(rules, at);
  }
  [[nodiscard]] pool_usage usage(call_site at = call_site::current()) const {
    return ref_.usage(at);
  }
  void reset_high_watermarks(call_site at = call_site::current()) const {
    ref_.reset_high_watermarks(at);
  }
  void set_access(weir::device peer, pool_access access,
                  call_site at = call_site::current()) const {
    ref_.set_access(peer, access, at);
  }
  [[nodiscard]] pool_access access(weir::device peer, call_site at = call_site::current()) const {
    return ref_.access(peer, at);
  }

  [[nodiscard]] weir::device device() const noexcept { return ref_.device(); }
  [[nodiscard]] CUmemPoolHandle_st* get() const noexcept { return ref_.get(); }
  [[nodiscard]] memory_pool_ref ref() const noexcept { return ref_; }
  operator memory_pool_ref() const noexcept { return ref_; }

 private:
  explicit memory_pool(memory_pool_ref taken) noexcept : ref_{taken} {}
  void forget() noexcept {
    ref_ = memory_pool_ref{detail::closed_handle<CUmemPoolHandle_st>(), ref_.device()};
  }

  memory_pool_ref ref_;
};

static_assert(!std::is_copy_constructible_v<memory_pool>);

// Every device has a pool of its own, which never ends, and a current pool, at first the same:
// where buffers that name no pool, cuMemAllocAsync and cudaMallocAsync get their memory, in all
// threads of the process. Thread safety: from any thread. In a host function: refused.

// cuDeviceGetDefaultMemPool.
[[nodiscard]] WEIR_EXPORT memory_pool_ref default_memory_pool(device gpu,
                                                              call_site at = call_site::current());
// cuDeviceGetMemPool.
[[nodiscard]] WEIR_EXPORT memory_pool_ref current_memory_pool(device gpu,
                                                              call_site at = call_site::current());
// Makes a pool the current one of its device. Pinned and managed pools cannot be (invalid_value).
// cuDeviceSetMemPool.
WEIR_EXPORT void use(memory_pool_ref pool, call_site at = call_site::current());

// use(pool) until the end of the block, then current again what was. For the whole process, not for
// a thread: scopes of one device in several threads at once leave behind whatever ended last.
class WEIR_EXPORT memory_pool_scope {
 public:
  [[nodiscard]] explicit memory_pool_scope(memory_pool_ref pool,
                                           call_site at = call_site::current());
  memory_pool_scope(const memory_pool_scope&) = delete;
  memory_pool_scope& operator=(const memory_pool_scope&) = delete;
  // What fails goes to set_unhandled_error_handler.
  ~memory_pool_scope();

 private:
  memory_pool_ref before_;
};

}  // namespace weir
