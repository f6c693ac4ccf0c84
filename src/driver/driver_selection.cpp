// SPDX-License-Identifier: Apache-2.0
// driver/driver_selection.cpp - chooses the driver: by use_driver(), else the environment, else
// availability.
#include "driver/call_interceptor.hpp"
#include "driver/engine_services.hpp"
#include "driver/requested_failure.hpp"
#include "driver/results.hpp"
#include "driver/table.hpp"
#include "driver/vendor.hpp"
#include "driver/verify.hpp"
#include "embedded/services.hpp"
#include "embedded/table.hpp"
#include "os/at_exit.hpp"
#include "os/forked_child.hpp"

#include <weir/core/driver.hpp>
#include <weir/core/error.hpp>

#include <fmt/format.h>
#include <pthread.h>

#include <cstdlib>
#include <mutex>
#include <new>
#include <string_view>

namespace weir {
namespace detail {
namespace {

// The driver in use. Never destroyed, because destructors of static objects may still call it.
struct selected_driver {
  driver_table table;
  driver_info info;
  const engine_services* services = nullptr;  // null if the embedded driver has none for weir
};

std::mutex selection_mutex;                     // held while a driver is chosen
constinit selected_driver* selected = nullptr;  // guarded by `selection_mutex`

// Returns the fallback if the variable is not set, or empty.
const char* environment(const char* name, const char* fallback) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : fallback;
}

const char* vendor_library() { return environment("WEIR_LIBCUDA", "libcuda.so.1"); }

vendor_driver open_vendor_library() { return open_vendor(vendor_library()); }

selected_driver* make_selected(vendor_driver&& vendor) {
  auto* const opened = new selected_driver{vendor.table, {}, nullptr};
  opened->info.kind = driver_kind::cuda;
  opened->info.version = vendor.version;
  opened->info.library = std::move(vendor.library);
  opened->info.missing_functions = std::move(vendor.missing_functions);
  opened->info.is_dropin = vendor.dropin != nullptr;
  return opened;
}

// Uses the drop-in as the embedded driver, so that weir and the other libraries of the process,
// which call the drop-in, share its devices.
selected_driver* make_dropin(vendor_driver&& vendor) {
  const engine_services* const services = services_of(*vendor.dropin);
  selected_driver* const opened = make_selected(std::move(vendor));
  opened->info.kind = driver_kind::embedded;
  opened->services = services;
  return opened;
}

selected_driver* open_embedded(call_site at) {
  const driver_table& table = embedded::table();
  if (const CUresult code = table.cuInit(0); code != CUDA_SUCCESS) {
    throw error{static_cast<errc>(code), "cuInit", "the embedded driver",
                "an environment variable has an invalid value; correct the WEIR_EMBEDDED_ "
                "variable that standard error names",
                at};
  }
  auto* const opened = new selected_driver{table, {}, &embedded::services()};
  opened->info.kind = driver_kind::embedded;
  table.cuDriverGetVersion(&opened->info.version);
  return opened;
}

// Opens the embedded driver on request: the drop-in if the process has already loaded it.
selected_driver* require_embedded(call_site at) {
  if (!is_loaded_dropin(vendor_library())) return open_embedded(at);
  vendor_driver vendor = open_vendor_library();
  return vendor.is_usable() ? make_dropin(std::move(vendor)) : open_embedded(at);
}

selected_driver* require_cuda(std::string_view requester, call_site at) {
  vendor_driver vendor = open_vendor_library();
  if (vendor.is_usable()) return make_selected(std::move(vendor));
  throw error{
      static_cast<errc>(vendor.code), vendor.call, vendor.library,
      fmt::format("{} requires the vendor's driver, but {}; install a driver for CUDA 12.0 or "
                  "later, name its library in WEIR_LIBCUDA, or select the embedded driver",
                  requester, vendor.problem),
      at};
}

selected_driver* open_requested(driver_kind kind, std::string_view requester, call_site at) {
  selected_driver* const opened =
      kind == driver_kind::cuda ? require_cuda(requester, at) : require_embedded(at);
  opened->info.reason = fmt::format("{} asks for it", requester);
  return opened;
}

selected_driver* open_available(call_site at) {
  vendor_driver vendor = open_vendor_library();
  if (vendor.is_usable() && vendor.dropin != nullptr) {
    selected_driver* const opened = make_dropin(std::move(vendor));
    opened->info.reason = "libcuda.so.1 is weir's drop-in";
    return opened;
  }
  if (vendor.is_usable()) {
    selected_driver* const opened = make_selected(std::move(vendor));
    opened->info.reason = "the vendor's driver has a device";
    return opened;
  }
  selected_driver* const opened = open_embedded(at);
  opened->info.reason = "the vendor's driver cannot be used here";
  opened->info.vendor_problem = std::move(vendor.problem);
  return opened;
}

selected_driver* open_from_environment(call_site at) {
  const std::string_view value = environment("WEIR_DRIVER", "auto");
  if (value == "auto") return open_available(at);
  for (const driver_kind kind : {driver_kind::cuda, driver_kind::embedded}) {
    if (value == to_string(kind))
      return open_requested(kind, fmt::format("WEIR_DRIVER={}", value), at);
  }
  throw error{errc::invalid_value, "use_driver", "WEIR_DRIVER",
              fmt::format("the value is '{}'; use auto, cuda or embedded", value), at};
}

// Reads WEIR_VERIFY. Called before a driver is opened, so that an invalid value has no effect.
bool verify_from_environment(call_site at) {
  const std::string_view value = environment("WEIR_VERIFY", "0");
  if (value == "0") return false;
  if (value == "1") return true;
  throw error{errc::invalid_value, "use_driver", "WEIR_VERIFY",
              fmt::format("the value is '{}'; use 0 or 1", value), at};
}

// Fails the call that WEIR_FAIL_CALL requests.
class requested_failure_observer final : public call_observer {
 public:
  CUresult before_call(std::size_t function) noexcept override {
    return count_call(base_name_of(function));
  }
};

// Registers the fork handlers at the first call. They hold os::at_exit_lock during a fork, and set
// os::forked_with_driver in the child. The caller holds `selection_mutex`.
void register_fork_handlers() {
  static bool registered = false;
  if (registered) return;
  constexpr auto before = [] {
    os::at_exit_lock.lock();
    os::at_exit_lock_is_held = true;
  };
  constexpr auto in_parent = [] {
    os::at_exit_lock_is_held = false;
    os::at_exit_lock.unlock();
  };
  constexpr auto in_child = [] {
    os::at_exit_lock_is_held = false;
    os::at_exit_lock.unlock();
    os::forked_with_driver.store(true, std::memory_order_relaxed);
  };
  if (pthread_atfork(before, in_parent, in_child) != 0) throw std::bad_alloc{};
  registered = true;
}

// Opens a driver by open() and makes its table the table in use. The caller holds
// `selection_mutex`.
template <class Open>
void open_and_publish(Open open, call_site at) {
  const bool verify = verify_from_environment(at);
  if (!read_requested_failure()) {
    throw error{errc::invalid_value, "use_driver", "WEIR_FAIL_CALL",
                "the value is not a number of a driver call; count the calls from 1", at};
  }
  selected_driver* const opened = open();
  register_fork_handlers();
  selected = opened;
  if (opened->services != nullptr) {
    embedded_services.store(opened->services, std::memory_order_release);
    embedded_table.store(&opened->table, std::memory_order_release);
  }
  table_in_use.store(&selected->table, std::memory_order_release);
  if (verify) set_verification(true);
  // A drop-in counts its calls itself.
  if (failure_is_requested.load() && !opened->info.is_dropin)
    add_observer(*new requested_failure_observer);
}

const selected_driver& ensure_selected(call_site at) {
  const std::lock_guard lock{selection_mutex};
  if (selected == nullptr) open_and_publish([at] { return open_from_environment(at); }, at);
  return *selected;
}

}  // namespace

const driver_table& select_driver(call_site at) {
  ensure_selected(at);
  return *table_in_use.load(std::memory_order_acquire);  // may be the table that verifies calls
}

}  // namespace detail

std::string_view to_string(driver_kind kind) noexcept {
  return kind == driver_kind::cuda ? "cuda" : "embedded";
}

void use_driver(driver_kind kind, call_site at) {
  using namespace detail;
  if (kind != driver_kind::cuda && kind != driver_kind::embedded) {
    throw error{errc::invalid_value, "use_driver", "the driver",
                "the kind is not a value of weir::driver_kind; use cuda or embedded", at};
  }
  const std::lock_guard lock{selection_mutex};
  if (selected == nullptr) {
    open_and_publish([kind, at] { return open_requested(kind, "the program", at); }, at);
  } else if (selected->info.kind != kind) {
    throw error{
        errc::illegal_state, "use_driver", fmt::format("the {} driver", to_string(kind)),
        fmt::format("the {} driver is already in use, because {}; call use_driver before any other "
                    "function of weir",
                    to_string(selected->info.kind), selected->info.reason),
        at};
  }
}

driver_info current_driver(call_site at) { return detail::ensure_selected(at).info; }

}  // namespace weir
