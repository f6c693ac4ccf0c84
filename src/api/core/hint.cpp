// SPDX-License-Identifier: Apache-2.0
// api/core/hint.cpp - what to do about an error.
#include "api/core/hint.hpp"

#include "driver/results.hpp"
#include "driver/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace weir::detail {
namespace {

struct hint_entry {
  errc code;
  std::string_view calls;  // names separated by |; a * at the end of a name matches any text
  const char* hint;
};

// hint_for() returns the hint of the first entry that matches the code and the call.
constexpr hint_entry hints[] = {
    {errc::closed, "*",
     "keep the object open while it is used, and its owner as long as its references are used"},
    {errc::not_permitted, "*",
     "CUDA calls are not allowed in a host function; make the call in the thread that waits for "
     "the host function"},
    {errc::not_initialized, "*",
     "a child process made by fork() cannot use its parent's driver; fork before the first use "
     "of weir"},
    {errc::invalid_value, "cuMemcpy*",
     "an address is null or points to the wrong kind of memory, the copy exceeds an allocation, or "
     "an address is in a pool of another device, which gives the copying device no access; check "
     "both addresses and the size, or give that device access (memory_pool_ref::set_access)"},
    {errc::invalid_value, "cuMemset*",
     "the range is not device-accessible memory, exceeds its allocation, is not made of whole "
     "elements, or is in a pool of another device, which gives the stream's device no access; fill "
     "a range inside a buffer or pinned_buffer, or give the stream's device access "
     "(memory_pool_ref::set_access)"},
    {errc::invalid_value, "cuMemFreeAsync",
     "the address was not returned by cuMemAllocAsync, or was freed before; free each allocation "
     "once, by its first address"},
    {errc::invalid_value, "cuStreamWaitValue*|cuStreamWriteValue*|cuStreamBatchMemOp",
     "the address or the condition is invalid; use a condition of weir::until, and a word "
     "aligned to its size in pinned, registered or device memory that is neither managed nor "
     "from a pool (a weir::wait_word, an element of a pinned_buffer or ipc_buffer)"},
    {errc::invalid_value, "cuMemPrefetchAsync|cuMemAdvise|cuStreamAttachMemAsync",
     "the memory is not managed, or the location does not exist; use a managed_buffer, and an "
     "existing device or host NUMA node"},
    {errc::invalid_value, "cuExternalMemoryGetMappedBuffer",
     "the range exceeds the exporter's allocation, whose size the driver checks only now; map a "
     "range inside it"},
    {errc::invalid_value, "cuMemPoolGetAccess|cuMemPoolSetAccess",
     "the pool is closed, or the device or the access is invalid; use an open pool, a device of "
     "device::all() and pool_access::none or pool_access::read_write"},
    {errc::invalid_value, "cuMemPoolCreate",
     "the device does not exist, or the driver does not support this kind of pool; use other "
     "memory or sharing in memory_pool_options"},
    {errc::invalid_value, "cuDeviceSetMemPool",
     "the pool is closed, holds no device memory, or belongs to another device; use an open pool "
     "of device memory on this device"},
    {errc::invalid_value, "cuMemPoolImport*",
     "the descriptor or the handle is not one of a live pool; pass those of a pool and of memory "
     "that are still open in the process that created them"},
    {errc::invalid_value, "cuMemPoolExport*",
     "the pool is closed or not shared, or the address is not in a pool that was exported; create "
     "the pool with memory_pool_options::sharing, and export it before its memory"},
    {errc::invalid_value, "cuMemPool*",
     "the pool is closed, or is a default pool, which cannot be destroyed; use an open pool, and "
     "destroy only pools that the program created"},
    {errc::invalid_value, "cuDeviceGetAttribute",
     "the driver does not know this attribute; use an older attribute or install a newer driver"},
    {errc::invalid_value, "cuGraphLaunch",
     "memory that the last launch allocated was not freed, or an object that the graph uses was "
     "destroyed; free that memory or set instantiate_options::auto_free_on_launch, and keep the "
     "objects alive"},
    {errc::invalid_value,
     "cuEventQuery|cuEventSynchronize|cuEventElapsedTime|cuStreamWaitEvent|cuGreenCtxWaitEvent",
     "the event was last recorded in a capture that has ended or was broken, and orders only the "
     "work inside it; record it again outside, or in the capture with weir::external, so that each "
     "launch of the graph records it"},
    {errc::invalid_value, "cuIpcOpen*",
     "the handle is not one of a live object; pass the handle of an object that is still open in "
     "the process that created it"},
    {errc::map_failed, "cuIpcOpen*",
     "the handle is not one of a live object; pass the handle of an object that is still open in "
     "the process that created it"},
    {errc::invalid_value, "cuStreamAddCallback|cuLaunchHostFunc",
     "the function is null; pass a function"},
    {errc::invalid_context, "cuEventElapsedTime",
     "the events belong to different contexts; measure between events of one context"},
    {errc::invalid_context, "cuIpcOpen*",
     "the process that created the object cannot open its handle; use the object itself, or open "
     "the handle in another process"},
    {errc::invalid_context, "*",
     "no valid context is current; make one current (weir::context_scope), or pass a stream that "
     "was created on a device"},
    {errc::invalid_device, "cuMemPoolSetAccess",
     "the device does not exist, or is the pool's own, whose access cannot change; pass another "
     "device of device::all()"},
    {errc::invalid_device, "*", "the device does not exist; use a device of weir::device::all()"},
    {errc::invalid_handle, "cuEventRecord",
     "the event or the stream is closed, or they belong to different contexts; use an open event "
     "and an open stream of one context"},
    {errc::invalid_handle, "cuEventElapsedTime",
     "an event is closed, was created without timing, or was never recorded; record two open "
     "timed_events"},
    {errc::invalid_handle, "*",
     "the object was destroyed, or belongs to another context; use an open object of this "
     "context"},
    {errc::out_of_memory, "cuMemAllocFromPoolAsync",
     "free memory, or wait for queued frees with pool.retrying() (not in a capture); waiting does "
     "not help if the request alone exceeds the pool's max_size or the device's memory"},
    {errc::out_of_memory, "cuMemPoolCreate", "free memory, or set a smaller max_size"},
    {errc::out_of_memory, "cuEventCreate",
     "free memory, or raise the limit on open files (ulimit -n), because an event that is shared "
     "with other processes needs a file descriptor"},
    {errc::out_of_memory, "cuExternalMemoryGetMappedBuffer",
     "free memory, or open the file descriptor for reading and writing (O_RDWR)"},
    {errc::out_of_memory, "cuMemAlloc|cuMemAllocAsync|cuMemAllocManaged",
     "free memory, or wait for queued stream-ordered frees (stream.sync())"},
    {errc::out_of_memory, "cuMemHostAlloc",
     "free pinned memory, or raise the limits on the process's memory (ulimit -l, ulimit -v)"},
    {errc::out_of_memory, "*", "free memory of the process or of the device"},
    {errc::not_recorded, "*", "record both events before measuring the time between them"},
    {errc::timing_disabled, "*", "use a timed_event (stream.record_timed())"},
    {errc::not_ready, "cuEventElapsedTime",
     "the later event is not done; wait for it first, or call weir::sync_elapsed()"},
    {errc::captured_event, "*",
     "the event was recorded in a capture and orders only the work inside that capture; record "
     "it again outside before the host queries it or waits for it"},
    {errc::stream_capture_unsupported,
     "cuMemAlloc|cuMemAllocManaged|cuMemFree|cuMemHostAlloc|cuMemFreeHost|cuMemHostRegister|"
     "cuMemPool*|cuGraphInstantiate*|cuGraphExecDestroy|cuModule*|cuLibrary*|cuExternalMemory*|"
     "cuImportExternal*|cuIpc*",
     "a capture that was started directly through the driver forbids the call, and may be broken "
     "by it; make the call before or after that capture, or under a weir::thread_capture_mode of "
     "capture_mode::relaxed"},
    {errc::stream_capture_unsupported,
     "cuEventQuery|cuEventSynchronize|cuStreamQuery|cuStreamSynchronize",
     "the stream captures, or a capture of another stream that was started directly through the "
     "driver forbids the call; make it before or after the capture, or for another stream under a "
     "weir::thread_capture_mode of capture_mode::relaxed"},
    {errc::stream_capture_unsupported, "*",
     "the call cannot be recorded in a capture; make it before the capture begins or after it "
     "ends"},
    {errc::stream_capture_implicit, "*",
     "the legacy default stream would wait for a capturing stream; use another stream, or "
     "capture a non-blocking stream"},
    {errc::stream_capture_invalidated, "*",
     "an earlier call broke the capture, which was started directly through the driver; end it and "
     "capture again, with a weir::capture_participant to have the error name that call"},
    {errc::stream_capture_merge, "*",
     "the call would connect two different captures, and has broken them; end one capture before "
     "connecting the streams"},
    {errc::stream_capture_isolation, "*",
     "the stream waits for work outside the capture, and has broken the capture; wait before the "
     "capture begins, or for an event recorded in a stream that takes part in it, or with "
     "weir::external, so that each launch of the graph waits"},
    {errc::not_supported, "cuStreamWaitValue*|cuStreamWriteValue*|cuStreamBatchMemOp",
     "the device does not support this operation; check weir::wait_word_support(device) for "
     "64-bit words, until::nor and flush"},
    {errc::not_supported, "cuImportExternalMemory",
     "the file cannot be sealed against shrinking; create the memfd with MFD_ALLOW_SEALING"},
    {errc::context_is_destroyed, "*",
     "the context was reset or released outside weir, which destroyed all objects created in it, "
     "wait words included; create the objects again"},
    {errc::unknown, "cuImportExternal*",
     "the file descriptor does not refer to an object of the requested handle type; pass the "
     "type that it was exported with"},
    {errc::unknown, "cuMemPoolImportFromShareableHandle",
     "the file descriptor does not refer to a pool; pass the one that weir::export_fd() "
     "returned"},
    {errc::invalid_resource_configuration, "*",
     "the resource cannot be split this way; ask for fewer multiprocessors or groups, and split "
     "sm_resource::query(device) or sm_resource::query(context)"},
    {errc::peer_access_unsupported, "*",
     "the devices cannot access each other's memory; check device::can_access() first"},
};

bool matches_call(std::string_view calls, std::string_view call) noexcept {
  for (;;) {
    const std::size_t end = std::min(calls.find('|'), calls.size());
    const std::string_view name = calls.substr(0, end);
    if (name.ends_with('*') ? call.starts_with(name.substr(0, end - 1)) : call == name) return true;
    if (end == calls.size()) return false;
    calls.remove_prefix(end + 1);
  }
}

}  // namespace

const char* hint_for(errc code, const char* call) noexcept {
  if (loses_context(static_cast<abi::CUresult>(code))) {
    return "work that was queued earlier failed, and the context is lost; restart the process";
  }
  const auto* const entry = std::ranges::find_if(
      hints, [&](const hint_entry& e) { return e.code == code && matches_call(e.calls, call); });
  return entry == std::end(hints) ? "" : entry->hint;
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

// Returns the CUDA version that introduced a function, as cuDriverGetVersion encodes it. A function
// may have several versions, such as cuMemAdvise and cuMemAdvise_v2. Returns the lowest version
// above `newer_than`. If there is none, returns the highest version; 0 for a function that weir
// does not use.
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
