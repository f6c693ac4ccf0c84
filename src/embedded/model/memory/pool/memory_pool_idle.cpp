// model/memory_pool_idle.cpp - when memory of a pool that nobody uses goes back.
#include <cstddef>
#include <mutex>

#include "embedded/model/core/device.hpp"
#include "embedded/model/memory/pool/memory_pool.hpp"
#include "embedded/model/memory/poison.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::model {

void memory_pool::trim(std::size_t keep) noexcept { release_idle(leaves::at_least, keep, false, nullptr); }

bool memory_pool::settle() noexcept {
  std::size_t threshold;
  bool ended;
  bool still_used = false;
  {
    const std::lock_guard lock{lock_};
    if (exact_blocks) still_used = forbid_free();
    if (destroyed_ && reserved_ == 0) return space_.is_left_to_work();
    if (reserved_ <= threshold_ || !space_.has_idle()) return still_used;
    threshold = threshold_;
    ended = destroyed_;
  }
  release_idle(leaves::at_most, threshold, ended, nullptr);
  const std::lock_guard lock{lock_};
  return still_used || (reserved_ > threshold_ && space_.has_idle());
}

// Tells the address sanitizer of what work has used until now. True where some is still in use.
bool memory_pool::forbid_free() const noexcept {
  bool still_used = false;
  space_.for_each_free([&](const pool_block& block) {
    if (block.free_at.reached())
      forbid(reinterpret_cast<void*>(space_.address_of(block)), block.extent * pool_spread);
    else
      still_used = true;
  });
  return still_used;
}

void memory_pool::give_up_idle(stream* by) noexcept { release_idle(leaves::at_least, 0, true, by); }

// Gives chunks back that nobody uses any more, or only the stream.
void memory_pool::release_idle(leaves what, std::size_t bytes, bool complete_will_do, const stream* by) noexcept {
  const std::lock_guard lock{lock_};
  const auto is_above = [&] {
    if (what == leaves::at_most) return reserved_ > bytes;
    return reserved_ >= chunk_bytes_ && reserved_ - chunk_bytes_ >= bytes;
  };
  while (is_above()) {
    const pool_space::idle_memory idle = space_.remove_idle(complete_will_do, by != nullptr ? &by->line() : nullptr);
    if (idle.at == nullptr) return;
    reserved_ -= idle.bytes;
    // A stream that still uses it will be through with it when it comes to what it allocates next: it counts as free from here on,
    // and its addresses will go to nobody else before.
    if (accounted_to() != nullptr) owner().give_back(idle.bytes);
    if (idle.until.line == nullptr) {
      forbid(idle.at, idle.bytes * pool_spread);
      range_.disuse(idle.at, idle.bytes * pool_spread, sharing.store());
    }
  }
}

}  // namespace weir::embedded::model
