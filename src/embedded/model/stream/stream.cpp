// SPDX-License-Identifier: Apache-2.0
// model/stream/stream.cpp - submission, ordering with the default stream, and waiting.
#include "embedded/model/stream/stream.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "embedded/engine/pending_value_writes.hpp"
#include "embedded/engine/waiting.hpp"
#include "embedded/model/capture/capture.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"

namespace weir::embedded::model {

using namespace abi;
using engine::kind_of;
using engine::make_operation;
using engine::operation;
using engine::operation_kind;
using engine::point;
using engine::timeline;

namespace {

std::atomic<unsigned long long> next_stream_id{1};

// The last operation of a closed stream: its work is done and no handle refers to it.
struct reclaim {
  stream* closed;

  void run() const noexcept {
    closed->line().mark_known_to_host(closed->line().completed());
    closed->owner().remove(*closed);
    this_process().streams.recycle(closed);
  }
};

struct empty_operation {
  void run() const noexcept {}
};

// Holds a copy that is too large for an operation.
struct boxed_copy {
  pitched_copy_work* work;

  void run() const noexcept {
    work->run();
    delete work;
  }
};

}  // namespace

void stream::open(context& owner_context, stream_role role, unsigned flags, int priority) {
  line_ = &timeline::acquire();
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
    line_->release_when_drained();
    throw;
  }
}

void stream::close() noexcept {
  timeline& line = *line_;
  // Lets every stream reuse the memory that this stream freed.
  if (line.drained()) line.mark_known_to_host(line.submitted());
  end_of_work_.store(line.submitted(), std::memory_order_release);
  try {
    timeline::submission last{line};
    last.add(make_operation(reclaim{this}, operation_kind::work, true));
  } catch (const std::bad_alloc&) {
    // Without memory for the last operation, a busy stream leaks; an idle stream is recycled here.
    if (!line.drained()) return;
    reclaim{this}.run();
  }
  line.release_when_drained();
}

// The thread that retires the handle owns the stream exclusively, but its context may already have
// closed it.
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
  line_->release_when_drained();
  context_.store(&owner_context, std::memory_order_relaxed);
}

// The legacy stream and the blocking streams of a context wait for each other. Each side reads the
// other's submitted count before it publishes its own work, so two concurrent submissions cannot
// wait for each other.
void stream::order_with_default_stream(timeline::submission& to) {
  if (role_ == stream_role::blocking) {
    timeline& legacy = owner().legacy().line();
    const std::uint64_t submitted = legacy.submitted();
    if (submitted <= legacy_count_waited_) return;
    to.add_wait({&legacy, submitted});
    legacy_count_waited_ = submitted;
  } else if (role_ == stream_role::legacy) {
    owner().for_each_stream([&](stream& other) {
      if (other.role_ != stream_role::blocking) return;
      const std::uint64_t submitted = other.line_->submitted();
      if (submitted <= other.count_legacy_waited_) return;
      to.add_wait({other.line_, submitted});
      other.count_legacy_waited_ = submitted;
    });
  }
}

point stream::submit(const operation& op) {
  timeline::submission to{*line_};
  if (role_ != stream_role::non_blocking) order_with_default_stream(to);
  to.add(op);
  return to.end();
}

point stream::record() {
  timeline::submission to{*line_};
  if (role_ != stream_role::non_blocking) order_with_default_stream(to);
  to.mark_recorded();
  return to.end();
}

point stream::end_of_use() {
  timeline::submission to{*line_};
  if (role_ != stream_role::non_blocking) order_with_default_stream(to);
  // Work that waits for an event recorded here, or a host that has waited for this point, is not
  // ordered after the last use of the memory. An empty operation adds a later point, which is.
  if (to.is_recorded() || line_->is_known_to_host(to.end().count))
    to.add(make_operation(empty_operation{}));
  return to.end();
}

void stream::wait(point until) {
  timeline::submission to{*line_};
  if (role_ != stream_role::non_blocking) order_with_default_stream(to);
  to.add_wait(until);
}

CUresult stream::submit(const memset_work& work) {
  if (class capture* c = capture()) return c->add(*this, work);
  submit(make_operation(work, kind_of(work.width * work.height * work.element_size)));
  return CUDA_SUCCESS;
}

CUresult stream::submit(const copy_work& work) {
  if (class capture* c = capture()) return c->add(*this, work);
  // Runs also after a device failure if it has staging memory to free.
  submit(make_operation(work, kind_of(work.bytes), work.staging != nullptr));
  return CUDA_SUCCESS;
}

CUresult stream::submit(const pitched_copy_work& work) {
  if (class capture* c = capture()) return c->add(*this, work);
  auto box = std::make_unique<pitched_copy_work>(work);
  submit(make_operation(boxed_copy{box.get()}, kind_of(work.bytes()), true));
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

bool stream::work_done() const noexcept {
  const std::uint64_t submitted = line_->submitted();
  return line_->completed() >= std::min(submitted, end_of_work_.load(std::memory_order_acquire));
}

bool stream::idle() {
  bool all = work_done();
  if (role_ == stream_role::legacy) {
    owner().for_each_stream([&](const stream& other) {
      if (other.role_ == stream_role::blocking) all = all && other.work_done();
    });
  }
  return all;
}

void stream::synchronize() {
  if (role_ != stream_role::legacy) {
    engine::wait_for_host(line_->submitted_point());
    pool_registry::after_synchronize();
    return;
  }
  std::vector<point> points{line_->submitted_point()};
  owner().for_each_stream([&](const stream& other) {
    if (other.role_ == stream_role::blocking) points.push_back(other.line_->submitted_point());
  });
  for (const point p : points) engine::wait_for_host(p);
  pool_registry::after_synchronize();
}

}  // namespace weir::embedded::model
