// tests/support/fault_table.cpp - a table that counts calls and fails those that it is told to.
#include "support/fault_table.hpp"

#include <array>
#include <limits>
#include <mutex>
#include <stdexcept>

namespace weir::detail {
namespace {

// The functions by place.
enum class place : std::size_t {
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) symbol,
#include "driver/functions.def"
#undef WEIR_FUNCTION
  end
};
constexpr auto places = static_cast<std::size_t>(place::end);
static_assert(sizeof(driver_table) == places * sizeof(void*), "a function's place is its offset in pointers");

// What happens to the calls numbered first to last, of those made since the table was put in. The three are changed
// together, under a lock that is free of contention unless a test fails calls on several threads.
struct order {
  int first = 0;
  int last = 0;
  CUresult code = CUDA_SUCCESS;
};

struct observed {
  std::mutex lock;
  int calls = 0;
  order failing;
};

// Never destroyed and never moved: a thread may be in a wrapper when the table that counts is taken out.
std::array<observed, places> functions;
constinit std::atomic<bool> lives{false};
constinit std::atomic<const driver_table*> real{nullptr};

// Counts a call. The code to fail it with, or CUDA_SUCCESS.
CUresult note_call(std::size_t which) noexcept {
  observed& seen = functions[which];
  const std::lock_guard guard{seen.lock};
  ++seen.calls;
  const order& o = seen.failing;
  return o.first <= seen.calls && seen.calls <= o.last ? o.code : CUDA_SUCCESS;
}

template <place Place, auto Member>
struct wrapper;

template <place Place, class... Arguments, CUresult (*driver_table::*Member)(Arguments...)>
struct wrapper<Place, Member> {
  static CUresult call(Arguments... arguments) {
    const CUresult failure = note_call(static_cast<std::size_t>(Place));
    if (failure != CUDA_SUCCESS) return failure;
    return (real.load(std::memory_order_acquire)->*Member)(arguments...);
  }
};

constexpr driver_table wrapped{
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  &wrapper<place::symbol, &driver_table::symbol>::call,
#include "driver/functions.def"
#undef WEIR_FUNCTION
};

void set_order(std::size_t which, int nth, bool once, CUresult code) noexcept {
  observed& seen = functions[which];
  const std::lock_guard guard{seen.lock};
  const int first = seen.calls + nth;
  seen.failing = {first, once ? first : std::numeric_limits<int>::max(), code};
}

}  // namespace

failing_table::failing_table() : before_{&driver()} {
  if (lives.exchange(true)) throw std::logic_error("a failing_table lives already");
  for (observed& seen : functions) {
    const std::lock_guard guard{seen.lock};
    seen.calls = 0;
    seen.failing = {};
  }
  real.store(before_, std::memory_order_release);
  table_in_use.store(&wrapped, std::memory_order_release);
}

failing_table::~failing_table() {
  table_in_use.store(before_, std::memory_order_release);
  lives.store(false);
}

int failing_table::count_all() const noexcept {
  int all = 0;
  for (std::size_t i = 0; i < places; ++i) all += count_at(i);
  return all;
}

void failing_table::fail_at(std::size_t place, int nth, CUresult code) noexcept { set_order(place, nth, true, code); }

void failing_table::fail_from_at(std::size_t place, int nth, CUresult code) noexcept {
  set_order(place, nth, false, code);
}

int failing_table::count_at(std::size_t place) noexcept {
  const std::lock_guard guard{functions[place].lock};
  return functions[place].calls;
}

}  // namespace weir::detail
