// SPDX-License-Identifier: Apache-2.0
// api/memory/memory_record.cpp - an allocation of weir: who uses it, and where it is found.
#include "api/memory/memory_record.hpp"

#include "api/capture/capture_checks.hpp"
#include "api/core/never_destroyed.hpp"
#include "api/device/make_current.hpp"
#include "api/stream/host_failures.hpp"
#include "os/forked_child.hpp"
#include "os/spin_lock.hpp"

#include <mutex>
#include <span>

namespace weir::detail {

// The records that no allocation uses.
class memory_record_pool {
 public:
  static memory_record_pool& instance() noexcept {
    static never_destroyed<memory_record_pool> singleton;
    return *singleton;
  }
  // Returns null if there is none.
  [[nodiscard]] memory_record* take() noexcept {
    if (os::in_forked_child()) return nullptr;
    const std::lock_guard lock{lock_};
    memory_record* const record = first_;
    if (record != nullptr) first_ = record->next_unused_;
    return record;
  }
  void put(memory_record& record) noexcept {
    if (os::in_forked_child()) return;
    const std::lock_guard lock{lock_};
    record.next_unused_ = std::exchange(first_, &record);
  }

 private:
  os::spin_lock lock_;
  memory_record* first_ = nullptr;
};

const tracked_memory& closed_memory() noexcept {
  static never_destroyed<memory_record> closed;
  return *closed;
}

memory_record& memory_record::create() {
  memory_record* const reused = memory_record_pool::instance().take();
  if (reused == nullptr) return *new memory_record;
  reused->references_.store(1, std::memory_order_relaxed);
  reused->bind(closed_handle<CUstream_st>(), nullptr);
  return *reused;
}

void memory_record::bind(CUstream stream, CUcontext context) noexcept {
  store(untracked_streams_[0], is_default(stream) ? closed_handle<CUstream_st>() : stream);
  store(untracked_default_stream_, is_default(stream) ? stream : closed_handle<CUstream_st>());
  store(per_thread_owner_, stream == CU_STREAM_PER_THREAD ? unique_thread_id() : 0);
  store(device_context_, context);
}

bool memory_record::is_of_this_thread() const noexcept {
  const unsigned long long thread = load(per_thread_owner_);
  return thread == 0 || thread == unique_thread_id();
}

void memory_record::begin(void* address, std::size_t bytes, CUcontext device_context) noexcept {
  // Makes notes of earlier uses of this record in open captures invalid (captured_uses.cpp).
  if (any_capture_active()) capture_change_count.fetch_add(1, std::memory_order_relaxed);
  store(address_, address);
  store(device_context_, device_context);
  uses_.restart();
  allocation_index::instance().insert(entries_, address, bytes, *this);
}

void memory_record::end() noexcept {
  if (closed()) return;
  allocation_index::instance().remove(entries_);
  uses_.end();
  store(address_, closed_handle<void>());
  for (CUstream& stream : untracked_streams_) store(stream, closed_handle<CUstream_st>());
}

bool memory_record::is_untracked_on_default(stream_ref s, call_site at) const {
  const CUstream own_stream = load(untracked_default_stream_);
  if (own_stream == closed_handle<CUstream_st>() || s != stream_ref{own_stream}) return false;
  if (s.get() == CU_STREAM_PER_THREAD && !is_of_this_thread()) return false;
  return current_context_handle(at) == device_context();
}

bool memory_record::add_use(stream_ref s, call_site at) const {
  if (closed() || is_untracked_on(s) || is_untracked_on_default(s, at)) return false;
  // untracked_streams_ has two elements. For device memory, the first one is reserved for the
  // stream that the memory belongs to. Other memory, such as pinned memory, belongs to no stream
  // and uses both elements for streams that the list holds.
  const std::span<CUstream_st*> untracked_streams = untracked_streams_;
  return !uses_.register_stream(
      s.get(), device_context() != nullptr ? untracked_streams.last(1) : untracked_streams, at);
}

bool memory_record::try_add_reference() const noexcept {
  unsigned now = references_.load(std::memory_order_relaxed);
  while (now != 0 && !references_.compare_exchange_weak(now, now + 1, std::memory_order_relaxed)) {
  }
  return now != 0;
}

void memory_record::release() const noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
    memory_record_pool::instance().put(const_cast<memory_record&>(*this));
}

}  // namespace weir::detail
