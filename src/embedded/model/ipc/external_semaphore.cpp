// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/external_semaphore.cpp - maps semaphores, and signals and waits in stream
// order.
#include "embedded/model/ipc/external_semaphore.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "embedded/engine/value_waiters.hpp"
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
    for (const auto& [page, value] : uses_) {
      page->set(page->kind == semaphore_page::timeline ? value : 1);
      engine::notify_written_ordered(&page->value, sizeof page->value);
    }
  }

  // Acquires as many semaphores as possible, one after the other. Returns true once all are
  // acquired. The next call continues after those that are already acquired.
  [[nodiscard]] bool acquire_all() noexcept {
    while (acquired_count_ < uses_.size() &&
           uses_[acquired_count_].page->try_acquire(uses_[acquired_count_].value))
      ++acquired_count_;
    return acquired_count_ == uses_.size();
  }

  // Returns the word of the next semaphore to acquire.
  [[nodiscard]] const void* next_word() const noexcept {
    return &uses_[std::min(acquired_count_, uses_.size() - 1)].page->value;
  }

 private:
  std::vector<semaphore_use> uses_;
  std::size_t acquired_count_ = 0;
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

bool external_semaphore::open(int fd, std::uint32_t kind) {
  os::shared_memory segment = os::shared_memory::adopt(fd);
  // Seals the size before the size is used, because reading a page that another process has removed
  // would end this process.
  const bool large_enough = segment.bytes() >= semaphore_page::bytes && segment.seal();
  os::shared_pages mapped;
  if (large_enough && segment.bytes() >= semaphore_page::bytes)
    mapped = segment.map(0, semaphore_page::bytes);
  segment.release();  // the descriptor belongs to the caller until open() succeeds
  if (!mapped) return false;
  auto* const page = reinterpret_cast<semaphore_page*>(mapped.get());
  if (page->magic != semaphore_page::magic_number || page->kind != kind) return false;
  std::shared_ptr<semaphore_page> opened{std::make_shared<os::shared_pages>(std::move(mapped)),
                                         page};
  ::close(fd);  // the mapping keeps the segment
  const std::lock_guard lock{lock_};
  page_ = std::move(opened);
  return true;
}

void external_semaphore::close() noexcept {
  std::shared_ptr<semaphore_page> closed;  // destroyed after the lock, because that may unmap it
  {
    const std::lock_guard lock{lock_};
    closed.swap(page_);
  }
  this_process().external_semaphores.recycle(this);
}

// Another thread may close the semaphore and reuse the object before this thread has the lock. The
// handle is therefore checked again.
std::shared_ptr<semaphore_page> external_semaphore::find(abi::CUexternalSemaphore handle) noexcept {
  const auto& table = this_process().external_semaphores;
  external_semaphore* const found = table.find(handle);
  if (found == nullptr) return nullptr;
  const std::lock_guard lock{found->lock_};
  return table.find(handle) == found ? found->page_ : nullptr;
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
    pending_submission.make_room(2);  // the last call that may throw
    pending_submission.add(make_operation(wait_work{references->next_word(), references.get()},
                                          operation_kind::wait_value));
    pending_submission.add(make_unconditional_operation(release_work{references.release()}));
  });
}

}  // namespace weir::embedded::model
