// SPDX-License-Identifier: Apache-2.0
// model/core/context.hpp - a context: owns the streams, events and memory of one device.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "driver/abi.hpp"
#include "embedded/engine/operation.hpp"
#include "embedded/model/core/context_limits.hpp"
#include "embedded/model/core/device_resource.hpp"

namespace weir::embedded::model {

class device;
class event;
class stream;
enum class stream_role : std::uint8_t;

// A context of a device. Contexts are never freed: threads may still have a destroyed context
// current, and a primary context can become alive again under its old handle.
//
// Thread safety: all members may be called from any thread; open() and close() of one context must
// not run concurrently.
class context {
 public:
  // Makes a new context alive, or a primary context that was released before. All work of the
  // context waits for the points in `initial_waits`. A point is a position in a stream's work.
  // Returns CUDA_SUCCESS, or the error that the device failed with. Throws std::bad_alloc.
  abi::CUresult open(device& owner_device, unsigned initial_flags,
                     std::vector<engine::point> initial_waits = {});

  // Makes a green context alive. A green context has a number of the device's multiprocessors and
  // its own streams, including a default stream. Its memory, events and settings belong to the
  // primary context, which must stay alive.
  abi::CUresult open_green(context& primary, const device_resource& resources);

  // Waits for all work of the context, then destroys its streams and events and frees its memory.
  // Calls with handles of these streams and events then return the error of a destroyed context.
  // Returns false if another thread closed it first.
  bool close() noexcept;

  // Ends a green context immediately; work already submitted to its streams still completes.
  // Returns false if another thread closed it first.
  bool close_green() noexcept;

  [[nodiscard]] bool alive() const noexcept { return alive_.load(std::memory_order_acquire); }

  // Returns CUDA_SUCCESS, CUDA_ERROR_CONTEXT_IS_DESTROYED, or the error that the device failed
  // with. Objects of an earlier lifetime of a primary context get CUDA_ERROR_INVALID_CONTEXT once
  // the context is alive again.
  [[nodiscard]] abi::CUresult status() const noexcept;

  // Returns the number of the context's lifetime; open() increments it. Only a primary context has
  // several lifetimes.
  [[nodiscard]] unsigned long long generation() const noexcept {
    return generation_.load(std::memory_order_acquire);
  }

  [[nodiscard]] device& owner() const noexcept { return *device_; }
  [[nodiscard]] bool primary() const noexcept;

  // Returns true for a green context.
  [[nodiscard]] bool green() const noexcept { return base_ != nullptr; }
  // Returns the part of the device, a number of multiprocessors, that a green context has. For
  // other contexts, the part is empty.
  [[nodiscard]] const device_resource& part() const noexcept { return part_; }
  // Returns the context that owns memory, events and settings: the primary context of a green
  // context, else this context.
  [[nodiscard]] context& base() noexcept { return base_ != nullptr ? *base_ : *this; }

  // Returns the ID of the context, which changes with each lifetime.
  [[nodiscard]] unsigned long long id() const noexcept {
    return id_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] abi::CUcontext handle() const noexcept;

  // Returns true if all work is complete in all streams of the context and of its green contexts.
  [[nodiscard]] bool idle() noexcept { return first_pending().line == nullptr; }

  // Waits until all work in all streams of the context is complete. For a primary context,
  // synchronize(), record() and wait() include the streams of its green contexts.
  void synchronize();

  // Like synchronize(), but does not mark the awaited work as known to the host
  // (timeline::is_known_to_host). Memory pools therefore do not treat that work as complete.
  void wait_for_work();

  // Like synchronize(), but never throws. Used for a context that is being destroyed. If memory
  // runs out, it waits until the context is idle, which includes work submitted during the call.
  void synchronize_to_end() noexcept;

  // Records an event after all work in all streams of the context. Returns
  // CUDA_ERROR_INVALID_HANDLE for an event of another context.
  abi::CUresult record(event& recorded_event);

  // Makes all work that is submitted to the context after this call wait for the point, including
  // work in new streams.
  void wait(engine::point target);

  // Creates a stream without a handle. Throws std::bad_alloc.
  stream& make_stream(stream_role role);

  // Returns the legacy default stream, shared by all threads.
  [[nodiscard]] stream& legacy() const noexcept { return *legacy_.load(std::memory_order_acquire); }

  // Adds a stream to the context's list, which is used by synchronize() and for ordering with the
  // legacy stream. Makes the stream wait for the points that were passed to wait(). Throws
  // std::bad_alloc without changing anything.
  void add(stream& new_stream);
  void remove(stream& closed_stream) noexcept;
  template <class Visitor>
  void for_each_stream(Visitor&& visit) {
    const std::lock_guard lock{streams_mutex_};
    for (stream* s : streams_) visit(*s);
  }

  // Enables access of this context to the memory of `peer`. Only records the permission, which
  // can_access() checks (memory_access.hpp). Returns CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED if the
  // access is already enabled.
  abi::CUresult enable_peer(context& peer);
  // Disables access of this context to the memory of `peer`. Returns
  // CUDA_ERROR_PEER_ACCESS_NOT_ENABLED if the access is not enabled.
  abi::CUresult disable_peer(context& peer) noexcept;
  [[nodiscard]] bool has_peer_access_to(const context& peer) noexcept;

  std::atomic<unsigned> flags{0};  // CU_CTX_*, as last set; 0 if the context is not alive
  std::atomic<abi::CUfunc_cache> cache_config{abi::CU_FUNC_CACHE_PREFER_NONE};
  context_limits limits;

 private:
  std::vector<engine::point> submitted_points();
  std::vector<engine::point> pending_points();
  std::vector<context*> green_contexts();
  engine::point first_pending() noexcept;
  void close_own_streams() noexcept;
  template <class Table, class End>
  void end_handles(Table& table, End end_object) noexcept;
  void end_streams() noexcept;
  void end_events() noexcept;
  stream& joining_stream();

  device* device_ = nullptr;  // does not change in later lifetimes
  context* base_ = nullptr;   // base_ and part_ are set only for a green context, by open_green()
  device_resource part_;
  // Primary contexts only: a context that is never alive. It becomes the owner of streams and
  // events that the program did not destroy before the primary context ended.
  context* closed_stand_in_ = nullptr;
  // Only for a context that is a closed_stand_in_: its primary context, which may be alive again.
  const context* reopened_as_ = nullptr;
  std::atomic<unsigned long long> id_{0};
  std::atomic<bool> alive_{false};
  std::atomic<bool> closing_{false};
  std::atomic<unsigned long long> generation_{0};
  std::atomic<stream*> legacy_{nullptr};

  // Never held while work is submitted, because a deterministic schedule runs work inside the
  // submission.
  std::mutex streams_mutex_;
  std::vector<stream*> streams_;
  std::vector<engine::point> waits_;  // the points passed to wait() that are not reached yet

  std::mutex peers_mutex_;  // guards the members below
  // The stream in which record() records events, after it has made the stream wait for all others.
  // Created by the first record().
  stream* joining_stream_ = nullptr;
  std::vector<const context*> peers_;
  std::vector<context*> green_contexts_;  // of this primary context
};

}  // namespace weir::embedded::model
