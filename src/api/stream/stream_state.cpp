// api/stream/stream_state.cpp - what weir knows of the streams it owns.
#include "api/stream/stream_state.hpp"

#include "api/completion/completion_access.hpp"
#include "api/device/green_state.hpp"
#include "api/stream/host_failures.hpp"
#include "api/device/make_current.hpp"
#include "api/profiler/names.hpp"
#include "api/deferred/reclaimer.hpp"
#include "os/forked_child.hpp"

#include <array>
#include <cstddef>
#include <mutex>

namespace weir::detail {
namespace {

// Small tables with a lock each, so that threads with different streams rarely meet. Neither constructed nor destroyed
// at run time: streams may be static objects.
struct bucket {
  std::mutex lock;
  stream_state* first = nullptr;
};

constinit std::array<bucket, 256> buckets;

bucket& bucket_of(CUstream handle) noexcept {
  // Handles are addresses or numbers with a pattern; the multiplication spreads them over the upper bits.
  const std::uint64_t mixed = static_cast<std::uint64_t>(device_address(handle)) * 0x9e37'79b9'7f4a'7c15u;
  return buckets[mixed >> 56];
}

}  // namespace

bool is_captured(CUstream stream) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver().cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

stream_state::stream_state(CUstream stream, const stream_facts& its_facts) noexcept : handle{stream}, facts{its_facts} {
  bucket& b = bucket_of(handle);
  const std::lock_guard lock{b.lock};
  next_ = b.first;
  b.first = this;
}

stream_state* stream_state::find_in(stream_state* first, CUstream stream) noexcept {
  while (first != nullptr && first->handle != stream) first = first->next_;
  return first;
}

bool stream_state::hold_if_alive() noexcept {
  // Zero is final: a stream that is being destroyed is not brought back.
  std::uint32_t now = holders_.load(std::memory_order_relaxed);
  while (now != 0) {
    if (holders_.compare_exchange_weak(now, now + 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

stream_state* hold_stream(CUstream stream, share wanted) noexcept {
  bucket& b = bucket_of(stream);
  const std::lock_guard lock{b.lock};
  stream_state* const found = stream_state::find_in(b.first, stream);
  if (found == nullptr || !found->hold_if_alive()) return nullptr;
  if (wanted == share::user) found->users_.fetch_add(1, std::memory_order_relaxed);
  return found;
}

std::optional<stream_facts> facts_of(CUstream stream) noexcept {
  bucket& b = bucket_of(stream);
  const std::lock_guard lock{b.lock};
  if (const stream_state* const found = stream_state::find_in(b.first, stream)) return found->facts;
  return std::nullopt;
}

void remember_priority(CUstream stream, int priority) noexcept {
  bucket& b = bucket_of(stream);
  const std::lock_guard lock{b.lock};
  if (const stream_state* const found = stream_state::find_in(b.first, stream)) found->facts.priority = priority;
}

lane* lane_of_owned(CUstream stream) noexcept {
  bucket& b = bucket_of(stream);
  const std::lock_guard lock{b.lock};
  const stream_state* const found = stream_state::find_in(b.first, stream);
  return found != nullptr ? found->known_lane() : nullptr;
}

void remember_lane(CUstream stream, lane& its_lane) noexcept {
  bucket& b = bucket_of(stream);
  const std::lock_guard lock{b.lock};
  if (stream_state* const found = stream_state::find_in(b.first, stream))
    found->lane_.store(&its_lane, std::memory_order_release);
}

void stream_state::unlink() noexcept {
  {
    bucket& b = bucket_of(handle);
    const std::lock_guard lock{b.lock};
    stream_state** place = &b.first;
    while (*place != this) place = &(*place)->next_;
    *place = next_;
  }
  streams_destroyed.fetch_add(1, std::memory_order_release);
  forget_lane(handle);
}

bool stream_state::forget() noexcept {
  std::uint32_t only_me = 1;
  if (!holders_.compare_exchange_strong(only_me, 0, std::memory_order_acq_rel)) return false;
  unlink();
  drop_host_failures(handle, facts.id);
  if (facts.green != nullptr) facts.green->drop();
  delete this;
  return true;
}

errc stream_state::let_go(share mine, bool here) noexcept {
  if (in_forked_child()) return errc::success;  // the stream is the parent's
  if (mine == share::user) users_.fetch_sub(1, std::memory_order_release);
  if (holders_.fetch_sub(1, std::memory_order_acq_rel) != 1) return errc::success;
  // Unknown before it is destroyed: the driver may give the handle out again at once.
  unlink();
  // With a stream the capture would end that began in it, and nobody would be told.
  if (here && !is_captured(handle)) return destroy();
  defer([this] {
    const CUstream stream = handle;
    if (is_captured(stream)) return chore_result::capture_open;
    if (const errc answer = destroy(); answer != errc::success) {
      report_unraised(answer, "cuStreamDestroy", stream_ref{stream});
    }
    return chore_result::done;
  });
  return errc::success;
}

errc stream_state::destroy() noexcept {
  drop_host_failures(handle, facts.id);
  forget_name(named::stream, handle);
  const CUresult answer = driver().cuStreamDestroy_v2(handle);
  if (facts.green != nullptr) facts.green->drop();
  delete this;
  return static_cast<errc>(answer);
}

void stream_state::drop(share mine) noexcept {
  const CUstream stream = handle;
  if (const errc answer = let_go(mine, may_destroy()); answer != errc::success) {
    report_unraised(answer, "cuStreamDestroy", stream_ref{stream});
  }
}

CUcontext context_of(CUstream stream, call_site at) {
  if (const auto known = facts_of(stream)) return known->context;
  if (is_default(stream)) return current_handle(at);
  CUcontext context = nullptr;
  check(driver().cuStreamGetCtx(stream, &context), "cuStreamGetCtx", stream_ref{stream}, at);
  return context;
}

}  // namespace weir::detail
