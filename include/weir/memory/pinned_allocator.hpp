// SPDX-License-Identifier: Apache-2.0
// weir/memory/pinned_allocator.hpp - containers of the standard library in pinned memory.
#pragma once

#include <weir/memory/memory_resource.hpp>

#include <cstddef>
#include <memory_resource>
#include <new>

namespace weir {

/// An allocator of the standard library that allocates from a pinned pool. The pool's device can
/// read and write the elements in place, without a copy:
///
///   weir::memory_pool pool{gpu, {.memory = weir::pool_memory::pinned,
///                                .release_threshold = weir::keep_all}};
///   std::vector<float, weir::pinned_allocator<float>> v(1000, 0.0f, pool);
///
/// Containers do not wait for streams: work that uses a container must finish before it grows,
/// shrinks or is destroyed. The pool must outlive the containers.
///
/// Thread safety: may be used from any thread, like the pool.
template <class T>
class pinned_allocator {
  static_assert(alignof(T) <= pool_alignment);

 public:
  using value_type = T;

  /// Allocates from a resource of a pinned pool.
  constexpr pinned_allocator(pinned_pool_resource resource) noexcept : resource_{resource} {}
  /// Allocates from a pinned pool, which must outlive the containers.
  pinned_allocator(const memory_pool& pool) noexcept : resource_{pool} {}
  /// Allocates from the resource of an allocator of another element type.
  template <class U>
  constexpr pinned_allocator(const pinned_allocator<U>& other) noexcept
      : resource_{other.resource()} {}

  /// Allocates memory for `n` elements; may block.
  ///
  /// Throws: std::bad_alloc if there is no memory; weir::error for any other failure.
  [[nodiscard]] T* allocate(std::size_t n) const {
    if (n > static_cast<std::size_t>(-1) / 2 / sizeof(T)) throw std::bad_array_new_length{};
    return static_cast<T*>(
        detail::allocate_or_bad_alloc(resource_.pool(), n * sizeof(T), alignof(T)));
  }
  /// Frees memory that no work uses any more. Errors go to set_unhandled_error_handler.
  void deallocate(T* address, std::size_t n) const noexcept {
    resource_.deallocate_sync(address, n * sizeof(T));
  }

  /// Returns the resource that the allocator uses.
  [[nodiscard]] constexpr pinned_pool_resource resource() const noexcept { return resource_; }
  /// Returns true if both allocate from one pool.
  template <class U>
  friend constexpr bool operator==(const pinned_allocator& a,
                                   const pinned_allocator<U>& b) noexcept {
    return a.resource() == b.resource();
  }

 private:
  pinned_pool_resource resource_;
};

/// A memory resource over a pinned pool, for std::pmr containers. It must outlive the containers,
/// and the pool must outlive it.
///
/// Throws: std::bad_alloc from allocate() if there is no memory; weir::error for any other failure.
/// Thread safety: may be used from any thread, like the pool.
class WEIR_EXPORT pinned_memory_resource final : public std::pmr::memory_resource {
 public:
  /// Allocates from a resource of a pinned pool.
  explicit pinned_memory_resource(pinned_pool_resource resource) noexcept : resource_{resource} {}
  /// Allocates from a pinned pool.
  explicit pinned_memory_resource(const memory_pool& pool) noexcept : resource_{pool} {}
  ~pinned_memory_resource() override;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* address, std::size_t bytes, std::size_t alignment) override;
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override;

  pinned_pool_resource resource_;
};

}  // namespace weir
