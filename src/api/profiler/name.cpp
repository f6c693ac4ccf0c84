// SPDX-License-Identifier: Apache-2.0
// api/profiler/name.cpp - names of objects, used in messages and passed to profilers.
#include <weir/profiler/name.hpp>

#include "api/core/check.hpp"
#include "api/core/never_destroyed.hpp"
#include "api/device/primary_context.hpp"
#include "api/profiler/names.hpp"
#include "api/profiler/nvtx.hpp"
#include "os/forked_child.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <utility>

namespace weir {
namespace detail {
namespace {

using name_key = std::pair<subject::kind, std::uintptr_t>;

name_key name_key_of(subject object) noexcept {
  if (object.type == subject::kind::device)
    return {object.type, static_cast<std::uintptr_t>(object.ordinal)};
  // The legacy default stream has two handles, null and CU_STREAM_LEGACY.
  if (object.type == subject::kind::stream && object.handle == nullptr)
    object = stream_ref{CU_STREAM_LEGACY};
  return {object.type, reinterpret_cast<std::uintptr_t>(object.handle)};
}

// No function outside this file is called while the lock is held.
struct name_table {
  std::mutex guard;
  std::map<name_key, std::string> names;
};

name_table& names_of_objects() {
  static never_destroyed<name_table> singleton;
  return *singleton;
}

// Stores the name, or erases it if `name` is empty.
void store_name(subject object, std::string_view name) {
  name_table& shared_table = names_of_objects();
  const std::lock_guard lock{shared_table.guard};
  if (name.empty()) {
    shared_table.names.erase(name_key_of(object));
  } else {
    shared_table.names.insert_or_assign(name_key_of(object), std::string{name});
  }
  name_count.store(static_cast<int>(shared_table.names.size()), std::memory_order_relaxed);
}

void require_not_closed(subject object, call_site at) {
  if (object.handle == closed_handle<void>()) throw_closed("weir::set_name", object, at);
}

void assign_name(subject object, std::string_view name,
                 void (*profiler::*callback)(void* handle, const char* name), call_site at) {
  require_not_closed(object, at);
  store_name(object, name);
  const profiler* const tool = loaded_profiler();
  if (tool != nullptr && tool->*callback != nullptr)
    (tool->*callback)(reinterpret_cast<void*>(name_key_of(object).second),
                      std::string{name}.c_str());
}

}  // namespace

std::string find_name(subject object) {
  if (name_count.load(std::memory_order_relaxed) == 0) return {};
  name_table& shared_table = names_of_objects();
  const std::lock_guard lock{shared_table.guard};
  const auto entry = shared_table.names.find(name_key_of(object));
  return entry != shared_table.names.end() ? entry->second : std::string{};
}

void erase_name(subject object) noexcept {
  // At the fork another thread, which does not exist in the child, may have held the lock.
  if (!os::in_forked_child()) store_name(object, {});
}

std::string quoted_name(subject object) {
  const std::string name = find_name(object);
  return name.empty() ? name : fmt::format("\"{}\" ", name);
}

}  // namespace detail

using detail::profiler;
using detail::subject;

void set_name(stream_ref stream, std::string_view name, call_site at) {
  detail::assign_name(stream, name, &profiler::name_stream, at);
}

void set_name(event_ref event, std::string_view name, call_site at) {
  detail::assign_name(event, name, &profiler::name_event, at);
}

void set_name(context_ref context, std::string_view name, call_site at) {
  detail::assign_name(subject{context.get()}, name, &profiler::name_context, at);
}

// Profilers have no function for the names of pools.
void set_name(memory_pool_ref pool, std::string_view name, call_site at) {
  detail::require_not_closed(pool, at);
  detail::store_name(pool, name);
}

void set_name(device gpu, std::string_view name, call_site at) {
  static_cast<void>(detail::record_of(gpu, "weir::set_name", at));  // throws if there is none
  detail::store_name(gpu, name);
  const profiler* const tool = detail::loaded_profiler();
  if (tool != nullptr && tool->name_device != nullptr) {
    tool->name_device(gpu.ordinal(), std::string{name}.c_str());
  }
}

void set_thread_name(std::string_view name) {
  constexpr std::size_t max_length = 15;  // the limit of Linux
  ::pthread_setname_np(::pthread_self(), std::string{name.substr(0, max_length)}.c_str());
  const profiler* const tool = detail::loaded_profiler();
  if (tool != nullptr && tool->name_thread != nullptr) {
    tool->name_thread(static_cast<std::uint32_t>(::syscall(SYS_gettid)), std::string{name}.c_str());
  }
}

std::string name_of(stream_ref stream) { return detail::find_name(stream); }
std::string name_of(event_ref event) { return detail::find_name(event); }
std::string name_of(memory_pool_ref pool) { return detail::find_name(pool); }
std::string name_of(context_ref context) { return detail::find_name(subject{context.get()}); }
std::string name_of(device gpu) { return detail::find_name(gpu); }

}  // namespace weir
