// weir/memory/pinned_allocator.hpp - containers of the standard library in pinned memory.
#pragma once

#include <weir/memory/memory_resource.hpp>

#include <cstddef>
#include <memory_resource>
#include <new>

namespace weir {

// An allocator of the standard library over a pinned pool, whose memory every device reads and
// writes where it is:
//
//   weir::memory_pool pool{gpu, {.memory = weir::pool_memory::pinned, .release_threshold =
//   weir::keep_all}}; std::vector<float, weir::pinned_allocator<float>> v(1000, 0.0f, pool);
//
// The containers know nothing of streams: work that uses one is done before it grows, shrinks or
// goes. The pool lives as long as they do. Allocating throws std::bad_alloc where there is no
// memory, and weir::error for anything else. Thread safety: as the pool's.
template <class T>
class pinned_allocator {
  static_assert(alignof(T) <= pool_alignment);

 public:
  using value_type = T;

  constexpr pinned_allocator(pinned_pool_resource resource) noexcept : resource_{resource} {}
  pinned_allocator(const memory_pool& pool) noexcept : resource_{pool} {}
  template <class U>
  constexpr pinned_allocator(const pinned_allocator<U>& other) noexcept
      : resource_{other.resource()} {}

  [[nodiscard]] T* allocate(std::size_t n) const {
    if (n > static_cast<std::size_t>(-1) / 2 / sizeof(T)) throw std::bad_array_new_length{};
    return static_cast<T*>(
        detail::allocate_or_bad_alloc(resource_.pool(), n * sizeof(T), alignof(T)));
  }
  void deallocate(T* address, std::size_t n) const noexcept {
    resource_.deallocate_sync(address, n * sizeof(T));
  }

  [[nodiscard]] constexpr pinned_pool_resource resource() const noexcept { return resource_; }
  template <class U>
  friend constexpr bool operator==(const pinned_allocator& a,
                                   const pinned_allocator<U>& b) noexcept {
    return a.resource() == b.resource();
  }

 private:
  pinned_pool_resource resource_;
};

// The same for std::pmr containers. It lives as long as they do.
class WEIR_EXPORT pinned_memory_resource final : public std::pmr::memory_resource {
 public:
  explicit pinned_memory_resource(pinned_pool_resource resource) noexcept : resource_{resource} {}
  explicit pinned_memory_resource(const memory_pool& pool) noexcept : resource_{pool} {}
  ~pinned_memory_resource() override;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* address, std::size_t bytes, std::size_t alignment) override;
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override;

  pinned_pool_resource resource_;
};

}  // namespace weir
