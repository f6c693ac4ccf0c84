// SPDX-License-Identifier: Apache-2.0
// api/stream/stream_pool_state.hpp - the streams of a stream_pool, shared by the pool and its
// leases.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/stream/stream_pool.hpp>

#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::detail {

enum class slot_state : std::uint8_t {
  empty,     // has no stream
  creating,  // a thread is creating the stream
  idle,      // not leased
  leased,
};

class stream_pool_role;

// The maximum number of streams of a role, and a set of slots by index.
inline constexpr unsigned max_streams_per_role = 1024;
using slot_set = std::bitset<max_streams_per_role>;

// The slot of one stream. The thread that changes the state from idle or empty owns the slot
// exclusively.
struct stream_pool_slot {
  stream_pool_role* role = nullptr;  // the role that the slot belongs to
  std::atomic<slot_state> state{slot_state::empty};
  std::atomic<std::uint64_t> returned_at{0};   // by the pool's clock
  std::atomic<abi::CUstream> handle{nullptr};  // null until the stream exists
  std::optional<stream> owner;
};

// The streams of one role.
class stream_pool_role {
 public:
  explicit stream_pool_role(const stream_role& role);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  // Leases a stream to one holder; returns null if there is none. Throws failures of the driver,
  // with the pool unchanged.
  [[nodiscard]] stream_pool_slot* acquire(weir::device gpu, std::atomic<std::uint64_t>& clock,
                                          call_site at);
  void return_slot(stream_pool_slot& slot, std::atomic<std::uint64_t>& clock) noexcept;
  // Returns the next stream in round-robin order; null if all streams were left in captures.
  [[nodiscard]] abi::CUstream next(weir::device gpu, call_site at);
  // Creates a stream in an empty slot and sets its state to `initial_state`. Returns null if the
  // limit is reached.
  [[nodiscard]] stream_pool_slot* make(weir::device gpu, slot_state initial_state, call_site at);

  [[nodiscard]] stream_pool::counts count() const noexcept;
  // Destroys the streams that are not leased.
  void empty() noexcept;
  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] std::string exhausted_reason() const;

 private:
  [[nodiscard]] std::span<stream_pool_slot> slots() const noexcept {
    return {slots_.get(), limit_};
  }
  [[nodiscard]] std::size_t index_of(const stream_pool_slot& slot) const noexcept {
    return static_cast<std::size_t>(&slot - slots_.get());
  }
  [[nodiscard]] stream_pool_slot* least_recently_returned(const slot_set& excluded) const noexcept;
  [[nodiscard]] bool may_have_free_slot(const slot_set& captured) const noexcept;
  [[nodiscard]] bool reserve() noexcept;
  [[nodiscard]] stream_pool_slot* pick(weir::device gpu, std::atomic<std::uint64_t>& clock,
                                       call_site at);
  // Returns the slot's stream and creates it if there is none. Returns null if the stream captures
  // or another thread is creating it.
  [[nodiscard]] abi::CUstream stream_of(stream_pool_slot& slot, weir::device gpu,
                                        bool& is_being_created, call_site at);

  std::string name_;
  stream_options options_;
  stream_settings settings_;
  unsigned limit_;
  std::unique_ptr<stream_pool_slot[]> slots_;
  std::atomic<unsigned> next_index_{0};
  // Streams that are leased or promised to a thread that searches for one.
  std::atomic<unsigned> reserved_{0};
};

// Shared by the pool and each lease, with a reference count.
class stream_pool_state {
 public:
  stream_pool_state(weir::device gpu, std::span<const stream_role> roles, call_site at);

  [[nodiscard]] weir::device device() const noexcept { return device_; }
  [[nodiscard]] stream_pool_role& role(std::string_view name, const char* call, call_site at);

  [[nodiscard]] stream_pool_slot* acquire(stream_pool_role& role_state, call_site at) {
    return role_state.acquire(device_, clock_, at);
  }
  void return_slot(stream_pool_slot& slot) noexcept;
  // Ends leasing. Streams that are returned later are destroyed.
  void close() noexcept;

  void add_ref() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;

 private:
  weir::device device_;
  std::vector<std::unique_ptr<stream_pool_role>> roles_;
  std::atomic<std::uint64_t> clock_{0};
  std::atomic<std::uint32_t> holders_{1};
  std::atomic<bool> closed_{false};
};

}  // namespace weir::detail
