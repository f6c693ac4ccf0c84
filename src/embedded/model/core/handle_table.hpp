// SPDX-License-Identifier: Apache-2.0
// model/core/handle_table.hpp - validated handles: tagged, generation-checked values for objects.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace weir::embedded::model {

// The table that a handle belongs to. It is part of the handle's value, so that an event passed as
// a stream is detected.
enum class handle_kind : std::uint8_t {
  context = 1,
  stream,
  event,
  pool,
  graph,
  graph_node,
  graph_exec,
  user_object,
  array,
  physical_memory,
  external_memory,
  external_semaphore,
  resource_desc,
  condition,
  module,
  function,
  library,
  library_kernel,
};

// Which values new handles get. WEIR_EMBEDDED_HANDLES selects it before the first handle is made.
enum class handle_values : std::uint8_t {
  unique,  // every handle of the process has another value, so stale handles are detected
  reused   // the next object of a kind gets the value of the one destroyed last, as on a GPU
};
inline constinit handle_values configured_handle_values = handle_values::unique;

// Objects of one kind and their handles. A handle is not an address: it packs a tag, a generation
// and an index. Stale, foreign and invalid handles are therefore detected without accessing the
// memory they might point to. With handle_values::reused the generation is always 0.
//
// An object lives in a slot: the object and its current handle, in memory that is never freed. The
// object is default-constructed once. Each user of acquire() begins another lifetime of it, usually
// by an open() member. A thread that still has a pointer to a retired object therefore reads
// outdated data, never freed memory.
//
// Thread safety: all members may be called from any thread.
template <class T, handle_kind Kind>
class handle_table {
 public:
  // Returns the live object of a handle, or null. Costs three loads, without a lock.
  [[nodiscard]] T* find(const void* handle) const noexcept {
    const auto bits = reinterpret_cast<std::uintptr_t>(handle);
    if ((bits >> tag_shift) != tag) return nullptr;
    const std::size_t index = bits & index_mask;
    const std::size_t segment = index / segment_size;
    if (segment >= max_segments) return nullptr;
    slot* slots = segments_[segment].load(std::memory_order_acquire);
    if (slots == nullptr) return nullptr;
    slot& s = slots[index % segment_size];
    return s.handle.load(std::memory_order_acquire) == bits ? &s.object : nullptr;
  }

  // Returns true if the value has the form of this table's handles, for a live or destroyed object.
  [[nodiscard]] static bool has_tag(const void* handle) noexcept {
    return (reinterpret_cast<std::uintptr_t>(handle) >> tag_shift) == tag;
  }

  // Returns a free object that no handle refers to yet. Throws std::bad_alloc.
  [[nodiscard]] T* acquire() {
    const std::lock_guard lock{mutex_};
    if (free_.empty()) grow();
    T* object = free_.back();
    free_.pop_back();
    return object;
  }

  // Gives an acquired object its handle, which find() then accepts.
  void* publish(T* object) noexcept {
    if (configured_handle_values == handle_values::unique) return publish_unique(object);
    return store_handle(slot_of(object), 0);
  }

  // Like publish(), but the handle has another value than all others, whatever the setting. For an
  // object whose handle the driver keeps beyond the object's life.
  void* publish_unique(T* object) noexcept {
    slot& s = slot_of(object);
    s.generation = s.generation % generation_mask + 1;
    return store_handle(s, s.generation);
  }

  // Returns the handle of a published object, or null once it is retired.
  [[nodiscard]] void* handle_of(const T* object) const noexcept {
    return reinterpret_cast<void*>(
        slot_of(const_cast<T*>(object)).handle.load(std::memory_order_acquire));
  }

  // Ends the handle of an object: find() no longer accepts it. Returns false if `handle` is not the
  // object's current handle, because another thread has retired it first.
  bool retire(T* object, const void* handle) noexcept {
    std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(handle);
    return slot_of(object).handle.compare_exchange_strong(bits, 0, std::memory_order_acq_rel);
  }

  // Undoes retire(): the handle refers to the object again. Called only by the thread that retired
  // the handle, before recycle().
  void restore(T* object, const void* handle) noexcept {
    slot_of(object).handle.store(reinterpret_cast<std::uintptr_t>(handle),
                                 std::memory_order_release);
  }

  // Returns a retired object for reuse, once nothing refers to it.
  void recycle(T* object) noexcept {
    const std::lock_guard lock{mutex_};
    free_.push_back(object);  // capacity was reserved when the object was made
  }

  // Calls visit(object) for every live object. It may or may not visit objects published or retired
  // during the call.
  template <class Visitor>
  void for_each(Visitor&& visit) {
    const std::size_t end = end_of_used_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < end; ++i) {
      slot& s = segments_[i / segment_size].load(std::memory_order_acquire)[i % segment_size];
      if (s.handle.load(std::memory_order_acquire) != 0) visit(s.object);
    }
  }

 private:
  static constexpr int index_bits = 24;
  static constexpr int tag_shift = 56;
  static constexpr std::uintptr_t index_mask = (std::uintptr_t{1} << index_bits) - 1;
  static constexpr std::uintptr_t generation_mask = 0xffff'ffff;
  // The highest byte of a handle. It is 0 in user-space addresses, so an address is never taken for
  // a handle.
  static constexpr std::uintptr_t tag = 0x60 + static_cast<std::uintptr_t>(Kind);
  static constexpr std::size_t segment_size = 256;
  static constexpr std::size_t max_segments = 4096;

  struct slot {
    T object;
    std::atomic<std::uintptr_t> handle{0};
    std::uintptr_t generation = 0;  // of the last unique handle
    std::uintptr_t index = 0;
  };

  void* store_handle(slot& s, std::uintptr_t generation) noexcept {
    const std::uintptr_t bits = (tag << tag_shift) | (generation << index_bits) | s.index;
    std::size_t end = end_of_used_.load(std::memory_order_relaxed);
    while (end <= s.index && !end_of_used_.compare_exchange_weak(end, s.index + 1)) {
    }
    s.handle.store(bits, std::memory_order_release);
    return reinterpret_cast<void*>(bits);
  }

  // The object is the first member of its slot.
  static slot& slot_of(T* object) noexcept { return *reinterpret_cast<slot*>(object); }

  void grow() {
    if (segment_count_ == max_segments) throw std::bad_alloc{};
    free_.reserve((segment_count_ + 1) * segment_size);
    auto* slots = new slot[segment_size];
    for (std::size_t i = segment_size; i-- > 0;) {
      slots[i].index = segment_count_ * segment_size + i;
      free_.push_back(&slots[i].object);
    }
    segments_[segment_count_++].store(slots, std::memory_order_release);
  }

  std::mutex mutex_;
  std::vector<T*> free_;
  std::size_t segment_count_ = 0;
  std::array<std::atomic<slot*>, max_segments> segments_{};
  // No slot from this index on was ever published.
  std::atomic<std::size_t> end_of_used_{0};
};

}  // namespace weir::embedded::model
