// api/sync/word.cpp - where words of weir's are.
#include <weir/sync/word.hpp>

#include "api/core/check.hpp"
#include "api/memory/free_when_unused.hpp"
#include "api/device/make_current.hpp"
#include "api/core/never_destroyed.hpp"
#include "api/device/primary_context.hpp"
#include "api/capture/relaxed_captures.hpp"
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

// A line of the cache in pinned memory, and which streams use it. Neither is ever given back.
class word_slot final : public tracked_memory {
 public:
  static constexpr std::size_t bytes = 64;

  void lie_at(void* address) noexcept {
    address_ = address;
    bytes_ = bytes;
  }
  [[nodiscard]] std::unique_ptr<use_list> take_uses() noexcept {
    homes_[0] = homes_[1] = closed_handle<CUstream_st>();
    return std::unique_ptr<use_list>{std::exchange(uses_, nullptr)};
  }

  // Where its page was made, which is gone if the device's context has been reset since.
  void made_on(device_record& its_device) noexcept {
    device_ = &its_device;
    resets_ = its_device.resets.load(std::memory_order_acquire);
  }
  // Nobody may have noticed yet: where there is a page, a word needs no call that would be answered with it.
  [[nodiscard]] bool is_gone() const noexcept {
    const auto reset_since = [this] { return device_->resets.load(std::memory_order_acquire) != resets_; };
    if (reset_since()) return true;
    forget_if_reset(*device_);
    return reset_since();
  }

  word_slot* next = nullptr;  // among the free ones

 private:
  device_record* device_ = nullptr;
  std::uint32_t resets_ = 0;
};

constexpr std::size_t slots_in_a_page = 256;

// Words end while statics are destroyed.
class word_pages {
 public:
  static word_pages& instance() noexcept {
    static never_destroyed<word_pages> the_one;
    return *the_one;
  }

  word_slot& take(device gpu, call_site at) {
    const std::lock_guard lock{lock_};
    // Of a page that is gone its slots stay behind: words that were made there may still look at them.
    while (free_ != nullptr && free_->is_gone()) free_ = free_->next;
    if (free_ == nullptr) add_page(gpu, at);
    return *std::exchange(free_, free_->next);
  }

  void give_back(word_slot& slot) noexcept {
    const std::lock_guard lock{lock_};
    slot.next = std::exchange(free_, &slot);
  }

 private:
  // With the lock held: a thread that finds no free word would have to make a page as well.
  void add_page(device gpu, call_site at) {
    std::unique_ptr<word_slot[]> slots{new word_slot[slots_in_a_page]};
    void* page = nullptr;
    device_record& record = record_of(gpu, "cuMemHostAlloc", at);
    const make_current current{primary_context(gpu, at), at};
    const relaxed_captures unharmed{at};
    check(driver().cuMemHostAlloc(&page, slots_in_a_page * word_slot::bytes, CU_MEMHOSTALLOC_PORTABLE),
          "cuMemHostAlloc", gpu, at);
    for (std::size_t i = slots_in_a_page; i-- > 0;) {
      slots[i].lie_at(static_cast<std::byte*>(page) + i * word_slot::bytes);
      slots[i].made_on(record);
      slots[i].next = std::exchange(free_, &slots[i]);
    }
    static_cast<void>(slots.release());
  }

  std::mutex lock_;
  word_slot* free_ = nullptr;
};

}  // namespace

tracked_memory& take_word(device gpu, call_site at) {
  permit("weir::word", gpu, at);
  return word_pages::instance().take(gpu, at);
}

void give_back_word(tracked_memory& slot) noexcept {
  if (in_forked_child()) return;  // a word of the parent's
  auto& mine = static_cast<word_slot&>(slot);
  std::unique_ptr<use_list> uses = mine.take_uses();
  if (uses == nullptr) {
    word_pages::instance().give_back(mine);
    return;
  }
  free_when_unused(std::move(uses), [&mine](first_failure failure) {
    word_pages::instance().give_back(mine);
    check_unraised(failure, subject::memory(mine.address()));
  });
}

void fail_closed_word(const char* call, call_site at) { fail_closed(call, subject::memory(nullptr), at); }

void fail_outside(std::size_t index, std::size_t size, call_site at) {
  fail(errc::invalid_value, "weir::word_ref", fmt::format("word {}", index),
       fmt::format("the memory has {} words, counted from 0", size), at);
}

}  // namespace detail

word_support words_of(device gpu, call_site at) {
  return {.bits_64 = gpu.attribute(device_attribute::value_waits_of_64_bits, at) != 0,
          .nor = gpu.attribute(device_attribute::value_wait_nor_supported, at) != 0,
          .flush = gpu.attribute(device_attribute::can_flush_remote_writes, at) != 0};
}

}  // namespace weir
