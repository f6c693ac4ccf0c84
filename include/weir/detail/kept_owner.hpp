// weir/detail/kept_owner.hpp - owners that parameters of graph nodes bring along, and graphs keep.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/memory/copy.hpp>
#include <weir/core/deferred.hpp>
#include <weir/detail/export.hpp>
#include <weir/core/handle.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace weir::detail {

// An owner with a count of who keeps it: parameters, nodes of graphs, executables. The last one ends it, by run().
struct shared_owner : chore {
  std::size_t shares = 1;  // changed by several threads: atomic accesses (<atomic> costs too much in headers)
};

// One of them.
class owner_share {
 public:
  constexpr owner_share() noexcept = default;
  // Takes over a share that is counted already.
  explicit owner_share(shared_owner& owner) noexcept : owner_{&owner} {}
  owner_share(const owner_share& other) noexcept : owner_{other.owner_} {
    if (owner_ != nullptr) __atomic_fetch_add(&owner_->shares, 1, __ATOMIC_RELAXED);
  }
  owner_share(owner_share&& other) noexcept : owner_{std::exchange(other.owner_, nullptr)} {}
  owner_share& operator=(owner_share other) noexcept {
    std::swap(owner_, other.owner_);
    return *this;
  }
  ~owner_share() {
    if (owner_ != nullptr && drop(*owner_)) static_cast<void>(owner_->run(*owner_));
  }

  [[nodiscard]] shared_owner* get() const noexcept { return owner_; }
  [[nodiscard]] shared_owner* release() noexcept { return std::exchange(owner_, nullptr); }
  explicit operator bool() const noexcept { return owner_ != nullptr; }

  // Gives a share back. Was it the last one?
  [[nodiscard]] static bool drop(shared_owner& owner) noexcept {
    return __atomic_fetch_sub(&owner.shares, 1, __ATOMIC_ACQ_REL) == 1;
  }

 private:
  shared_owner* owner_ = nullptr;
};

// An owner moved or copied to a place of its own, where it stays.
template <class Owner>
struct owner_box final : shared_owner {
  static_assert(std::is_nothrow_destructible_v<Owner>);
  template <class Source>
  requires(!std::same_as<std::remove_cvref_t<Source>, owner_box>) explicit owner_box(Source&& source)
      : held(std::forward<Source>(source)) {
    run = [](chore& self) noexcept {
      delete static_cast<owner_box*>(&self);
      return chore_result::done;
    };
  }
  Owner held;
};

// The memory that a node uses, as it was when the parameters were made.
struct node_memory {
  void* address = nullptr;
  std::size_t bytes = 0;
  CUctx_st* context = nullptr;  // of device memory of weir's; else null
  owner_share keeps;            // what the graph has to keep for it, if anything
};

// Refuses closed memory.
[[nodiscard]] WEIR_EXPORT node_memory memory_of_region(const region& where, owner_share keeps, call_site at);

// Refuses a shared pointer to nothing.
[[noreturn]] WEIR_EXPORT void refuse_null_pointer(call_site at);

// shared_ptr and the like.
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
// The range that an argument is or points to.
template <class R>
using range_named_by = typename named_range<std::remove_reference_t<R>>::type;

// What parameters of nodes take for memory: a range that stays where it is, and that the caller keeps (a name, a span); a
// temporary one, or a shared pointer to one, which the graph keeps.
template <class R>
concept node_range = memory_range<range_named_by<R>>;

template <node_range R>
using node_element = element_of<range_named_by<R>>;

template <node_range R>
[[nodiscard]] node_memory memory_of(R&& range, call_site at) {
  using given = std::remove_cvref_t<R>;
  if constexpr (shared_pointer<given>) {
    if (!range) refuse_null_pointer(at);
    auto* const box = new owner_box<given>{std::forward<R>(range)};
    owner_share keeps{*box};
    return memory_of_region(region_of(*box->held), std::move(keeps), at);
  } else if constexpr (outlives_call<R>) {
    return memory_of_region(region_of(range), {}, at);
  } else {
    auto* const box = new owner_box<given>{std::forward<R>(range)};
    owner_share keeps{*box};
    return memory_of_region(region_of(box->held), std::move(keeps), at);
  }
}

}  // namespace weir::detail
