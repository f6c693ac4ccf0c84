// api/stream/stream_pool_state.hpp - the streams of a stream_pool, which its leases keep as well.
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
  empty,     // no stream has been made
  creating,  // somebody makes one
  idle,      // not lent
  leased,
};

class stream_pool_role;

// How many streams a role may have at most, and some of them by their places.
inline constexpr unsigned max_streams_per_role = 1024;
using slot_set = std::bitset<max_streams_per_role>;

// The place of one stream. Whoever changes the state from idle or empty to another one has the
// place to itself.
struct stream_pool_slot {
  stream_pool_role* role = nullptr;  // whose it is
  std::atomic<slot_state> state{slot_state::empty};
  std::atomic<std::uint64_t> returned_at{0};   // by the pool's clock
  std::atomic<abi::CUstream> handle{nullptr};  // once there is a stream; null before
  std::optional<stream> owner;
};

// The streams of one role.
class stream_pool_role {
 public:
  explicit stream_pool_role(const stream_role& role);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  // A stream for one holder, marked as lent; null if there is none. Throws what the driver says of
  // it, with everything as before.
  [[nodiscard]] stream_pool_slot* acquire(weir::device gpu, std::atomic<std::uint64_t>& clock,
                                          call_site at);
  void return_slot(stream_pool_slot& slot, std::atomic<std::uint64_t>& clock) noexcept;
  // The stream whose turn it is; null if all are left in captures.
  [[nodiscard]] abi::CUstream next(weir::device gpu, call_site at);
  // Makes a stream where there is none yet, and leaves it in the state `initial_state`; null if the
  // limit is reached.
  [[nodiscard]] stream_pool_slot* make(weir::device gpu, slot_state initial_state, call_site at);

  [[nodiscard]] stream_pool::counts count() const noexcept;
  // Destroys the streams that are not lent.
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
  // Its stream, made now if there is none; null if it captures, or somebody else makes it.
  [[nodiscard]] abi::CUstream stream_of(stream_pool_slot& slot, weir::device gpu,
                                        bool& is_being_created, call_site at);

  std::string name_;
  stream_options options_;
  stream_settings settings_;
  unsigned limit_;
  std::unique_ptr<stream_pool_slot[]> slots_;
  std::atomic<unsigned> next_index_{0};
  std::atomic<unsigned> reserved_{
      0};  // streams that are lent or promised to somebody who looks for one
};

// The pool and each lease hold it.
class stream_pool_state {
 public:
  stream_pool_state(weir::device gpu, std::span<const stream_role> roles, call_site at);

  [[nodiscard]] weir::device device() const noexcept { return device_; }
  [[nodiscard]] stream_pool_role& role(std::string_view name, const char* call, call_site at);

  [[nodiscard]] stream_pool_slot* acquire(stream_pool_role& from, call_site at) {
    return from.acquire(device_, clock_, at);
  }
  void return_slot(stream_pool_slot& slot) noexcept;
  // Nothing is lent from here on, and what comes back is destroyed.
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
