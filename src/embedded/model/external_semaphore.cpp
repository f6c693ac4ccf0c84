// model/external_semaphore.cpp - mapping semaphores, and the operations that signal and await them.
#include "embedded/model/external_semaphore.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "embedded/engine/waiting.hpp"
#include "embedded/engine/written.hpp"
#include "embedded/model/process.hpp"
#include "embedded/model/shared_memory.hpp"
#include "embedded/model/stream.hpp"

namespace weir::embedded::model {

using engine::make_operation;
using engine::operation_kind;
using weir::detail::semaphore_page;

namespace {

// Runs also once the device has failed, to let the page go; but then it signals nothing.
struct signal_work {
  external_semaphore* semaphore;
  std::uint64_t value;

  void run() const noexcept {
    if (engine::device_failure() == abi::CUDA_SUCCESS) {
      semaphore_page& page = semaphore->page();
      page.set(value);
      engine::written_for_waiters(&page.value, sizeof page.value);
    }
    semaphore->drop();
  }
};

// Looked at until it is there, and once more by the stream itself, which must not take a binary semaphore twice.
struct wait_work {
  const void* word;  // where the engine finds what is waited for
  semaphore_page* page;
  std::uint64_t value;
  bool taken;

  bool run() noexcept { return taken || (taken = page->take(value)); }
};

struct drop_work {
  external_semaphore* semaphore;

  void run() const noexcept { semaphore->drop(); }
};

}  // namespace

bool external_semaphore::open(int fd, std::uint32_t kind) noexcept {
  shared_memory segment = shared_memory::adopt(fd);
  void* const mapped = segment.bytes() >= semaphore_page::bytes ? segment.map(0, semaphore_page::bytes) : nullptr;
  segment.release();
  if (mapped == nullptr) return false;
  auto* const page = static_cast<semaphore_page*>(mapped);
  if (page->mark != semaphore_page::known_mark || page->kind != kind) {
    munmap(mapped, semaphore_page::bytes);
    return false;
  }
  ::close(fd);  // the mapping keeps the segment
  page_ = page;
  holders_.store(1, std::memory_order_relaxed);
  return true;
}

void external_semaphore::close() noexcept { drop(); }

void external_semaphore::drop() noexcept {
  if (holders_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  munmap(page_, semaphore_page::bytes);
  this_process().external_semaphores.recycle(this);
}

void submit_signals(stream& in, std::span<const semaphore_use> uses) {
  in.submit_many([&](engine::timeline::submission& to) {
    for (const auto& [semaphore, value] : uses) {
      const bool counts = semaphore->page().kind == semaphore_page::timeline;
      to.add(make_operation(signal_work{semaphore, counts ? value : 1}, operation_kind::work, true));
      semaphore->hold();
    }
  });
}

void submit_waits(stream& in, std::span<const semaphore_use> uses) {
  in.submit_many([&](engine::timeline::submission& to) {
    for (const auto& [semaphore, value] : uses) {
      semaphore_page& page = semaphore->page();
      to.add(make_operation(wait_work{&page.value, &page, value, false}, operation_kind::wait_value));
      to.add(make_operation(drop_work{semaphore}, operation_kind::work, true));
      semaphore->hold();
    }
  });
}

}  // namespace weir::embedded::model
