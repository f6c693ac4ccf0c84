// SPDX-License-Identifier: Apache-2.0
// api/core/hint.cpp - what to do about an error.
#include "api/core/hint.hpp"

#include "driver/results.hpp"
#include "driver/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace weir::detail {
namespace {

bool is_value_operation(std::string_view call) noexcept {
  return call.starts_with("cuStreamWaitValue") || call.starts_with("cuStreamWriteValue") ||
         call == "cuStreamBatchMemOp";
}

const char* invalid_value_hint(std::string_view call) noexcept {
  if (call.starts_with("cuMemcpy")) {
    return "an address is null or points to the wrong kind of memory, or the copy exceeds "
           "an allocation; check both addresses and the size";
  }
  if (call.starts_with("cuMemset")) {
    return "the range is not device-accessible memory, exceeds its allocation, or is not "
           "made of whole elements; fill a range inside a buffer or pinned_buffer";
  }
  if (call == "cuMemFreeAsync")
    return "the address was not returned by cuMemAllocAsync, or was freed before; free each "
           "allocation once, by its first address";
  if (is_value_operation(call)) {
    return "the address or the condition is invalid; use a condition of weir::until, and a "
           "word aligned to its size in pinned, registered or device memory that is neither "
           "managed nor from a pool (a weir::wait_word, an element of a pinned_buffer or "
           "ipc_buffer)";
  }
  if (call == "cuMemPrefetchAsync" || call == "cuMemAdvise" || call == "cuStreamAttachMemAsync") {
    return "the memory is not managed, or the location does not exist; use a "
           "managed_buffer, and an existing device or host NUMA node";
  }
  if (call == "cuExternalMemoryGetMappedBuffer") {
    return "the range exceeds the exporter's allocation, whose size the driver checks only "
           "now; map a range inside it";
  }
  if (call == "cuMemPoolGetAccess" || call == "cuMemPoolSetAccess") {
    return "the pool is closed, or the device or the access is invalid; use an open pool, a "
           "device of device::all() and pool_access::none or pool_access::read_write";
  }
  if (call == "cuMemPoolCreate")
    return "the device does not exist, or the driver does not support this kind of pool; "
           "use other memory or sharing in memory_pool_options";
  if (call == "cuDeviceSetMemPool")
    return "the pool is closed, holds no device memory, or belongs to another device; use "
           "an open pool of device memory on this device";
  if (call.starts_with("cuMemPool"))
    return "the pool is closed, or is a default pool, which cannot be destroyed; use an "
           "open pool, and destroy only pools that the program created";
  if (call == "cuDeviceGetAttribute")
    return "the driver does not know this attribute; use an older attribute or install a "
           "newer driver";
  if (call == "cuGraphLaunch") {
    return "memory that the last launch allocated was not freed, or an object that the "
           "graph uses was destroyed; free that memory or set "
           "instantiate_options::auto_free_on_launch, and keep the objects alive";
  }
  if (call == "cuStreamAddCallback" || call == "cuLaunchHostFunc")
    return "the function is null; pass a function";
  return "";
}

}  // namespace

const char* hint_for(errc code, const char* call) noexcept {
  if (loses_context(static_cast<abi::CUresult>(code))) {
    return "work that was queued earlier failed, and the context is lost; restart the "
           "process";
  }
  const std::string_view name = call;
  switch (code) {
    case errc::closed:
      return "keep the object open while it is used, and its owner as long as its references "
             "are used";
    case errc::not_permitted:
      return "CUDA calls are not allowed in a host function; make the call in the thread that "
             "waits for the host function";
    case errc::not_initialized:
      return "a child process made by fork() cannot use its parent's driver; fork before the "
             "first use of weir";
    case errc::invalid_value: return invalid_value_hint(name);
    case errc::invalid_context:
      if (name == "cuEventElapsedTime")
        return "the events belong to different contexts; measure between events of one context";
      if (name.starts_with("cuIpcOpen"))
        return "the process that created the object cannot open its handle; use the object "
               "itself, or open the handle in another process";
      return "no valid context is current; make one current (weir::context_scope), or pass a "
             "stream that was created on a device";
    case errc::invalid_device:
      if (name == "cuMemPoolSetAccess")
        return "the device does not exist, or is the pool's own, whose access cannot change; "
               "pass another device of device::all()";
      return "the device does not exist; use a device of weir::device::all()";
    case errc::invalid_handle:
      if (name == "cuEventRecord")
        return "the event or the stream is closed, or they belong to different contexts; use an "
               "open event and an open stream of one context";
      if (name == "cuEventElapsedTime")
        return "an event is closed, was created without timing, or was never recorded; record "
               "two open timed_events";
      return "the object was destroyed, or belongs to another context; use an open object of "
             "this context";
    case errc::out_of_memory:
      if (name == "cuMemAllocFromPoolAsync") {
        return "free memory, or wait for queued frees with pool.retrying() (not in a capture)";
      }
      if (name == "cuMemPoolCreate") return "free memory, or set a smaller max_size";
      if (name == "cuEventCreate") {
        return "free memory, or raise the limit on open files (ulimit -n), because an event "
               "that is shared with other processes needs a file descriptor";
      }
      if (name == "cuExternalMemoryGetMappedBuffer") {
        return "free memory, or open the file descriptor for reading and writing (O_RDWR)";
      }
      return "free memory, or wait for queued stream-ordered frees (stream.sync())";
    case errc::not_recorded: return "record both events before measuring the time between them";
    case errc::timing_disabled: return "use a timed_event (stream.record_timed())";
    case errc::not_ready:
      if (name == "cuEventElapsedTime")
        return "the later event is not done; wait for it first, or call weir::sync_elapsed()";
      return "";
    case errc::captured_event:
      return "the event was recorded in a capture and orders only the work inside that "
             "capture; record it again outside before the host queries it or waits for it";
    case errc::stream_capture_unsupported:
      return "the call cannot be recorded in a capture; make it before the capture begins or "
             "after it ends";
    case errc::stream_capture_implicit:
      return "the legacy default stream would wait for a capturing stream; use another "
             "stream, or capture a non-blocking stream";
    case errc::stream_capture_invalidated:
      return "an earlier call broke the capture; end it and capture again";
    case errc::stream_capture_merge:
      return "the call would connect two different captures, and has broken them; end one "
             "capture before connecting the streams";
    case errc::stream_capture_isolation:
      return "the event was recorded outside the capture; record it in a stream that takes "
             "part in the capture";
    case errc::not_supported:
      if (is_value_operation(name))
        return "the device does not support this operation; check "
               "weir::wait_word_support(device) for 64-bit words, until::nor and flush";
      if (name == "cuImportExternalMemory")
        return "the file cannot be sealed against shrinking; create the memfd with "
               "MFD_ALLOW_SEALING";
      return "";
    case errc::context_is_destroyed:
      return "the context was reset or released outside weir, which destroyed all objects "
             "created in it, wait words included; create the objects again";
    case errc::unknown:
      if (name.starts_with("cuImportExternal"))
        return "the file descriptor does not refer to an object of the requested handle type; "
               "pass the type that it was exported with";
      return "";
    case errc::invalid_resource_configuration:
      return "the resource cannot be split this way; ask for fewer multiprocessors or groups, "
             "and split sm_resource::of(device) or sm_resource::of(context)";
    case errc::peer_access_unsupported:
      return "the devices cannot access each other's memory; check device::can_access() first";
    default: return "";
  }
}

namespace {

struct function_version {
  std::string_view symbol;
  std::string_view base;
  int version;
};

constexpr function_version function_versions[] = {
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  {#symbol, #base, version},
#include "driver/functions.def"
#undef WEIR_FUNCTION
};

// Returns the version that adds the first form of this call newer than `newer_than`, as
// cuDriverGetVersion encodes it. If no form is newer, returns the last form's version; 0 for a
// function that weir does not use.
int first_version_of(std::string_view call, int newer_than) noexcept {
  int first = 0;
  int last = 0;
  for (const function_version& version_entry : function_versions) {
    if (version_entry.symbol != call && version_entry.base != call) continue;
    last = std::max(last, version_entry.version);
    if (version_entry.version > newer_than && (first == 0 || version_entry.version < first))
      first = version_entry.version;
  }
  return first != 0 ? first : last;
}

}  // namespace

std::string newer_driver_hint(const char* call) {
  int now = 0;
  static_cast<void>(driver().cuDriverGetVersion(&now));
  const int version = first_version_of(call, now);
  if (version == 0)
    return "the driver is too old for this call; install a newer driver (`weir info` shows "
           "what this one lacks)";
  return fmt::format(
      "{} needs a driver for CUDA {}.{} or later; install a newer driver (`weir info` "
      "shows what else this one lacks)",
      call, version / 1000, version % 1000 / 10);
}

}  // namespace weir::detail
