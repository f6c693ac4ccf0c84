// SPDX-License-Identifier: Apache-2.0
// model/core/context.cpp - opening and closing contexts, and operations on all their streams.
#include "embedded/model/core/context.hpp"

#include <algorithm>
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

abi::CUresult context::open(device& target_device, bool primary, unsigned with_flags) {
  if (const abi::CUresult failure = engine::device_failure(); failure != abi::CUDA_SUCCESS)
    return failure;
  if (device_ != &target_device) {  // other threads may read these while a later lifetime begins
    device_ = &target_device;
    primary_ = primary;
  }
  if (primary_ && closed_stand_in_ == nullptr) {
    closed_stand_in_ = new context;
    closed_stand_in_->device_ = &target_device;
    closed_stand_in_->reopened_as_ = this;
  }
  legacy_.store(&make_stream(true), std::memory_order_release);
  id_.store(next_context_id.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
  limits.reset();
  cache_config.store(abi::CU_FUNC_CACHE_PREFER_NONE, std::memory_order_relaxed);
  flags.store(with_flags, std::memory_order_relaxed);
  closing_.store(false, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  alive_.store(true, std::memory_order_release);
  return abi::CUDA_SUCCESS;
}

abi::CUresult context::open_green(context& primary, const device_resource& part) {
  // Resets the members if opening fails, because the object is then reused for another context.
  struct open_guard {
    context* of;
    ~open_guard() {
      if (of == nullptr) return;
      of->base_ = nullptr;
      of->part_ = {};
      of->waits_.clear();
    }
  } begun{this};
  base_ = &primary;
  part_ = part;
  {
    const std::lock_guard lock{primary.streams_mutex_};
    waits_ = primary.waits_;
  }
  const std::lock_guard lock{primary.peers_mutex_};
  primary.green_contexts_.reserve(primary.green_contexts_.size() + 1);
  const abi::CUresult status =
      open(primary.owner(), false, primary.flags.load(std::memory_order_relaxed));
  if (status != abi::CUDA_SUCCESS) return status;
  primary.green_contexts_.push_back(this);
  begun.of = nullptr;
  return status;
}

abi::CUresult context::status() const noexcept {
  if (alive()) return engine::device_failure();
  return reopened_as_ != nullptr && reopened_as_->alive() ? abi::CUDA_ERROR_INVALID_CONTEXT
                                                          : abi::CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

abi::CUcontext context::handle() const noexcept {
  return static_cast<abi::CUcontext>(this_process().contexts.handle_of(this));
}

// Creates a stream whose handle is not returned to the program.
stream& context::make_stream(bool legacy) {
  handle_table<stream, handle_kind::stream>& table = this_process().streams;
  stream* const created = table.acquire();
  try {
    created->open(*this, legacy ? stream_role::legacy : stream_role::non_blocking,
                  abi::CU_STREAM_DEFAULT, 0);
  } catch (...) {
    table.recycle(created);
    throw;
  }
  return *created;
}

std::vector<context*> context::green_contexts() {
  const std::lock_guard lock{peers_mutex_};
  std::erase_if(green_contexts_, [](context* green) {
    bool over = !green->alive();
    green->for_each_stream([&](const stream& s) { over = over && s.line().drained(); });
    return over;
  });
  return green_contexts_;
}

std::vector<engine::point> context::submitted_points() {
  std::vector<engine::point> points;
  const auto add = [&](stream& s) { points.push_back(s.line().submitted_point()); };
  for_each_stream(add);
  for (context* green : green_contexts()) green->for_each_stream(add);
  return points;
}

// Returns the last submitted point of a stream with unfinished work, or a point with a null line if
// there is none.
engine::point context::first_pending() noexcept {
  engine::point found;
  const auto look_at = [&](stream& s) {
    if (found.line == nullptr && !s.line().drained()) found = s.line().submitted_point();
  };
  for_each_stream(look_at);
  const std::lock_guard lock{peers_mutex_};
  for (context* green : green_contexts_) green->for_each_stream(look_at);
  return found;
}

void context::synchronize_to_end() noexcept {
  try {
    synchronize();
  } catch (const std::bad_alloc&) {
    for (engine::point until = first_pending(); until.line != nullptr; until = first_pending()) {
      engine::wait_for_host(until);
    }
    pool_registry::after_synchronize();
  }
}

void context::synchronize() {
  for (const engine::point until : submitted_points()) engine::wait_for_host(until);
  pool_registry::after_synchronize();
}

void context::wait_for_work() {
  for (const engine::point until : submitted_points()) engine::wait(until);
  pool_registry::after_synchronize();
}

stream& context::all_streams() {
  const std::lock_guard lock{peers_mutex_};
  if (all_streams_ == nullptr) all_streams_ = &make_stream(false);
  return *all_streams_;
}

abi::CUresult context::record(event& at_end) {
  stream& joined = all_streams();
  for (const engine::point until : submitted_points()) {
    if (until.line != &joined.line()) joined.wait(until);
  }
  return at_end.record(joined);
}

// If another thread destroys a stream during this call, that stream may or may not wait; both are
// valid.
void context::wait(engine::point until) {
  std::vector<stream*> present;
  {
    const std::lock_guard lock{streams_mutex_};
    std::erase_if(waits_, [](engine::point p) { return p.reached(); });
    present = streams_;
    waits_.push_back(until);
  }
  for (stream* s : present) s->wait(until);
  for (context* green : green_contexts()) green->wait(until);
}

void context::add(stream& s) {
  std::vector<engine::point> waits;
  {
    const std::lock_guard lock{streams_mutex_};
    if (!waits_.empty()) waits = waits_;
    streams_.push_back(&s);
  }
  try {
    for (const engine::point until : waits) s.wait(until);
  } catch (...) {
    remove(s);
    throw;
  }
}

void context::remove(stream& s) noexcept {
  const std::lock_guard lock{streams_mutex_};
  const auto found = std::find(streams_.begin(), streams_.end(), &s);
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

bool context::has_peer_access_from(const context& peer) noexcept {
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

  // A thread that found a stream before the close may still look up the legacy stream of its
  // context.
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
    if (stream* const s = std::exchange(all_streams_, nullptr)) s->close();
    peers_.clear();
  }
  legacy().close();
  modules::release_context(*this);
  memory::release_context(*this);
  return true;
}

// The streams of a green context keep their handles, but can no longer be used or destroyed. A
// program has to destroy them before the context.
bool context::close_green() noexcept {
  if (!alive() || closing_.exchange(true)) return false;
  alive_.store(false, std::memory_order_release);
  {
    const std::lock_guard lock{peers_mutex_};
    if (stream* const s = std::exchange(all_streams_, nullptr)) s->close();
  }
  legacy().close();
  return true;
}

// Retires the handles first: a thread that ends may close its default stream concurrently, and the
// object may be reused. The thread that retires a handle owns the object exclusively.
void context::end_streams() noexcept {
  handle_table<stream, handle_kind::stream>& streams = this_process().streams;
  streams.for_each([&](stream& s) {
    void* const handle = streams.handle_of(&s);
    if (handle == nullptr || &s.owner() != this || !streams.retire(&s, handle)) return;
    leave_capture(s);
    if (s.is_thread_default()) {
      s.close();
    } else {
      s.end(closed_stand_in_ != nullptr ? *closed_stand_in_ : *this);
      streams.restore(&s, handle);
    }
  });
}

void context::end_events() noexcept {
  handle_table<event, handle_kind::event>& events = this_process().events;
  events.for_each([&](event& e) {
    void* const handle = events.handle_of(&e);
    if (handle == nullptr || &e.owner() != this || !events.retire(&e, handle)) return;
    e.end(closed_stand_in_ != nullptr ? *closed_stand_in_ : *this);
    events.restore(&e, handle);
  });
}

}  // namespace weir::embedded::model
