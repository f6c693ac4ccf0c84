// SPDX-License-Identifier: Apache-2.0
// weir/detail/keep_alive.hpp - reference-counted owners that node parameters hold and graphs keep
// alive.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/deferred.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/export.hpp>
#include <weir/memory/copy.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace weir::detail {

/// A reference-counted owner: an object that keeps memory, events or arguments alive. Parameters,
/// graph nodes and executables share an owner. The last of them to release it destroys it by
/// calling run().
struct keep_alive : deferred_task {
  /// The reference count. Several threads change it with atomic builtins, because <atomic> takes
  /// long to include.
  std::size_t shares = 1;
};

/// A reference to a keep_alive.
class keep_alive_ref {
 public:
  constexpr keep_alive_ref() noexcept = default;
  /// Takes over a reference that is already counted.
  explicit keep_alive_ref(keep_alive& owner) noexcept : owner_{&owner} {}
  keep_alive_ref(const keep_alive_ref& other) noexcept : owner_{other.owner_} {
    if (owner_ != nullptr) __atomic_fetch_add(&owner_->shares, 1, __ATOMIC_RELAXED);
  }
  keep_alive_ref(keep_alive_ref&& other) noexcept : owner_{std::exchange(other.owner_, nullptr)} {}
  keep_alive_ref& operator=(keep_alive_ref other) noexcept {
    std::swap(owner_, other.owner_);
    return *this;
  }
  ~keep_alive_ref() {
    if (owner_ != nullptr && release_reference(*owner_)) static_cast<void>(owner_->run(*owner_));
  }

  [[nodiscard]] keep_alive* get() const noexcept { return owner_; }
  /// Gives up the reference without dropping it; this object becomes empty.
  [[nodiscard]] keep_alive* release() noexcept { return std::exchange(owner_, nullptr); }
  explicit operator bool() const noexcept { return owner_ != nullptr; }

  /// Drops a reference. Returns true if it was the last one; the caller then calls
  /// owner.run(owner).
  [[nodiscard]] static bool release_reference(keep_alive& owner) noexcept {
    return __atomic_fetch_sub(&owner.shares, 1, __ATOMIC_ACQ_REL) == 1;
  }

 private:
  keep_alive* owner_ = nullptr;
};

/// An owner on the heap, where its address does not change.
template <class Owner>
struct keep_alive_box final : keep_alive {
  static_assert(std::is_nothrow_destructible_v<Owner>);
  template <class... Arguments>
  explicit keep_alive_box(Arguments&&... arguments) : value(std::forward<Arguments>(arguments)...) {
    run = [](deferred_task& self) noexcept {
      delete static_cast<keep_alive_box*>(&self);
      return task_result::done;
    };
  }
  Owner value;
};

/// The memory that a node uses, as it was when the parameters were created.
struct node_memory {
  void* address = nullptr;
  std::size_t bytes = 0;
  CUctx_st* context = nullptr;  ///< the context of device memory of weir; else null
  keep_alive_ref owner;         ///< keeps the memory; empty if the caller keeps it
};

/// Returns the description of a region of memory. Throws `closed` for closed memory.
[[nodiscard]] WEIR_EXPORT node_memory memory_of_region(const region& memory, keep_alive_ref owner,
                                                       call_site at);

/// Throws `invalid_value`, because a shared pointer is null.
[[noreturn]] WEIR_EXPORT void throw_null_pointer(call_site at);

/// A std::shared_ptr, or a type with the interface of one.
template <class P>
concept shared_pointer = requires(const P& p) {
  *p;
  p.use_count();
  !p;
};

template <class R>
struct named_range {
  using type = R;
};
template <shared_pointer P>
struct named_range<P> {
  using type = std::remove_reference_t<decltype(*std::declval<const P&>())>;
};
/// The type of a range argument; for a shared pointer, the type of the range to which it points.
template <class R>
using range_named_by = typename named_range<std::remove_reference_t<R>>::type;

/// A memory argument of node parameters: a range, or a shared pointer to a range. The caller must
/// keep the memory of an lvalue or a view such as std::span alive. The graph keeps a temporary
/// range alive, or the range to which a shared pointer points.
template <class R>
concept node_range = memory_range<range_named_by<R>>;

template <node_range R>
using node_element = element_of<range_named_by<R>>;

/// Returns the memory of an argument. Moves or copies a temporary range or a shared pointer to the
/// heap, as the owner of the memory.
template <node_range R>
[[nodiscard]] node_memory memory_of(R&& range, call_site at) {
  using owner_type = std::remove_cvref_t<R>;
  if constexpr (shared_pointer<owner_type>) {
    if (!range) throw_null_pointer(at);
    auto* const box = new keep_alive_box<owner_type>{std::forward<R>(range)};
    keep_alive_ref owner{*box};
    return memory_of_region(region_of(*box->value), std::move(owner), at);
  } else if constexpr (outlives_call<R>) {
    return memory_of_region(region_of(range), {}, at);
  } else {
    auto* const box = new keep_alive_box<owner_type>{std::forward<R>(range)};
    keep_alive_ref owner{*box};
    return memory_of_region(region_of(box->value), std::move(owner), at);
  }
}

}  // namespace weir::detail
