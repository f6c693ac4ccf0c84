// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/external_semaphore.cpp - maps semaphores, and signals and waits in stream
// order.
#include "embedded/model/ipc/external_semaphore.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "embedded/engine/notify_written.hpp"
#include "embedded/engine/waiting.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/stream/stream.hpp"
#include "os/shared_memory.hpp"

namespace weir::embedded::model {

using engine::make_operation;
using engine::make_unconditional_operation;
using engine::operation_kind;
using weir::os::semaphore_page;

namespace {

// The semaphores of one signal or wait call. Keeps their pages mapped during its lifetime.
class semaphore_references {
 public:
  explicit semaphore_references(std::vector<semaphore_use> uses) noexcept
      : uses_{std::move(uses)} {}

  void signal() const noexcept {
    for (const auto& [semaphore, value] : uses_) {
      semaphore_page& page = semaphore.page();
      page.set(page.kind == semaphore_page::timeline ? value : 1);
      engine::notify_written_ordered(&page.value, sizeof page.value);
    }
  }

  // Acquires as many semaphores as possible, one after the other. Returns true once all are
  // acquired. The next call continues after those that are already acquired.
  [[nodiscard]] bool acquire_all() noexcept {
    while (acquired_count_ < uses_.size() &&
           uses_[acquired_count_].semaphore.page().try_acquire(uses_[acquired_count_].value))
      ++acquired_count_;
    return acquired_count_ == uses_.size();
  }

  // Returns the word of the next semaphore to acquire.
  [[nodiscard]] const void* next_word() const noexcept {
    return &uses_[std::min(acquired_count_, uses_.size() - 1)].semaphore.page().value;
  }

  // Called if memory for the rest of the call ran out. The wait that was already submitted is then
  // satisfied at once, and deletes this object.
  void cancel() noexcept { cancelled_ = true; }
  [[nodiscard]] bool cancelled() const noexcept { return cancelled_; }

 private:
  std::vector<semaphore_use> uses_;
  std::size_t acquired_count_ = 0;
  bool cancelled_ = false;
};

// An operation that signals the semaphores. It also runs after a device failure, to release the
// references, but then signals nothing.
struct signal_work {
  semaphore_references* references;

  void run() const noexcept {
    if (engine::device_failure() == abi::CUDA_SUCCESS) references->signal();
    delete references;
  }
};

struct wait_work {
  const void* word;  // the engine reads this first member to find the awaited word
  semaphore_references* references;

  bool run() noexcept {
    if (references->cancelled()) {
      delete references;
      return true;
    }
    if (references->acquire_all()) return true;
    word = references->next_word();
    return false;
  }
};

struct release_work {
  semaphore_references* references;

  void run() const noexcept { delete references; }
};

}  // namespace

bool external_semaphore::open(int fd, std::uint32_t kind) noexcept {
  os::shared_memory segment = os::shared_memory::adopt(fd);
  // Seals the size before the size is used, because reading a page that another process has removed
  // would end this process.
  const bool large_enough = segment.bytes() >= semaphore_page::bytes && segment.seal();
  void* const mapped = large_enough && segment.bytes() >= semaphore_page::bytes
                           ? segment.map(0, semaphore_page::bytes)
                           : nullptr;
  segment.release();
  if (mapped == nullptr) return false;
  auto* const page = static_cast<semaphore_page*>(mapped);
  if (page->magic != semaphore_page::magic_number || page->kind != kind) {
    munmap(mapped, semaphore_page::bytes);
    return false;
  }
  ::close(fd);  // the mapping keeps the segment
  page_ = page;
  references_.store(1, std::memory_order_relaxed);
  return true;
}

void external_semaphore::close() noexcept { release_reference(); }

bool external_semaphore::add_reference() noexcept {
  std::uint32_t count = references_.load(std::memory_order_relaxed);
  while (count != 0 &&
         !references_.compare_exchange_weak(count, count + 1, std::memory_order_acquire)) {
  }
  return count != 0;
}

void external_semaphore::release_reference() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  munmap(page_, semaphore_page::bytes);
  this_process().external_semaphores.recycle(this);
}

// Another thread may close the semaphore and reuse the object before add_reference(). The handle is
// therefore checked again afterwards.
semaphore_reference::semaphore_reference(abi::CUexternalSemaphore handle) noexcept {
  const auto& table = this_process().external_semaphores;
  external_semaphore* const found = table.find(handle);
  if (found == nullptr || !found->add_reference()) return;
  if (table.find(handle) == found) {
    semaphore_ = found;
  } else {
    found->release_reference();
  }
}

void submit_signals(stream& target_stream, std::vector<semaphore_use> uses) {
  auto references = std::make_unique<semaphore_references>(std::move(uses));
  target_stream.submit(make_unconditional_operation(signal_work{references.get()}));
  references.release();
}

// The references are released in a separate operation, which also runs after a device failure.
void submit_waits(stream& target_stream, std::vector<semaphore_use> uses) {
  auto references = std::make_unique<semaphore_references>(std::move(uses));
  target_stream.submit_many([&](engine::timeline::submission& pending_submission) {
    pending_submission.add(make_operation(wait_work{references->next_word(), references.get()},
                                          operation_kind::wait_value));
    semaphore_references* const waited_for = references.release();
    try {
      pending_submission.add(make_unconditional_operation(release_work{waited_for}));
    } catch (...) {
      waited_for->cancel();  // operations that were added cannot be removed
      throw;
    }
  });
}

}  // namespace weir::embedded::model
