// weir/memory/memory_resource.hpp - pools in the shape in which other libraries take memory:
// cuda::mr, RMM.
#pragma once

#include <weir/detail/export.hpp>
#include <weir/memory/memory_pool.hpp>
#include <weir/stream/stream.hpp>

#include <cstddef>

namespace weir {
namespace detail {

// What the functions of a resource do, beside the stream-ordered ones of a pool.
WEIR_EXPORT void* allocate_aligned(memory_pool_ref pool, stream_ref stream, std::size_t bytes,
                                   std::size_t alignment, call_site at);
WEIR_EXPORT void deallocate_noexcept(memory_pool_ref pool, stream_ref stream,
                                     void* address) noexcept;
WEIR_EXPORT void* allocate_synchronously(memory_pool_ref pool, std::size_t bytes,
                                         std::size_t alignment, call_site at);
WEIR_EXPORT void deallocate_synchronously(memory_pool_ref pool, void* address) noexcept;
// allocate_synchronously() with std::bad_alloc where there is no memory, as the standard library's
// users expect.
WEIR_EXPORT void* allocate_or_bad_alloc(memory_pool_ref pool, std::size_t bytes,
                                        std::size_t alignment);

// Is this the property of that name (cuda::mr::device_accessible), in whatever version of the
// library? So the headers of that library need not be known here.
template <class Property>
consteval bool is_property(const char* name) {
  const char* const function =
      __PRETTY_FUNCTION__;  // "... [with Property = cuda::mr::device_accessible]"
  std::size_t end = 0;
  while (function[end] != '\0') ++end;
  std::size_t length = 0;
  while (name[length] != '\0') ++length;
  if (end < length + 2) return false;
  const std::size_t begin = end - 1 - length;
  for (std::size_t i = 0; i < length; ++i) {
    if (function[begin + i] != name[i]) return false;
  }
  return function[begin - 1] == ':' && function[end - 1] == ']';
}

}  // namespace detail

// What memory of a pool is aligned to, and so the most that a resource can be asked for.
inline constexpr std::size_t pool_alignment = 256;

// A pool, borrowed, as a memory resource: it satisfies the concepts of cuda::mr (resource,
// resource_with, and those of before CCCL 3.1, async_resource), so that cuda::mr::resource_ref,
// rmm::device_async_resource_ref and what is built on them take it; no header of theirs is needed
// here. Trivially copyable; equal if the pools are the same. It has the property device_accessible,
// and for a pinned pool host_accessible, too. Allocating fails with weir::error: out_of_memory, or
// invalid_value for an alignment that is no power of two up to pool_alignment. Deallocating never
// throws: what fails goes to set_unhandled_error_handler. A patient pool (retrying()) makes a
// patient resource.
// Thread safety: any operation from any thread. In a host function: refused.
template <pool_memory Memory>
class basic_pool_resource {
 public:
  // Of a pool of that memory.
  constexpr basic_pool_resource(memory_pool_ref pool) noexcept : pool_{pool} {}
  basic_pool_resource(const memory_pool& pool) noexcept : pool_{pool.ref()} {}

  // In stream order, as memory_pool_ref does. The streams of all libraries convert.
  [[nodiscard]] void* allocate(stream_ref stream, std::size_t bytes,
                               std::size_t alignment = pool_alignment,
                               call_site at = call_site::current()) const {
    return detail::allocate_aligned(pool_, stream, bytes, alignment, at);
  }
  void deallocate(stream_ref stream, void* address, std::size_t /*bytes*/,
                  std::size_t /*alignment*/ = pool_alignment) const noexcept {
    detail::deallocate_noexcept(pool_, stream, address);
  }

  // In no stream's order: usable by all streams, and the host where it reaches the memory, when the
  // call returns, for which it may wait; and given back when nothing uses it any more, which is the
  // caller's to know.
  [[nodiscard]] void* allocate_sync(std::size_t bytes, std::size_t alignment = pool_alignment,
                                    call_site at = call_site::current()) const {
    return detail::allocate_synchronously(pool_, bytes, alignment, at);
  }
  void deallocate_sync(void* address, std::size_t /*bytes*/,
                       std::size_t /*alignment*/ = pool_alignment) const noexcept {
    detail::deallocate_synchronously(pool_, address);
  }

  // The same under the names of before CCCL 3.1.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = pool_alignment,
                               call_site at = call_site::current()) const {
    return allocate_sync(bytes, alignment, at);
  }
  void deallocate(void* address, std::size_t bytes,
                  std::size_t alignment = pool_alignment) const noexcept {
    deallocate_sync(address, bytes, alignment);
  }
  [[nodiscard]] void* allocate_async(std::size_t bytes, std::size_t alignment, stream_ref stream,
                                     call_site at = call_site::current()) const {
    return allocate(stream, bytes, alignment, at);
  }
  [[nodiscard]] void* allocate_async(std::size_t bytes, stream_ref stream,
                                     call_site at = call_site::current()) const {
    return allocate(stream, bytes, pool_alignment, at);
  }
  void deallocate_async(void* address, std::size_t bytes, std::size_t alignment,
                        stream_ref stream) const noexcept {
    deallocate(stream, address, bytes, alignment);
  }
  void deallocate_async(void* address, std::size_t bytes, stream_ref stream) const noexcept {
    deallocate(stream, address, bytes);
  }

  [[nodiscard]] constexpr memory_pool_ref pool() const noexcept { return pool_; }
  friend constexpr bool operator==(const basic_pool_resource& a,
                                   const basic_pool_resource& b) noexcept {
    return a.pool_ == b.pool_;
  }

  // Who reaches the memory.
  template <class Property>
  requires(detail::is_property<Property>("device_accessible") ||
           (Memory == pool_memory::pinned &&
            detail::is_property<Property>(
                "host_accessible"))) friend constexpr void get_property(const basic_pool_resource&,
                                                                        Property) noexcept {}

 private:
  memory_pool_ref pool_;
};

using device_pool_resource = basic_pool_resource<pool_memory::device>;
using pinned_pool_resource = basic_pool_resource<pool_memory::pinned>;

}  // namespace weir
