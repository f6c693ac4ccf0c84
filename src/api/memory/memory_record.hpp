// SPDX-License-Identifier: Apache-2.0
// api/memory/memory_record.hpp - an allocation of weir: who uses it, and where it is found.
#pragma once

#include "api/memory/allocation_index.hpp"
#include "api/memory/pending_uses.hpp"
#include "driver/abi.hpp"
#include "os/forked_child.hpp"

#include <weir/core/call_site.hpp>
#include <weir/detail/tracked_memory.hpp>

#include <atomic>
#include <compare>
#include <cstddef>
#include <optional>
#include <utility>

namespace weir::detail {

// Every tracked_memory is a memory_record. Records are reused and never freed: a lookup by address,
// which takes no lock, may read a record just as its allocation ends.
//
// The buffer has one reference to the record, and graphs that use the memory have others. The
// record is reused when there is no reference any more.
class memory_record : public tracked_memory {
 public:
  memory_record() = default;

  // Returns a closed record with one reference, which belongs to no stream. Throws std::bad_alloc.
  [[nodiscard]] static memory_record& create();
  [[nodiscard]] static const memory_record& of(const tracked_memory& memory) noexcept {
    return static_cast<const memory_record&>(memory);
  }
  [[nodiscard]] static memory_record& of(tracked_memory& memory) noexcept {
    return static_cast<memory_record&>(memory);
  }

  // Sets the stream to which the memory belongs, and its context.
  void bind(abi::CUstream stream, abi::CUcontext context) noexcept;
  // Returns false if the memory belongs to the per-thread default stream of another thread.
  [[nodiscard]] bool is_of_this_thread() const noexcept;
  // Begins the tracking. The allocation can then be found by its address.
  void begin(void* address, std::size_t bytes, abi::CUcontext device_context) noexcept;
  // Ends the tracking. The record is closed, and later uses are ignored. A second call does
  // nothing.
  void end() noexcept;

  // Like register_use(), for an open stream. Does nothing if the record is closed.
  [[nodiscard]] bool add_use(stream_ref s, call_site at) const;
  [[nodiscard]] pending_uses& uses() const noexcept { return uses_; }

  void add_reference() const noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  // Returns false, and adds no reference, if the record has none: its allocation has ended.
  [[nodiscard]] bool try_add_reference() const noexcept;
  void release() const noexcept;

 private:
  friend class memory_record_pool;
  // Returns true if the stream is the default stream to which the memory belongs, in the current
  // context and thread.
  [[nodiscard]] bool is_untracked_on_default(stream_ref s, call_site at) const;

  // The default stream to which the memory belongs; a closed handle if there is none.
  abi::CUstream untracked_default_stream_ = closed_handle<CUstream_st>();
  // The id of the thread whose per-thread default stream the memory belongs to; 0 if there is none.
  unsigned long long per_thread_owner_ = 0;
  mutable pending_uses uses_;  // uses on other streams
  allocation_entries entries_;
  mutable std::atomic<unsigned> references_{1};
  memory_record* next_unused_ = nullptr;
};

// Returns the live allocation of weir that contains the address; null if there is none. Takes 10 to
// 30 ns.
[[nodiscard]] inline const tracked_memory* find_allocation(const void* address) noexcept {
  return allocation_index::instance().find(address);
}

// A shared reference to the record of memory that a graph uses. The record is not reused while
// there is a reference, so that closed() says that the memory has ended.
class memory_reference {
 public:
  // Returns nullopt if the allocation has ended.
  [[nodiscard]] static std::optional<memory_reference> to(const tracked_memory& memory) noexcept {
    const memory_record& record = memory_record::of(memory);
    if (record.closed() || !record.try_add_reference()) return std::nullopt;
    return memory_reference{record};
  }
  memory_reference(const memory_reference& other) noexcept : record_{other.record_} {
    if (record_ != nullptr) record_->add_reference();
  }
  memory_reference(memory_reference&& other) noexcept
      : record_{std::exchange(other.record_, nullptr)} {}
  memory_reference& operator=(memory_reference other) noexcept {
    std::swap(record_, other.record_);
    return *this;
  }
  ~memory_reference() {
    if (record_ != nullptr) record_->release();
  }
  [[nodiscard]] const memory_record* operator->() const noexcept { return record_; }
  [[nodiscard]] const memory_record& operator*() const noexcept { return *record_; }
  friend auto operator<=>(const memory_reference&, const memory_reference&) noexcept = default;

 private:
  explicit memory_reference(const memory_record& record) noexcept : record_{&record} {}

  const memory_record* record_;
};

// The uses of memory whose tracking has ended. Holds a reference to the record. Behaves like a
// pointer to a pending_uses, and is null if there are no uses.
class ended_uses {
 public:
  ended_uses() noexcept = default;
  // Takes over the reference of the memory's owner.
  explicit ended_uses(const memory_record& record) noexcept : record_{&record} {}
  ended_uses(ended_uses&& other) noexcept : record_{std::exchange(other.record_, nullptr)} {}
  ended_uses& operator=(ended_uses&& other) noexcept = delete;
  ~ended_uses() { reset(); }

  [[nodiscard]] bool operator==(std::nullptr_t) const noexcept { return record_ == nullptr; }
  [[nodiscard]] pending_uses& operator*() const noexcept { return record_->uses(); }
  [[nodiscard]] pending_uses* operator->() const noexcept { return &record_->uses(); }
  void reset() noexcept {
    if (record_ == nullptr || os::in_forked_child()) return;
    record_->uses().clear();
    std::exchange(record_, nullptr)->release();
  }

 private:
  const memory_record* record_ = nullptr;
};

}  // namespace weir::detail
