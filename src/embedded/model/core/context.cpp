// model/context.cpp - the lives of a context, and what concerns all its streams at once.
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

abi::CUresult context::open(device& on, bool primary, unsigned with_flags) {
  if (const abi::CUresult failure = engine::device_failure(); failure != abi::CUDA_SUCCESS)
    return failure;
  if (device_ != &on) {  // later lives are read while they begin
    device_ = &on;
    primary_ = primary;
  }
  if (primary_ && closed_stand_in_ == nullptr) {
    closed_stand_in_ = new context;
    closed_stand_in_->device_ = &on;
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
  // Where it does not come to life, the object is some other context's later.
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

// A stream that no program knows.
stream& context::make_stream(bool legacy) {
  handle_table<stream, handle_kind::stream>& table = this_process().streams;
  stream* const made = table.acquire();
  try {
    made->open(*this, legacy ? stream_role::legacy : stream_role::non_blocking,
               abi::CU_STREAM_DEFAULT, 0);
  } catch (...) {
    table.recycle(made);
    throw;
  }
  return *made;
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

// Where one of its streams has come to so far that has more to do; a null line where none has.
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

// A stream that another thread destroys meanwhile is made to wait or not: either is in order.
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

}  // namespace weir::embedded::model
