// SPDX-License-Identifier: Apache-2.0
// tests/support/fault_table.cpp - a driver table that counts calls and injects failures.
#include "support/fault_table.hpp"

#include <array>
#include <limits>
#include <mutex>
#include <stdexcept>

namespace weir::detail {
namespace {

// Indices of the functions in the table.
enum class function_index : std::size_t {
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) symbol,
#include "driver/functions.def"
#undef WEIR_FUNCTION
  end
};
constexpr auto function_count = static_cast<std::size_t>(function_index::end);
static_assert(sizeof(driver_table) == function_count * sizeof(void*),
              "a function's place is its offset in pointers");

// Makes the calls numbered first to last fail; calls are counted since the table was installed. The
// three members change together, under a lock without contention unless a test fails calls on
// several threads.
struct injected_fault {
  int first = 0;
  int last = 0;
  CUresult code = CUDA_SUCCESS;
};

struct call_record {
  std::mutex lock;
  int calls = 0;
  injected_fault failing;
};

// Never destroyed and never moved: a thread may be in a wrapper when the fault_table ends.
std::array<call_record, function_count> functions;
constinit std::atomic<bool> is_alive{false};
constinit std::atomic<const driver_table*> wrapped_table{nullptr};

// Counts a call. Returns the code to fail it with, or CUDA_SUCCESS.
CUresult record_call(std::size_t which) noexcept {
  call_record& record = functions[which];
  const std::lock_guard guard{record.lock};
  ++record.calls;
  const injected_fault& o = record.failing;
  return o.first <= record.calls && record.calls <= o.last ? o.code : CUDA_SUCCESS;
}

template <function_index Index, auto Member>
struct wrapper;

template <function_index Index, class... Arguments, CUresult (*driver_table::*Member)(Arguments...)>
struct wrapper<Index, Member> {
  static CUresult call(Arguments... arguments) {
    const CUresult failure = record_call(static_cast<std::size_t>(Index));
    if (failure != CUDA_SUCCESS) return failure;
    return (wrapped_table.load(std::memory_order_acquire)->*Member)(arguments...);
  }
};

constexpr driver_table wrapped{
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  &wrapper<function_index::symbol, &driver_table::symbol>::call,
#include "driver/functions.def"
#undef WEIR_FUNCTION
};

void set_fault(std::size_t which, int nth, bool once, CUresult code) noexcept {
  call_record& record = functions[which];
  const std::lock_guard guard{record.lock};
  const int first = record.calls + nth;
  record.failing = {first, once ? first : std::numeric_limits<int>::max(), code};
}

}  // namespace

fault_table::fault_table() : previous_{&driver()} {
  if (is_alive.exchange(true)) throw std::logic_error("a failing_table lives already");
  for (call_record& record : functions) {
    const std::lock_guard guard{record.lock};
    record.calls = 0;
    record.failing = {};
  }
  wrapped_table.store(previous_, std::memory_order_release);
  table_in_use.store(&wrapped, std::memory_order_release);
}

fault_table::~fault_table() {
  table_in_use.store(previous_, std::memory_order_release);
  is_alive.store(false);
}

int fault_table::count_all() const noexcept {
  int all = 0;
  for (std::size_t i = 0; i < function_count; ++i) all += count_at(i);
  return all;
}

void fault_table::fail_at(std::size_t function_index, int nth, CUresult code) noexcept {
  set_fault(function_index, nth, true, code);
}

void fault_table::fail_from_at(std::size_t function_index, int nth, CUresult code) noexcept {
  set_fault(function_index, nth, false, code);
}

int fault_table::count_at(std::size_t function_index) noexcept {
  const std::lock_guard guard{functions[function_index].lock};
  return functions[function_index].calls;
}

}  // namespace weir::detail
