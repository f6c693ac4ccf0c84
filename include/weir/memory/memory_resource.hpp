// SPDX-License-Identifier: Apache-2.0
// weir/memory/memory_resource.hpp - pools as memory resources of cuda::mr and RMM.
#pragma once

#include <weir/detail/export.hpp>
#include <weir/memory/memory_pool.hpp>
#include <weir/stream/stream.hpp>

#include <cstddef>
#include <string_view>

namespace weir {
namespace detail {

/// Like memory_pool_ref::allocate(), but first checks that the alignment is supported.
WEIR_EXPORT void* allocate_aligned(memory_pool_ref pool, stream_ref stream, std::size_t bytes,
                                   std::size_t alignment, call_site at);
/// Like memory_pool_ref::deallocate(), but passes errors to set_unhandled_error_handler.
WEIR_EXPORT void deallocate_noexcept(memory_pool_ref pool, stream_ref stream,
                                     void* address) noexcept;
/// Allocates memory that every stream may use when the call returns. May block for that.
WEIR_EXPORT void* allocate_synchronously(memory_pool_ref pool, std::size_t bytes,
                                         std::size_t alignment, call_site at);
/// Frees memory that no work uses any more. Errors go to set_unhandled_error_handler.
WEIR_EXPORT void deallocate_synchronously(memory_pool_ref pool, void* address) noexcept;
/// Like allocate_synchronously(), but throws std::bad_alloc if there is no memory, as the standard
/// library expects. Throws `invalid_value` if the host cannot access the memory of the pool.
WEIR_EXPORT void* allocate_or_bad_alloc(memory_pool_ref pool, std::size_t bytes,
                                        std::size_t alignment);

/// Returns true if Property is a type in a namespace and has this unqualified name:
/// "device_accessible" for cuda::mr::device_accessible. Compares names, so that weir needs no
/// header of libcu++ and accepts every version of it.
template <class Property>
consteval bool is_property(const char* property_name) {
  std::string_view type =
      __PRETTY_FUNCTION__;  // "... [with Property = cuda::mr::device_accessible]"
  const std::string_view suffix = property_name;
  if (!type.ends_with(']')) return false;
  type.remove_suffix(1);
  if (!type.ends_with(suffix)) return false;
  type.remove_suffix(suffix.size());
  return type.ends_with(':');
}

}  // namespace detail

/// The alignment of all memory from a pool, in bytes. It is the largest alignment that a memory
/// resource accepts.
inline constexpr std::size_t pool_alignment = 256;

/// A borrowed pool as a memory resource. Trivially copyable; equal if the pools are.
///
/// It satisfies these concepts of cuda::mr: resource, resource_with, and async_resource, which only
/// exists before CCCL 3.1. cuda::mr::resource_ref, rmm::device_async_resource_ref and types built
/// on them accept it. weir needs no header of these libraries.
/// It has the property device_accessible; a resource of a pinned pool also has host_accessible.
/// Allocation throws weir::error: `out_of_memory`, or `invalid_value` for an alignment that is not
/// a power of two up to pool_alignment. Deallocation never throws; errors go to
/// set_unhandled_error_handler. If the pool reference comes from memory_pool_ref::retrying(),
/// allocations are retried.
///
/// In a host function: allocation throws `not_permitted`, and deallocation reports it.
/// Thread safety: all members may be called from any thread.
template <pool_memory Memory>
class basic_pool_resource {
 public:
  /// Creates a resource of a pool; the pool's memory must be of the kind Memory.
  constexpr basic_pool_resource(memory_pool_ref pool) noexcept : pool_{pool} {}

  /// Allocates in stream order, like memory_pool_ref::allocate(). `stream` accepts the stream types
  /// of all libraries.
  ///
  /// Throws: `out_of_memory`; `invalid_value` for an alignment that is not supported.
  /// Driver: cuMemAllocFromPoolAsync.
  [[nodiscard]] void* allocate(stream_ref stream, std::size_t bytes,
                               std::size_t alignment = pool_alignment,
                               call_site at = call_site::current()) const {
    return detail::allocate_aligned(pool_, stream, bytes, alignment, at);
  }
  /// Frees in stream order, like memory_pool_ref::deallocate(). Errors go to
  /// set_unhandled_error_handler.
  ///
  /// Driver: cuMemFreeAsync.
  void deallocate(stream_ref stream, void* address, std::size_t /*bytes*/,
                  std::size_t /*alignment*/ = pool_alignment) const noexcept {
    detail::deallocate_noexcept(pool_, stream, address);
  }

  /// Allocates memory that every stream may use when the call returns, and the host, too, if the
  /// pool's memory is accessible to it. The call may block for that.
  ///
  /// Throws: `out_of_memory`; `invalid_value` for an alignment that is not supported.
  [[nodiscard]] void* allocate_sync(std::size_t bytes, std::size_t alignment = pool_alignment,
                                    call_site at = call_site::current()) const {
    return detail::allocate_synchronously(pool_, bytes, alignment, at);
  }
  /// Frees memory from allocate_sync(). The caller ensures that no work uses it any more. Errors go
  /// to set_unhandled_error_handler.
  void deallocate_sync(void* address, std::size_t /*bytes*/,
                       std::size_t /*alignment*/ = pool_alignment) const noexcept {
    detail::deallocate_synchronously(pool_, address);
  }

  /// Calls allocate_sync(). The name that cuda::mr used before CCCL 3.1.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = pool_alignment,
                               call_site at = call_site::current()) const {
    return allocate_sync(bytes, alignment, at);
  }
  /// Calls deallocate_sync(). The name that cuda::mr used before CCCL 3.1.
  void deallocate(void* address, std::size_t bytes,
                  std::size_t alignment = pool_alignment) const noexcept {
    deallocate_sync(address, bytes, alignment);
  }
  /// Calls allocate(stream, bytes, alignment). The name that cuda::mr used before CCCL 3.1.
  [[nodiscard]] void* allocate_async(std::size_t bytes, std::size_t alignment, stream_ref stream,
                                     call_site at = call_site::current()) const {
    return allocate(stream, bytes, alignment, at);
  }
  /// Calls allocate(stream, bytes). The name that cuda::mr used before CCCL 3.1.
  [[nodiscard]] void* allocate_async(std::size_t bytes, stream_ref stream,
                                     call_site at = call_site::current()) const {
    return allocate(stream, bytes, pool_alignment, at);
  }
  /// Calls deallocate(stream, address). The name that cuda::mr used before CCCL 3.1.
  void deallocate_async(void* address, std::size_t bytes, std::size_t alignment,
                        stream_ref stream) const noexcept {
    deallocate(stream, address, bytes, alignment);
  }
  /// Calls deallocate(stream, address). The name that cuda::mr used before CCCL 3.1.
  void deallocate_async(void* address, std::size_t bytes, stream_ref stream) const noexcept {
    deallocate(stream, address, bytes);
  }

  /// Returns the pool that the resource allocates from.
  [[nodiscard]] constexpr memory_pool_ref pool() const noexcept { return pool_; }
  /// Returns true if both allocate from one pool.
  friend constexpr bool operator==(const basic_pool_resource& a,
                                   const basic_pool_resource& b) noexcept {
    return a.pool_ == b.pool_;
  }

  /// Declares the resource's properties to cuda::mr: which processors can access the memory.
  template <class Property>
  requires(detail::is_property<Property>("device_accessible") ||
           (Memory == pool_memory::pinned &&
            detail::is_property<Property>(
                "host_accessible"))) friend constexpr void get_property(const basic_pool_resource&,
                                                                        Property) noexcept {}

 private:
  memory_pool_ref pool_;
};

/// A memory resource of a device pool.
using device_pool_resource = basic_pool_resource<pool_memory::device>;
/// A memory resource of a pinned pool.
using pinned_pool_resource = basic_pool_resource<pool_memory::pinned>;

}  // namespace weir
