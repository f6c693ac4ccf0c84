// api/stream/pool_core.hpp - the streams of a stream_pool, which its leases keep as well.
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
  empty,   // no stream has been made
  making,  // somebody makes one
  idle,    // not lent
  lent,
};

class pool_role;

// How many streams a role may have at most, and some of them by their places.
inline constexpr unsigned highest_limit = 1024;
using slot_set = std::bitset<highest_limit>;

// The place of one stream. Whoever changes the state from idle or empty to another one has the place to itself.
struct pool_slot {
  pool_role* role = nullptr;  // whose it is
  std::atomic<slot_state> state{slot_state::empty};
  std::atomic<std::uint64_t> came_back{0};     // by the pool's clock
  std::atomic<abi::CUstream> handle{nullptr};  // once there is a stream; null before
  std::optional<stream> owner;
};

// The streams of one role.
class pool_role {
 public:
  explicit pool_role(const stream_role& role);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  // A stream for one holder, marked as lent; null if there is none. Throws what the driver says of it, with everything
  // as before.
  [[nodiscard]] pool_slot* lend(weir::device gpu, std::atomic<std::uint64_t>& clock, call_site at);
  void take_back(pool_slot& slot, std::atomic<std::uint64_t>& clock) noexcept;
  // The stream whose turn it is; null if all are left in captures.
  [[nodiscard]] abi::CUstream next(weir::device gpu, call_site at);
  // Makes a stream where there is none yet, and leaves it in the state `then`; null if the limit is reached.
  [[nodiscard]] pool_slot* make(weir::device gpu, slot_state then, call_site at);

  [[nodiscard]] stream_pool::counts count() const noexcept;
  // Destroys the streams that are not lent.
  void empty() noexcept;
  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] std::string why_exhausted() const;

 private:
  [[nodiscard]] std::span<pool_slot> slots() const noexcept { return {slots_.get(), limit_}; }
  [[nodiscard]] std::size_t place_of(const pool_slot& slot) const noexcept {
    return static_cast<std::size_t>(&slot - slots_.get());
  }
  [[nodiscard]] pool_slot* longest_idle(const slot_set& but) const noexcept;
  [[nodiscard]] bool has_one_left(const slot_set& captured) const noexcept;
  [[nodiscard]] bool reserve() noexcept;
  [[nodiscard]] pool_slot* pick(weir::device gpu, std::atomic<std::uint64_t>& clock, call_site at);
  // Its stream, made now if there is none; null if it captures, or somebody else makes it.
  [[nodiscard]] abi::CUstream stream_of(pool_slot& slot, weir::device gpu, bool& is_being_made, call_site at);

  std::string name_;
  stream_options options_;
  stream_settings settings_;
  unsigned limit_;
  std::unique_ptr<pool_slot[]> slots_;
  std::atomic<unsigned> turn_{0};
  std::atomic<unsigned> reserved_{0};  // streams that are lent or promised to somebody who looks for one
};

// The pool and each lease hold it.
class pool_core {
 public:
  pool_core(weir::device gpu, std::span<const stream_role> roles, call_site at);

  [[nodiscard]] weir::device device() const noexcept { return device_; }
  [[nodiscard]] pool_role& role(std::string_view name, const char* call, call_site at);

  [[nodiscard]] pool_slot* lend(pool_role& from, call_site at) { return from.lend(device_, clock_, at); }
  void take_back(pool_slot& slot) noexcept;
  // Nothing is lent from here on, and what comes back is destroyed.
  void close() noexcept;

  void hold() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  void let_go() noexcept;

 private:
  weir::device device_;
  std::vector<std::unique_ptr<pool_role>> roles_;
  std::atomic<std::uint64_t> clock_{0};
  std::atomic<std::uint32_t> holders_{1};
  std::atomic<bool> closed_{false};
};

}  // namespace weir::detail
