// SPDX-License-Identifier: Apache-2.0
// driver/call_interceptor.cpp - the intercepting table, generated from functions.def.
#include "driver/call_interceptor.hpp"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace weir::detail {
namespace {

struct function_names {
  std::string_view symbol;
  const char* base;
};

constexpr function_names names[] = {
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) {#symbol, #base},
#include "driver/functions.def"
#undef WEIR_FUNCTION
};
static_assert(std::size(names) == function_count);

enum class place : std::size_t {
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) symbol,
#include "driver/functions.def"
#undef WEIR_FUNCTION
};

struct interception {
  // Held shared by calls while they ask the observers. Held exclusively while observers change.
  std::shared_mutex lock;
  std::vector<call_observer*> observers;
  // True if the intercepting table is in use, or if the table in use calls it.
  bool is_installed = false;
};

// Never destroyed, because a thread may be in a wrapper while statics are destroyed.
interception& the_interception() {
  static auto* const instance = new interception;
  return *instance;
}

constinit std::atomic<const driver_table*> wrapped_table{nullptr};

// Asks the observers in the order in which they were added. Returns the first failure.
CUresult ask_observers(std::size_t function) noexcept {
  interception& current = the_interception();
  const std::shared_lock lock{current.lock};
  for (call_observer* const observer : current.observers) {
    if (const CUresult failure = observer->before_call(function); failure != CUDA_SUCCESS)
      return failure;
  }
  return CUDA_SUCCESS;
}

template <place Place, auto Member>
struct interceptor;

template <place Place, class... Arguments, CUresult (*driver_table::*Member)(Arguments...)>
struct interceptor<Place, Member> {
  static CUresult call(Arguments... arguments) {
    const CUresult failure = ask_observers(static_cast<std::size_t>(Place));
    if (failure != CUDA_SUCCESS) return failure;
    return (wrapped_table.load(std::memory_order_acquire)->*Member)(arguments...);
  }
};

constexpr driver_table intercepting_table{
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  &interceptor<place::symbol, &driver_table::symbol>::call,
#include "driver/functions.def"
#undef WEIR_FUNCTION
};

}  // namespace

function_set functions_named(std::string_view name) noexcept {
  function_set found;
  for (std::size_t i = 0; i < function_count; ++i)
    found[i] = names[i].symbol == name || names[i].base == name;
  return found;
}

const char* base_name_of(std::size_t function) noexcept { return names[function].base; }

void add_observer(call_observer& observer) {
  static_cast<void>(driver());  // selects a driver if none is in use yet
  interception& current = the_interception();
  const std::unique_lock lock{current.lock};
  current.observers.push_back(&observer);
  if (current.is_installed) return;
  wrapped_table.store(table_in_use.load(std::memory_order_acquire), std::memory_order_release);
  table_in_use.store(&intercepting_table, std::memory_order_release);
  current.is_installed = true;
}

void remove_observer(call_observer& observer) noexcept {
  interception& current = the_interception();
  const std::unique_lock lock{current.lock};
  std::erase(current.observers, &observer);
  if (!current.observers.empty()) return;
  const driver_table* expected = &intercepting_table;
  current.is_installed = !table_in_use.compare_exchange_strong(
      expected, wrapped_table.load(std::memory_order_relaxed));
}

}  // namespace weir::detail
