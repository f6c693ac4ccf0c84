// model/context.hpp - a context: what streams, events and memory of one device belong to.
#pragma once

#include <atomic>
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

// A context of a device. Contexts are never freed: a destroyed one stays known as destroyed,
// because threads may still have it current, and a primary one comes back to life under its old
// handle.
//
// Thread safety: all members, from any thread; open() and close() not at the same time.
class context {
 public:
  // Brings a context to life: a new one, or the primary one after its release. CUDA_SUCCESS, or
  // what the device failed with. Throws std::bad_alloc.
  abi::CUresult open(device& on, bool primary, unsigned flags);

  // Brings a green one to life: it has a part of the device, and streams of its own, the default
  // stream among them, while memory, events and settings are those of the primary context, which is
  // alive and stays so.
  abi::CUresult open_green(context& primary, const device_resource& part);

  // Waits for all work in it, then ends its streams, events and memory. Their handles stay known as
  // those of a context that has ended. False if another thread was faster.
  bool close() noexcept;

  // Ends a green one: at once, and what its streams still have to do is done. False as above.
  bool close_green() noexcept;

  [[nodiscard]] bool alive() const noexcept { return alive_.load(std::memory_order_acquire); }

  // CUDA_SUCCESS, CUDA_ERROR_CONTEXT_IS_DESTROYED, or what the device failed with. What was made in
  // an earlier life of a primary context is told CUDA_ERROR_INVALID_CONTEXT once that is alive
  // again.
  [[nodiscard]] abi::CUresult status() const noexcept;

  // Counts the lives of a primary context; what was made in an earlier life is gone.
  [[nodiscard]] unsigned long long generation() const noexcept {
    return generation_.load(std::memory_order_acquire);
  }

  [[nodiscard]] device& owner() const noexcept { return *device_; }
  [[nodiscard]] bool primary() const noexcept { return primary_; }

  // What a green context has of the device; of all others, nothing. And the context that memory,
  // events and settings belong to.
  [[nodiscard]] bool green() const noexcept { return base_ != nullptr; }
  [[nodiscard]] const device_resource& part() const noexcept { return part_; }
  [[nodiscard]] context& base() noexcept { return base_ != nullptr ? *base_ : *this; }
  [[nodiscard]] unsigned long long id() const noexcept {
    return id_.load(std::memory_order_relaxed);
  }  // of this life
  [[nodiscard]] abi::CUcontext handle() const noexcept;

  // Is everything in all streams of the context complete, with those of its green ones?
  [[nodiscard]] bool idle() noexcept { return first_pending().line == nullptr; }

  // Waits until everything in all streams of the context is complete. What concerns all streams of
  // a primary context concerns those of its green ones, too: this, record() and wait().
  void synchronize();

  // The same for a call that waits for its own sake: what it has waited for it tells nobody.
  void wait_for_work();

  // As synchronize(), for one that ends: where there is no memory, for what is submitted meanwhile,
  // too.
  void synchronize_to_end() noexcept;

  // Records an event behind everything in all its streams; CUDA_ERROR_INVALID_HANDLE for one of
  // another context.
  abi::CUresult record(event& at_end);

  // Makes all later work of the context wait until the point is reached, in streams that are yet to
  // be made, too.
  void wait(engine::point until);

  // The default stream that all threads share.
  [[nodiscard]] stream& legacy() const noexcept { return *legacy_.load(std::memory_order_acquire); }

  // The list of streams, for the legacy stream's ordering and for synchronize(). add() gives a new
  // stream the points that the context waits for; both throw std::bad_alloc, and then nothing has
  // happened.
  void add(stream& s);
  void remove(stream& s) noexcept;
  template <class Visitor>
  void for_each_stream(Visitor&& visit) {
    const std::lock_guard lock{streams_mutex_};
    for (stream* s : streams_) visit(*s);
  }

  // CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED and _NOT_ENABLED where there is nothing to do. What is
  // enabled is a matter of record, which can_access() asks (memory_access.hpp).
  abi::CUresult enable_peer(context& peer);
  abi::CUresult disable_peer(context& peer) noexcept;
  [[nodiscard]] bool has_peer_access_from(const context& peer) noexcept;

  std::atomic<unsigned> flags{0};  // CU_CTX_*, as last set; 0 in a context that is not alive
  std::atomic<abi::CUfunc_cache> cache_config{abi::CU_FUNC_CACHE_PREFER_NONE};
  context_limits limits;

 private:
  stream& make_stream(bool legacy);
  std::vector<engine::point> submitted_points();
  std::vector<context*> green_contexts();
  engine::point first_pending() noexcept;
  void end_streams() noexcept;
  void end_events() noexcept;
  stream& all_streams();

  device* device_ = nullptr;  // this and the next: the same in all lives
  bool primary_ = false;
  context* base_ = nullptr;  // this and the next: of a green one, set once
  device_resource part_;
  context* closed_stand_in_ = nullptr;    // of a primary one: never alive, and what its streams and
                                          // events belong to afterwards
  const context* reopened_as_ = nullptr;  // of such a stand-in: the one that may be alive again
  std::atomic<unsigned long long> id_{0};
  std::atomic<bool> alive_{false};
  std::atomic<bool> closing_{false};
  std::atomic<unsigned long long> generation_{0};
  std::atomic<stream*> legacy_{nullptr};

  std::mutex streams_mutex_;  // never held while work is submitted: a deterministic schedule runs
                              // work right there
  std::vector<stream*> streams_;
  std::vector<engine::point> waits_;  // of wait(), as long as they are not reached

  std::mutex peers_mutex_;         // guards what follows
  stream* all_streams_ = nullptr;  // made at the first record(): it waits for all others, and
                                   // events are recorded in it
  std::vector<const context*> peers_;
  std::vector<context*> green_contexts_;  // on this one, and either alive or with work to do
};

}  // namespace weir::embedded::model
