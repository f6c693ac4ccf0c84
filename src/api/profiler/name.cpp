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

// The names by kind and handle of the object. No function outside this file is called while the
// lock is held.
struct name_table {
  std::mutex guard;
  std::map<std::pair<object_kind, std::uintptr_t>, std::string> names;
};

name_table& names_of_objects() {
  static never_destroyed<name_table> singleton;
  return *singleton;
}

void store_name(object_kind kind, std::uintptr_t handle, std::string_view name) {
  name_table& shared_table = names_of_objects();
  const std::lock_guard lock{shared_table.guard};
  if (name.empty()) {
    shared_table.names.erase({kind, handle});
  } else {
    shared_table.names.insert_or_assign({kind, handle}, std::string{name});
  }
  name_count.store(static_cast<int>(shared_table.names.size()), std::memory_order_relaxed);
}

void require_not_closed(subject object, const void* handle, call_site at) {
  if (handle == closed_handle<void>()) throw_closed("weir::set_name", object, at);
}

// Returns the handle under which the name of a stream is stored. The legacy default stream has two
// handles, null and CU_STREAM_LEGACY.
CUstream canonical_handle(stream_ref stream) noexcept {
  return is_legacy(stream.get()) ? CU_STREAM_LEGACY : stream.get();
}

template <class Handle, class Callback>
void assign_name(object_kind kind, Handle* handle, std::string_view name,
                 Callback profiler::*callback) {
  store_name(kind, reinterpret_cast<std::uintptr_t>(handle), name);
  const profiler* const tool = loaded_profiler();
  if (tool != nullptr && tool->*callback != nullptr)
    (tool->*callback)(handle, std::string{name}.c_str());
}

}  // namespace

std::string find_name(object_kind kind, std::uintptr_t handle) {
  if (name_count.load(std::memory_order_relaxed) == 0) return {};
  name_table& shared_table = names_of_objects();
  const std::lock_guard lock{shared_table.guard};
  const auto entry = shared_table.names.find({kind, handle});
  return entry != shared_table.names.end() ? entry->second : std::string{};
}

void erase_name(object_kind kind, std::uintptr_t handle) noexcept {
  if (os::in_forked_child()) return;
  name_table& shared_table = names_of_objects();
  const std::lock_guard lock{shared_table.guard};
  shared_table.names.erase({kind, handle});
  name_count.store(static_cast<int>(shared_table.names.size()), std::memory_order_relaxed);
}

std::string quoted_name(object_kind kind, const void* handle) {
  const std::string name = find_name(kind, reinterpret_cast<std::uintptr_t>(handle));
  return name.empty() ? name : fmt::format("\"{}\" ", name);
}

}  // namespace detail

using detail::object_kind;
using detail::profiler;

void set_name(stream_ref stream, std::string_view name, call_site at) {
  detail::require_not_closed(stream, stream.get(), at);
  detail::assign_name(object_kind::stream, detail::canonical_handle(stream), name,
                      &profiler::name_stream);
}

void set_name(event_ref event, std::string_view name, call_site at) {
  detail::require_not_closed(event, event.get(), at);
  detail::assign_name(object_kind::event, event.get(), name, &profiler::name_event);
}

void set_name(context_ref context, std::string_view name, call_site at) {
  detail::require_not_closed(detail::subject{context.get()}, context.get(), at);
  detail::assign_name(object_kind::context, context.get(), name, &profiler::name_context);
}

void set_name(memory_pool_ref pool, std::string_view name, call_site at) {
  detail::require_not_closed(pool, pool.get(), at);
  detail::store_name(object_kind::pool, reinterpret_cast<std::uintptr_t>(pool.get()), name);
}

void set_name(device gpu, std::string_view name, call_site at) {
  static_cast<void>(detail::record_of(gpu, "weir::set_name", at));
  detail::store_name(object_kind::device, static_cast<std::uintptr_t>(gpu.ordinal()), name);
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

std::string name_of(stream_ref stream) {
  return detail::find_name(object_kind::stream,
                           reinterpret_cast<std::uintptr_t>(detail::canonical_handle(stream)));
}
std::string name_of(event_ref event) {
  return detail::find_name(object_kind::event, reinterpret_cast<std::uintptr_t>(event.get()));
}
std::string name_of(memory_pool_ref pool) {
  return detail::find_name(object_kind::pool, reinterpret_cast<std::uintptr_t>(pool.get()));
}
std::string name_of(context_ref context) {
  return detail::find_name(object_kind::context, reinterpret_cast<std::uintptr_t>(context.get()));
}
std::string name_of(device gpu) {
  return detail::find_name(object_kind::device, static_cast<std::uintptr_t>(gpu.ordinal()));
}

}  // namespace weir
