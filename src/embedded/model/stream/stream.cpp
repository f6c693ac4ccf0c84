// SPDX-License-Identifier: Apache-2.0
// model/stream/stream.cpp - submission, ordering with the default stream, and waiting.
#include "embedded/model/stream/stream.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <variant>
#include <vector>

#include "embedded/engine/pending_value_writes.hpp"
#include "embedded/engine/waiting.hpp"
#include "embedded/model/capture/capture.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"

namespace weir::embedded::model {

using namespace abi;
using engine::kind_of;
using engine::make_operation;
using engine::make_unconditional_operation;
using engine::operation;
using engine::operation_kind;
using engine::point;
using engine::timeline;

namespace {

std::atomic<unsigned long long> next_stream_id{1};

// The last operation of a closed stream: returns the object for reuse. All other work of the stream
// is complete, and no handle refers to the stream.
struct reclaim {
  stream* closed;

  void run() const noexcept {
    closed->timeline().mark_known_to_host(closed->timeline().completed());
    closed->owner().remove(*closed);
    this_process().streams.recycle(closed);
  }
};

struct empty_operation {
  void run() const noexcept {}
};

// An operation that runs a copy whose parameters are too large to store in an operation.
struct boxed_copy {
  pitched_copy_work* work;

  [[nodiscard]] bool run() const noexcept {
    const std::unique_ptr<pitched_copy_work> box{work};
    if (engine::device_failure() == CUDA_SUCCESS) return box->run();
    std::free(box->staging);
    return true;
  }
};

}  // namespace

void stream::open(context& owner_context, stream_role role, unsigned flags, int priority) {
  timeline_ = &timeline::acquire();
  ended_ = false;
  context_.store(&owner_context, std::memory_order_relaxed);
  role_ = role;
  flags_ = flags;
  is_thread_default_ = false;
  set_priority(priority);
  attributes = {};
  id_ = next_stream_id.fetch_add(1, std::memory_order_relaxed);
  legacy_count_waited_ = 0;
  count_legacy_waited_ = 0;
  end_of_work_.store(no_end, std::memory_order_relaxed);
  capture_.store(nullptr, std::memory_order_relaxed);
  try {
    owner_context.add(*this);
  } catch (...) {
    timeline_->release_when_drained();
    throw;
  }
}

void stream::close() noexcept {
  // If the stream is idle, lets every stream reuse the memory that was freed in this stream.
  if (timeline_->drained()) timeline_->mark_known_to_host(timeline_->submitted());
  end_of_work_.store(timeline_->submitted(), std::memory_order_release);
  // `this` may be reused as soon as `reclaim` runs.
  engine::timeline& closed = *timeline_;
  if (closed.drained()) {
    reclaim{this}.run();
  } else {
    try {
      timeline::submission{closed}.add(make_unconditional_operation(reclaim{this}));
    } catch (const std::bad_alloc&) {
      return;  // there is no memory for the operation, so the stream leaks
    }
  }
  closed.release_when_drained();
}

// Only the thread that retires the handle may close the stream. If the stream's context has already
// ended it, the handle stays valid and the call returns the error of the context.
CUresult stream::destroy(stream& found, const void* handle) noexcept {
  auto& streams = this_process().streams;
  if (!streams.retire(&found, handle)) return CUDA_ERROR_INVALID_HANDLE;
  if (found.ended_) {
    streams.restore(&found, handle);
    return found.owner().status();
  }
  leave_capture(found);
  found.close();
  return CUDA_SUCCESS;
}

void stream::end(context& owner_context) noexcept {
  ended_ = true;
  owner().remove(*this);
  timeline_->release_when_drained();
  context_.store(&owner_context, std::memory_order_relaxed);
}

template <class Visitor>
void stream::for_each_blocking_stream(Visitor&& visit) {
  owner().for_each_stream([&](stream& candidate) {
    if (candidate.role_ == stream_role::blocking) visit(candidate);
  });
}

// The legacy stream and the blocking streams of a context wait for each other. A submission reads
// the count of submitted operations of the other streams before it publishes its own operations.
// Two concurrent submissions therefore cannot wait for each other.
void stream::order_with_default_stream(timeline::submission& pending) {
  const auto wait_beyond = [&](engine::timeline& line, std::uint64_t& count_waited) {
    const std::uint64_t submitted = line.submitted();
    if (submitted <= count_waited) return;
    pending.add_wait({&line, submitted});
    count_waited = submitted;
  };
  if (role_ == stream_role::blocking) {
    wait_beyond(owner().legacy().timeline(), legacy_count_waited_);
  } else if (role_ == stream_role::legacy) {
    for_each_blocking_stream([&](stream& blocking_stream) {
      wait_beyond(*blocking_stream.timeline_, blocking_stream.count_legacy_waited_);
    });
  }
}

point stream::submit(const operation& op) {
  return submit_many([&](timeline::submission& pending) { pending.add(op); });
}

point stream::record() {
  return submit_many([](timeline::submission& pending) { pending.mark_recorded(); });
}

// Other streams may already wait for an event recorded at the current point, or the host may
// already have waited for it. They would then take the memory for unused before its last use. An
// empty operation makes a new point, for which no stream and no host thread has waited yet.
point stream::end_of_use() {
  return submit_many([&](timeline::submission& pending) {
    if (pending.is_recorded() || timeline_->is_known_to_host(pending.end().count))
      pending.add(make_operation(empty_operation{}));
  });
}

void stream::wait(point target) {
  submit_many([&](timeline::submission& pending) { pending.add_wait(target); });
}

CUresult stream::submit(const memset_work& work) {
  if (class capture* c = capture()) return c->add(*this, work);
  submit(make_operation(work, kind_of(work.width * work.height * work.element_size)));
  return CUDA_SUCCESS;
}

CUresult stream::submit(const copy_work& work) {
  if (class capture* c = capture()) return c->add(*this, work);
  // Runs also after a device failure if it has staging memory to free.
  submit(work.staging == nullptr ? make_operation(work, kind_of(work.bytes))
                                 : make_unconditional_operation(work, kind_of(work.bytes)));
  return CUDA_SUCCESS;
}

CUresult stream::submit(const pitched_copy_work& work) {
  if (class capture* c = capture()) return c->add(*this, work);
  auto box = std::make_unique<pitched_copy_work>(work);
  // Runs also after a device failure, to free the box and the staging memory.
  submit(make_unconditional_operation(boxed_copy{box.get()}, kind_of(work.bytes())));
  box.release();
  return CUDA_SUCCESS;
}

CUresult stream::submit(const host_work& work) {
  if (class capture* c = capture()) return c->add(*this, work);
  submit(make_operation(work, operation_kind::host));
  return CUDA_SUCCESS;
}

CUresult stream::submit(const value_wait& work) {
  if (class capture* c = capture()) return c->add(*this, work);
  submit(make_operation(work, operation_kind::wait_value));
  return CUDA_SUCCESS;
}

CUresult stream::submit(const value_write& work) {
  if (class capture* c = capture()) return c->add(*this, work);
  engine::pending_value_writes::record(work.word, submit(make_operation(work)));
  return CUDA_SUCCESS;
}

void stream::submit_all(std::span<const value_work> works) {
  submit_many([&](timeline::submission& pending) {
    pending.make_room(works.size());
    for (const value_work& work : works) {
      if (const auto* const wait = std::get_if<value_wait>(&work)) {
        pending.add(make_operation(*wait, operation_kind::wait_value));
      } else if (const auto* const write = std::get_if<value_write>(&work)) {
        pending.add(make_operation(*write));
        engine::pending_value_writes::record(write->word, pending.end());
      }
    }
  });
}

bool stream::work_done() const noexcept {
  const std::uint64_t submitted = timeline_->submitted();
  return timeline_->completed() >=
         std::min(submitted, end_of_work_.load(std::memory_order_acquire));
}

bool stream::idle() {
  bool is_idle = work_done();
  if (role_ == stream_role::legacy) {
    for_each_blocking_stream(
        [&](const stream& blocking_stream) { is_idle = is_idle && blocking_stream.work_done(); });
  }
  return is_idle;
}

void stream::synchronize() {
  const point own_end = timeline_->submitted_point();
  std::vector<point> blocking_ends;
  if (role_ == stream_role::legacy) {
    for_each_blocking_stream([&](const stream& blocking_stream) {
      blocking_ends.push_back(blocking_stream.timeline_->submitted_point());
    });
  }
  engine::wait_for_host(own_end);
  for (const point target : blocking_ends) engine::wait_for_host(target);
  pool_registry::after_synchronize();
}

}  // namespace weir::embedded::model
