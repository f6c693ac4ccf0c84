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
  creating,  // a thread is creating the stream, or destroying it in destroy_idle()
  idle,      // has a stream that is not leased
  leased,
};

class stream_pool_role;

// The maximum number of streams of a role. A role is a named group of streams with common options.
inline constexpr unsigned max_streams_per_role = 1024;
// A set of slots of a role, by index.
using slot_set = std::bitset<max_streams_per_role>;

// The place for one stream of a role. The thread that changes the state from idle or empty to
// another one has exclusive access to `owner`, and alone writes the other members.
struct stream_pool_slot {
  stream_pool_role* role = nullptr;  // set by the role's constructor
  std::atomic<slot_state> state{slot_state::empty};
  std::atomic<std::uint64_t> returned_at{0};   // value of the role's clock at the last return
  std::atomic<abi::CUstream> handle{nullptr};  // null until the stream exists
  std::optional<stream> owner;
};

// The streams of one role.
class stream_pool_role {
 public:
  stream_pool_role(weir::device gpu, const stream_role& role);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  // Leases a stream to the caller. Returns null if all streams are leased or capturing. Throws
  // failures of the driver; the pool is then unchanged.
  [[nodiscard]] stream_pool_slot* acquire(call_site at);
  // Ends the lease of a slot from acquire().
  void return_slot(stream_pool_slot& slot) noexcept;
  // Returns the next stream in round-robin order, without a lease. Returns null if all streams are
  // capturing.
  [[nodiscard]] abi::CUstream next(call_site at);
  // Creates a stream in an empty slot and sets the state of the slot to `initial_state`. Returns
  // null if no slot is empty.
  [[nodiscard]] stream_pool_slot* make(slot_state initial_state, call_site at);

  [[nodiscard]] stream_pool::counts count() const noexcept;
  // Destroys the streams that are not leased.
  void destroy_idle() noexcept;
  // Throws the error for acquire() or next() having returned null.
  [[noreturn]] void throw_exhausted(const char* call, call_site at) const;
  // Throws the error of next(), which returns leased streams as well.
  [[noreturn]] void throw_all_capturing(const char* call, call_site at) const;

 private:
  [[nodiscard]] std::span<stream_pool_slot> slots() const noexcept {
    return {slots_.get(), limit_};
  }
  [[nodiscard]] std::size_t index_of(const stream_pool_slot& slot) const noexcept {
    return static_cast<std::size_t>(&slot - slots_.get());
  }
  [[nodiscard]] stream_pool_slot* least_recently_returned(const slot_set& excluded) const noexcept;
  // Returns true if a slot may be free that a search of acquire() has missed, so that it must
  // search again. `captured` are the slots whose streams the search has found capturing.
  [[nodiscard]] bool may_have_free_slot(const slot_set& captured) const noexcept;
  // Reserves one stream for the caller. Returns false if all streams are reserved.
  [[nodiscard]] bool reserve() noexcept;
  // Implements acquire() for a caller that has a reservation.
  [[nodiscard]] stream_pool_slot* pick(call_site at);
  // Makes a slot idle, as the one that was returned last.
  void make_idle(stream_pool_slot& slot) noexcept;
  // Returns the slot's stream. If the slot has none, returns a stream created in any empty slot.
  // Returns null if the stream is capturing. If no slot is empty, returns null and sets
  // `is_being_created`, because another thread is creating the stream of this slot.
  [[nodiscard]] abi::CUstream stream_of(stream_pool_slot& slot, bool& is_being_created,
                                        call_site at);

  weir::device device_;
  std::string name_;
  stream_options options_;
  stream_settings settings_;
  unsigned limit_;
  std::unique_ptr<stream_pool_slot[]> slots_;
  std::atomic<std::uint64_t> clock_{0};  // number of make_idle() calls so far, to find the oldest
  std::atomic<unsigned> next_index_{0};
  // Number of reserved streams: those that are leased, plus one for each thread inside acquire().
  std::atomic<unsigned> reserved_{0};
};

// The streams of all roles of a pool. The pool and each lease hold a reference.
class stream_pool_state {
 public:
  stream_pool_state(weir::device gpu, std::span<const stream_role> roles, call_site at);

  [[nodiscard]] weir::device device() const noexcept { return device_; }
  // Returns the role with this name, or the first role if the name is empty. Throws if there is
  // none.
  [[nodiscard]] stream_pool_role& role(std::string_view name, const char* call, call_site at);

  void return_slot(stream_pool_slot& slot) noexcept;
  // Called when the pool is destroyed. Destroys the streams that are not leased. A leased stream is
  // destroyed when its lease ends.
  void close() noexcept;

 private:
  weir::device device_;
  std::vector<std::unique_ptr<stream_pool_role>> roles_;
  std::atomic<bool> closed_{false};  // set by close()
};

}  // namespace weir::detail
