// SPDX-License-Identifier: Apache-2.0
// model/core/context.cpp - opening and closing contexts, and operations on all their streams.
#include "embedded/model/core/context.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "embedded/engine/timeline.hpp"
#include "embedded/engine/waiting.hpp"
#include "embedded/model/capture/capture.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/memory/memory.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"

namespace weir::embedded::model {

namespace {

std::atomic<unsigned long long> next_context_id{1};

}  // namespace

abi::CUresult context::open(device& owner_device, unsigned initial_flags,
                            std::vector<engine::point> initial_waits) {
  if (const abi::CUresult error = engine::device_failure()) return error;
  // Does not write an equal value, because other threads may read device_ while a later lifetime
  // begins.
  if (device_ != &owner_device) device_ = &owner_device;
  if (primary() && closed_stand_in_ == nullptr) {
    closed_stand_in_ = new context;
    closed_stand_in_->device_ = &owner_device;
    closed_stand_in_->reopened_as_ = this;
  }
  {
    const std::lock_guard lock{streams_mutex_};
    waits_ = std::move(initial_waits);
  }
  legacy_.store(&make_stream(stream_role::legacy), std::memory_order_release);
  id_.store(next_context_id.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
  limits.reset();
  cache_config.store(abi::CU_FUNC_CACHE_PREFER_NONE, std::memory_order_relaxed);
  flags.store(initial_flags, std::memory_order_relaxed);
  closing_.store(false, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  alive_.store(true, std::memory_order_release);
  return abi::CUDA_SUCCESS;
}

abi::CUresult context::open_green(context& primary, const device_resource& resources) {
  std::vector<engine::point> waits;
  {
    const std::lock_guard lock{primary.streams_mutex_};
    waits = primary.waits_;
  }
  const std::lock_guard lock{primary.peers_mutex_};
  primary.green_contexts_.reserve(primary.green_contexts_.size() + 1);
  base_ = &primary;
  part_ = resources;
  // Resets both members if opening fails, because the object is then used for another context.
  const auto reset = [](context* failed) {
    failed->base_ = nullptr;
    failed->part_ = {};
  };
  std::unique_ptr<context, decltype(reset)> unopened{this};
  const abi::CUresult status =
      open(primary.owner(), primary.flags.load(std::memory_order_relaxed), std::move(waits));
  if (status != abi::CUDA_SUCCESS) return status;
  primary.green_contexts_.push_back(unopened.release());
  return status;
}

bool context::primary() const noexcept { return device_ != nullptr && &device_->primary() == this; }

abi::CUresult context::status() const noexcept {
  if (alive()) return engine::device_failure();
  return reopened_as_ != nullptr && reopened_as_->alive() ? abi::CUDA_ERROR_INVALID_CONTEXT
                                                          : abi::CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

abi::CUcontext context::handle() const noexcept {
  return static_cast<abi::CUcontext>(this_process().contexts.handle_of(this));
}

stream& context::make_stream(stream_role role) {
  handle_table<stream, handle_kind::stream>& table = this_process().streams;
  stream* const created = table.acquire();
  try {
    created->open(*this, role, abi::CU_STREAM_DEFAULT, 0);
  } catch (...) {
    table.recycle(created);
    throw;
  }
  return *created;
}

// Returns the green contexts of this primary context that are alive or have unfinished work.
std::vector<context*> context::green_contexts() {
  const std::lock_guard lock{peers_mutex_};
  std::erase_if(green_contexts_, [](context* green) { return !green->alive() && green->idle(); });
  return green_contexts_;
}

// Returns the last submitted points of all streams, including those of green contexts.
std::vector<engine::point> context::submitted_points() {
  std::vector<engine::point> points;
  const auto add = [&](stream& s) { points.push_back(s.timeline().submitted_point()); };
  for_each_stream(add);
  for (context* green : green_contexts()) green->for_each_stream(add);
  return points;
}

// Like submitted_points(), but only of streams with unfinished work. Programs may have many idle
// streams.
std::vector<engine::point> context::pending_points() {
  std::vector<engine::point> points;
  const auto add = [&](stream& s) {
    if (!s.timeline().drained()) points.push_back(s.timeline().submitted_point());
  };
  for_each_stream(add);
  for (context* green : green_contexts()) green->for_each_stream(add);
  return points;
}

// Returns the last submitted point of a stream with unfinished work, or no point if there is none.
engine::point context::first_pending() noexcept {
  engine::point pending;
  const auto check = [&](stream& s) {
    if (pending.line == nullptr && !s.timeline().drained())
      pending = s.timeline().submitted_point();
  };
  for_each_stream(check);
  const std::lock_guard lock{peers_mutex_};
  for (context* green : green_contexts_) green->for_each_stream(check);
  return pending;
}

void context::synchronize_to_end() noexcept {
  try {
    synchronize();
  } catch (const std::bad_alloc&) {
    for (engine::point target = first_pending(); target.line != nullptr; target = first_pending()) {
      engine::wait_for_host(target);
    }
    pool_registry::after_synchronize();
  }
}

void context::synchronize() {
  for (const engine::point target : submitted_points()) engine::wait_for_host(target);
  pool_registry::after_synchronize();
}

void context::wait_for_work() {
  for (const engine::point target : pending_points()) engine::wait(target);
  pool_registry::after_synchronize();
}

stream& context::joining_stream() {
  const std::lock_guard lock{peers_mutex_};
  if (joining_stream_ == nullptr) joining_stream_ = &make_stream(stream_role::non_blocking);
  return *joining_stream_;
}

abi::CUresult context::record(event& recorded_event) {
  stream& joining = joining_stream();
  for (const engine::point target : submitted_points()) {
    if (target.line != &joining.timeline()) joining.wait(target);
  }
  return recorded_event.record(joining);
}

// If another thread destroys a stream during this call, that stream may or may not wait for the
// point; both are valid.
void context::wait(engine::point target) {
  std::vector<stream*> present;
  {
    const std::lock_guard lock{streams_mutex_};
    std::erase_if(waits_, [](engine::point awaited) { return awaited.reached(); });
    present = streams_;
    waits_.push_back(target);
  }
  for (stream* s : present) s->wait(target);
  for (context* green : green_contexts()) green->wait(target);
}

void context::add(stream& new_stream) {
  std::vector<engine::point> waits;
  {
    const std::lock_guard lock{streams_mutex_};
    if (!waits_.empty()) waits = waits_;
    streams_.push_back(&new_stream);
  }
  try {
    for (const engine::point target : waits) new_stream.wait(target);
  } catch (...) {
    remove(new_stream);
    throw;
  }
}

void context::remove(stream& closed_stream) noexcept {
  const std::lock_guard lock{streams_mutex_};
  const auto found = std::find(streams_.begin(), streams_.end(), &closed_stream);
  if (found == streams_.end()) return;
  *found = streams_.back();
  streams_.pop_back();
}

abi::CUresult context::enable_peer(context& peer) {
  const std::lock_guard lock{peers_mutex_};
  if (std::find(peers_.begin(), peers_.end(), &peer) != peers_.end())
    return abi::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  peers_.push_back(&peer);
  return abi::CUDA_SUCCESS;
}

abi::CUresult context::disable_peer(context& peer) noexcept {
  const std::lock_guard lock{peers_mutex_};
  return std::erase(peers_, &peer) != 0 ? abi::CUDA_SUCCESS
                                        : abi::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

bool context::has_peer_access_to(const context& peer) noexcept {
  const std::lock_guard lock{peers_mutex_};
  return std::find(peers_.begin(), peers_.end(), &peer) != peers_.end();
}

bool context::close() noexcept {
  if (!alive() || closing_.exchange(true)) return false;
  // Running work may still submit more work through driver calls. Once alive_ is false those calls
  // fail, and the second wait covers what they submitted before.
  synchronize_to_end();
  alive_.store(false, std::memory_order_release);
  flags.store(0, std::memory_order_relaxed);
  synchronize_to_end();
  // A thread that found a stream before this call may still ask the stream's context for its legacy
  // stream. If end_streams() has already ended that stream, its context is closed_stand_in_.
  if (closed_stand_in_ != nullptr)
    closed_stand_in_->legacy_.store(&legacy(), std::memory_order_release);
  end_streams();
  end_events();
  {
    const std::lock_guard lock{streams_mutex_};
    waits_.clear();
  }
  {
    const std::lock_guard lock{peers_mutex_};
    peers_.clear();
  }
  close_own_streams();
  modules::release_context(*this);
  memory::release_context(*this);
  return true;
}

// The handles of the green context's streams stay valid, but the streams can no longer be used or
// destroyed. As on a GPU, the program has to destroy the streams before the green context.
bool context::close_green() noexcept {
  if (!alive() || closing_.exchange(true)) return false;
  alive_.store(false, std::memory_order_release);
  close_own_streams();
  return true;
}

// Closes the streams that the context created itself: the joining stream and the legacy stream.
void context::close_own_streams() noexcept {
  {
    const std::lock_guard lock{peers_mutex_};
    if (stream* const joining = std::exchange(joining_stream_, nullptr)) joining->close();
  }
  legacy().close();
}

// Ends the handles of this context's objects with end_object(object, dead_context), which returns
// true if the object stays, as an object of the dead context. Retires each handle first, because an
// ending thread may close its default stream concurrently. Only the thread that retires the handle
// may end the object.
template <class Table, class End>
void context::end_handles(Table& table, End end_object) noexcept {
  context& dead_context = closed_stand_in_ != nullptr ? *closed_stand_in_ : *this;
  table.for_each([&](auto& object) {
    void* const handle = table.handle_of(&object);
    if (handle == nullptr || &object.owner() != this || !table.retire(&object, handle)) return;
    if (end_object(object, dead_context)) table.restore(&object, handle);
  });
}

void context::end_streams() noexcept {
  end_handles(this_process().streams, [](stream& s, context& dead_context) {
    leave_capture(s);
    if (s.is_thread_default()) {
      s.close();
      return false;
    }
    s.end(dead_context);
    return true;
  });
}

void context::end_events() noexcept {
  end_handles(this_process().events, [](event& e, context& dead_context) {
    e.end(dead_context);
    return true;
  });
}

}  // namespace weir::embedded::model
