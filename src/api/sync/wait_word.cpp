// SPDX-License-Identifier: Apache-2.0
// api/sync/wait_word.cpp - the memory of wait words.
#include <weir/sync/wait_word.hpp>

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/check.hpp"
#include "api/core/never_destroyed.hpp"
#include "api/deferred/release_when_idle.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"
#include "api/memory/memory_record.hpp"
#include "os/forked_child.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace weir {
namespace detail {
namespace {

// A cache line of pinned memory for one wait word, with the tracking of the streams that use it.
// Slots are reused and never freed.
class wait_word_slot final : public memory_record {
 public:
  static constexpr std::size_t bytes = 64;

  // Sets the memory of the slot, and the device whose primary context owns its page. A reset of
  // that context destroys the page. The slot keeps the reference of a new record for ever.
  void initialize(void* address, device_record& device) noexcept {
    memory_ = address;
    device_ = &device;
    resets_ = device.resets.load(std::memory_order_acquire);
  }
  // Begins the tracking of a word in the slot.
  void begin_word() noexcept {
    add_reference();
    begin(memory_, bytes, nullptr);
  }
  // Ends the tracking. Returns the uses of the word.
  [[nodiscard]] ended_uses end_word() noexcept {
    end();
    ended_uses word_uses{*this};
    if (uses().empty()) word_uses.reset();
    return word_uses;
  }

  // Returns true if a reset of the context has destroyed the page. Asks the driver whether the
  // context was reset, because the allocation of a word makes no other driver call that would
  // report a reset.
  [[nodiscard]] bool is_invalid() const noexcept {
    const auto reset_since = [this] {
      return device_->resets.load(std::memory_order_acquire) != resets_;
    };
    if (reset_since()) return true;
    forget_if_reset(*device_);
    return reset_since();
  }

  wait_word_slot* next = nullptr;  // next free slot, while this slot is free

 private:
  void* memory_ = nullptr;
  device_record* device_ = nullptr;
  std::uint32_t resets_ = 0;
};

constexpr std::size_t slots_per_page = 256;

// The pages of wait words, and the list of free slots, which serve any device. Never destroyed,
// because words may be destroyed while statics are destroyed.
class wait_word_pages {
 public:
  static wait_word_pages& instance() noexcept {
    static never_destroyed<wait_word_pages> singleton;
    return *singleton;
  }

  wait_word_slot& allocate(device gpu, call_site at) {
    const std::lock_guard lock{lock_};
    // Free slots of a destroyed page are removed from the list and leaked, because words may still
    // use other slots of the page.
    while (free_ != nullptr && free_->is_invalid()) free_ = free_->next;
    if (free_ == nullptr) add_page(gpu, at);
    wait_word_slot& slot = *std::exchange(free_, free_->next);
    slot.begin_word();
    return slot;
  }

  void deallocate(wait_word_slot& slot) noexcept {
    const std::lock_guard lock{lock_};
    slot.next = std::exchange(free_, &slot);
  }

 private:
  // Allocates a page and adds its slots to the list of free slots. The caller holds lock_, so that
  // other threads do not allocate a page, too.
  void add_page(device gpu, call_site at) {
    std::unique_ptr<wait_word_slot[]> slots{new wait_word_slot[slots_per_page]};
    void* page = nullptr;
    device_record& record = record_of(gpu, "cuMemHostAlloc", at);
    const make_current current{primary_context(gpu, at), at};
    const relaxed_capture_mode guard{at};
    check(driver().cuMemHostAlloc(&page, slots_per_page * wait_word_slot::bytes,
                                  CU_MEMHOSTALLOC_PORTABLE),
          "cuMemHostAlloc", gpu, at);
    for (std::size_t i = slots_per_page; i-- > 0;) {
      slots[i].initialize(static_cast<std::byte*>(page) + i * wait_word_slot::bytes, record);
      slots[i].next = std::exchange(free_, &slots[i]);
    }
    static_cast<void>(slots.release());  // slots are never freed
  }

  std::mutex lock_;
  wait_word_slot* free_ = nullptr;
};

}  // namespace

tracked_memory& allocate_wait_word(device gpu, call_site at) {
  require_outside_host_function("weir::wait_word", gpu, at);
  return wait_word_pages::instance().allocate(gpu, at);
}

void free_wait_word(tracked_memory& slot) noexcept {
  if (os::in_forked_child()) return;  // the word belongs to the parent
  auto& own_slot = static_cast<wait_word_slot&>(slot);
  void* const address = own_slot.address();
  ended_uses uses = own_slot.end_word();
  if (uses == nullptr) {
    wait_word_pages::instance().deallocate(own_slot);
    return;
  }
  free_when_idle(
      [&own_slot, address](first_failure failure) {
        wait_word_pages::instance().deallocate(own_slot);
        report_if_failed(failure, subject::memory(address));
      },
      std::move(uses));
}

void throw_closed_wait_word(const char* call, call_site at) {
  throw_closed(call, subject::memory(nullptr), at);
}

void throw_index_out_of_range(std::size_t index, std::size_t size, call_site at) {
  throw_error(errc::invalid_value, "weir::wait_word_ref", fmt::format("word {}", index),
              fmt::format("the memory has {} words, counted from 0; use a smaller number", size),
              at);
}

}  // namespace detail

wait_word_features wait_word_support(device gpu, call_site at) {
  return {.bits_64 = gpu.attribute(device_attribute::value_waits_of_64_bits, at) != 0,
          .nor = gpu.attribute(device_attribute::value_wait_nor_supported, at) != 0,
          .flush = gpu.attribute(device_attribute::can_flush_remote_writes, at) != 0};
}

}  // namespace weir
