// model/memory_pool_trim.cpp - when memory of a pool that nobody uses goes back.
#include <cstddef>
#include <mutex>

#include "embedded/model/core/device.hpp"
#include "embedded/model/memory/poison.hpp"
#include "embedded/model/memory/pool/memory_pool.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::model {

void memory_pool::trim(std::size_t keep) noexcept {
  release_idle(trim_bound::at_least, keep, false, nullptr);
}

bool memory_pool::trim_to_threshold() noexcept {
  std::size_t threshold;
  bool ended;
  bool still_used = false;
  {
    const std::lock_guard lock{lock_};
    if (asan_build) still_used = poison_free();
    if (destroyed_ && reserved_ == 0) return space_.has_uncommitted_in_use();
    if (reserved_ <= threshold_ || !space_.has_idle()) return still_used;
    threshold = threshold_;
    ended = destroyed_;
  }
  release_idle(trim_bound::at_most, threshold, ended, nullptr);
  const std::lock_guard lock{lock_};
  return still_used || (reserved_ > threshold_ && space_.has_idle());
}

// Tells the address sanitizer of what work has used until now. True where some is still in use.
bool memory_pool::poison_free() const noexcept {
  bool still_used = false;
  space_.for_each_free([&](const pool_block& block) {
    if (block.free_at.reached())
      poison(reinterpret_cast<void*>(space_.address_of(block)), block.extent * block_stride);
    else
      still_used = true;
  });
  return still_used;
}

void memory_pool::release_all_idle(stream* by) noexcept {
  release_idle(trim_bound::at_least, 0, true, by);
}

// Gives chunks back that nobody uses any more, or only the stream.
void memory_pool::release_idle(trim_bound what, std::size_t bytes, bool complete_will_do,
                               const stream* by) noexcept {
  const std::lock_guard lock{lock_};
  const auto is_above = [&] {
    if (what == trim_bound::at_most) return reserved_ > bytes;
    return reserved_ >= chunk_bytes_ && reserved_ - chunk_bytes_ >= bytes;
  };
  while (is_above()) {
    const pool_space::idle_memory idle =
        space_.decommit_idle(complete_will_do, by != nullptr ? &by->line() : nullptr);
    if (idle.at == nullptr) return;
    reserved_ -= idle.bytes;
    // A stream that still uses it will be through with it when it comes to what it allocates next:
    // it counts as free from here on, and its addresses will go to nobody else before.
    if (charged_device() != nullptr) owner().release_memory(idle.bytes);
    if (idle.until.line == nullptr) {
      poison(idle.at, idle.bytes * block_stride);
      range_.decommit(idle.at, idle.bytes * block_stride, sharing.store());
    }
  }
}

}  // namespace weir::embedded::model
