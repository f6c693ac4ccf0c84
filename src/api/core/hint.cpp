// api/core/hint.cpp - what to do about an error.
#include "api/core/hint.hpp"

#include "driver/results.hpp"

#include <string_view>

namespace weir::detail {
namespace {

bool is_value_operation(std::string_view call) noexcept {
  return call.starts_with("cuStreamWaitValue") || call.starts_with("cuStreamWriteValue") ||
         call == "cuStreamBatchMemOp";
}

const char* invalid_value_hint(std::string_view call) noexcept {
  if (call.starts_with("cuMemcpy")) {
    return "an address is null or not of the memory it should be, or the copy reaches beyond the "
           "memory's end";
  }
  if (call.starts_with("cuMemset")) {
    return "fill memory that the device reaches (a buffer, a pinned_buffer), within its bounds and "
           "on whole elements";
  }
  if (call == "cuMemFreeAsync")
    return "only what cuMemAllocAsync gave is freed so, by its first address, and once";
  if (is_value_operation(call)) {
    return "a word lies, aligned to its size, in pinned or registered memory or in a device's that "
           "is of no pool and "
           "not "
           "managed (a weir::wait_word, an element of a pinned_buffer or ipc_buffer), and the "
           "condition is one of "
           "weir::until";
  }
  if (call == "cuMemPrefetchAsync" || call == "cuMemAdvise" || call == "cuStreamAttachMemAsync") {
    return "the memory has to be managed (a managed_buffer), and the place a device or a node of "
           "the host that there "
           "is";
  }
  if (call == "cuExternalMemoryGetMappedBuffer") {
    return "the part has to lie within what the exporter allocated, which the driver looks at only "
           "now";
  }
  if (call == "cuMemPoolGetAccess" || call == "cuMemPoolSetAccess") {
    return "the pool has to be alive, the device one that there is, and the access one of "
           "weir::pool_access";
  }
  if (call == "cuMemPoolCreate")
    return "the driver has no such pools, or no such device; try other memory or sharing";
  if (call == "cuDeviceSetMemPool")
    return "a device's current pool is one of device memory, of that device, and alive";
  if (call.starts_with("cuMemPool"))
    return "the pool has to be alive, and not a default pool where it is destroyed";
  if (call == "cuDeviceGetAttribute") return "the driver has no attribute of that number";
  if (call == "cuGraphLaunch") {
    return "memory that its last launch allocated has to be freed first, where instantiate_options "
           "has no "
           "auto_free_on_launch; and what it is made of has to be alive";
  }
  if (call == "cuStreamAddCallback" || call == "cuLaunchHostFunc")
    return "the function must not be null";
  return "";
}

}  // namespace

const char* hint_for(errc code, const char* call) noexcept {
  if (loses_context(static_cast<abi::CUresult>(code))) {
    return "work that was queued earlier failed, and the context is lost: only ending the process "
           "mends it";
  }
  const std::string_view name = call;
  switch (code) {
    case errc::closed:
      return "keep it open while it is used, and its owner longer than its references";
    case errc::not_permitted:
      return "inside a host function no CUDA call may be made; leave the work to the thread that "
             "waits for it";
    case errc::not_initialized:
      return "a process made by fork() cannot use the driver of its parent; fork before the first "
             "use of weir";
    case errc::invalid_value: return invalid_value_hint(name);
    case errc::invalid_context:
      if (name == "cuEventElapsedTime")
        return "only events of one context have a time between them";
      if (name.starts_with("cuIpcOpen"))
        return "the process that made it has it open already; it is for other ones";
      return "make a context current (weir::context_scope), or name a stream that was made on a "
             "device";
    case errc::invalid_device:
      if (name == "cuMemPoolSetAccess")
        return "a pool's own device keeps its access; the others are device::all()";
      return "the devices are weir::device::all()";
    case errc::invalid_handle:
      if (name == "cuEventRecord")
        return "the event and the stream have to be of one context, and both alive";
      if (name == "cuEventElapsedTime")
        return "both events have to be alive, made with timing, and recorded";
      return "what the handle named is gone, or belongs to another context";
    case errc::out_of_memory:
      if (name == "cuMemAllocFromPoolAsync") {
        return "free something, or wait for frees that are still queued: pool.retrying() does, "
               "where no capture "
               "forbids";
      }
      if (name == "cuMemPoolCreate") return "free something, or ask for a smaller max_size";
      if (name == "cuEventCreate") {
        return "free something; an event for other processes takes a file descriptor as well "
               "(ulimit -n)";
      }
      if (name == "cuExternalMemoryGetMappedBuffer") {
        return "free something; and the descriptor has to have been opened for reading and writing";
      }
      return "free something, or wait for stream-ordered frees that are still queued "
             "(stream.sync())";
    case errc::not_recorded:
      return "record both events, each in a stream, before asking for the time between them";
    case errc::timing_disabled: return "only a timed_event has a time: stream.record_timed()";
    case errc::not_ready:
      if (name == "cuEventElapsedTime")
        return "wait for the later event first, or call weir::sync_elapsed()";
      return "";
    case errc::captured_event:
      return "an event recorded in a capture orders the work inside that capture; record it again "
             "outside before the "
             "host looks at it";
    case errc::stream_capture_unsupported:
      return "this cannot be recorded in a capture; do it before the capture begins or after it "
             "ends";
    case errc::stream_capture_implicit:
      return "the legacy default stream waits for a stream that captures; use a stream of your "
             "own, or capture on a "
             "non-blocking one";
    case errc::stream_capture_invalidated:
      return "an earlier call broke the capture; end it and capture again";
    case errc::stream_capture_merge:
      return "the two take part in different captures, which this breaks; end one of them first";
    case errc::stream_capture_isolation:
      return "an event from outside of the capture; record it on a stream that takes part in the "
             "capture";
    case errc::not_supported:
      if (is_value_operation(name))
        return "weir::wait_word_support(device) tells of 64 bits, nor and flush";
      if (name == "cuImportExternalMemory")
        return "make the memfd with MFD_ALLOW_SEALING, so that nobody can cut it short";
      return "";
    case errc::context_is_destroyed:
      return "the context was reset or released behind weir's back, and all that was made in it is "
             "gone, words too; "
             "from now on the objects can be made again";
    case errc::unknown:
      if (name.starts_with("cuImportExternal"))
        return "the descriptor is of something else, or of another kind than told";
      return "";
    case errc::invalid_resource_configuration:
      return "ask for fewer multiprocessors or groups, of the whole: sm_resource::of(device) or "
             "sm_resource::of(context)";
    case errc::peer_access_unsupported: return "device::can_access() tells who can";
    default: return "";
  }
}

}  // namespace weir::detail
