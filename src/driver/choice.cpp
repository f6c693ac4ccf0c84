// driver/choice.cpp - which driver the process runs on: a call, else the environment, else what the machine has.
#include "driver/choice.hpp"

#include "os/at_exit.hpp"
#include "driver/engine_services.hpp"
#include "os/forked_child.hpp"
#include "driver/report.hpp"
#include "driver/results.hpp"
#include "driver/table.hpp"
#include "driver/vendor.hpp"
#include "driver/verify.hpp"
#include "embedded/services.hpp"
#include "embedded/table.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <cstdlib>
#include <mutex>
#include <new>

namespace weir {
namespace detail {
namespace {

// A driver in use. Never destroyed: destructors of static objects may still call it.
struct chosen_driver {
  driver_table table;
  driver_info info;
};

std::mutex choosing;                        // held while a driver is chosen
constinit chosen_driver* chosen = nullptr;  // under `choosing`

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

const char* vendor_file() {
  const char* const value = std::getenv("WEIR_LIBCUDA");
  return value != nullptr && *value != '\0' ? value : "libcuda.so.1";
}

chosen_driver* take(vendor_driver&& vendor) {
  auto* const taken = new chosen_driver{vendor.table, {}};
  taken->info.kind = driver_kind::cuda;
  taken->info.version = vendor.version;
  taken->info.library = std::move(vendor.library);
  taken->info.missing_functions = std::move(vendor.missing_functions);
  return taken;
}

chosen_driver* open_embedded(call_site at) {
  const driver_table& table = embedded::table();
  if (const CUresult code = table.cuInit(0); code != CUDA_SUCCESS) {
    refuse(
        static_cast<errc>(code), "cuInit", "the embedded driver",
        "standard error tells which of WEIR_EMBEDDED_DEVICES, WEIR_EMBEDDED_MEMORY and WEIR_EMBEDDED_SCHEDULE to mend",
        at);
  }
  auto* const taken = new chosen_driver{table, {}};
  taken->info.kind = driver_kind::embedded;
  table.cuDriverGetVersion(&taken->info.version);
  return taken;
}

chosen_driver* demand_cuda(std::string_view who, call_site at) {
  vendor_driver vendor = open_vendor(vendor_file());
  if (vendor.usable()) return take(std::move(vendor));
  refuse(static_cast<errc>(vendor.code), vendor.call, vendor.library,
         fmt::format("{} asks for the vendor's driver, but {}; install a driver for CUDA 12.0 or later, name its "
                     "library in WEIR_LIBCUDA, or ask for the embedded driver",
                     who, vendor.problem),
         at);
}

chosen_driver* open_demanded(driver_kind kind, std::string_view who, call_site at) {
  chosen_driver* const opened = kind == driver_kind::cuda ? demand_cuda(who, at) : open_embedded(at);
  opened->info.why = fmt::format("{} asks for it", who);
  return opened;
}

chosen_driver* open_what_there_is(call_site at) {
  vendor_driver vendor = open_vendor(vendor_file());
  if (vendor.usable()) {
    chosen_driver* const opened = take(std::move(vendor));
    opened->info.why = "the vendor's driver has a device";
    return opened;
  }
  chosen_driver* const opened = open_embedded(at);
  opened->info.why = "the vendor's driver cannot be used here";
  opened->info.vendor_problem = std::move(vendor.problem);
  return opened;
}

chosen_driver* open_as_the_environment_says(call_site at) {
  const wished_driver wish = parse_wish(environment("WEIR_DRIVER"));
  if (!wish.problem.empty()) refuse(errc::invalid_value, "use_driver", "WEIR_DRIVER", wish.problem, at);
  if (wish.kind) return open_demanded(*wish.kind, fmt::format("WEIR_DRIVER={}", to_string(*wish.kind)), at);
  return open_what_there_is(at);
}

// Looked at before a driver is opened, so that a bad value leaves nothing behind.
bool environment_says_verify(call_site at) {
  const wished_verification wish = parse_verify(environment("WEIR_VERIFY"));
  if (!wish.problem.empty()) refuse(errc::invalid_value, "use_driver", "WEIR_VERIFY", wish.problem, at);
  return wish.on;
}

// Once, with `choosing` held.
void notice_forks() {
  static bool noticed = false;
  if (noticed) return;
  constexpr auto before = [] {
    at_exit_lock.lock();
    at_exit_is_mine = true;
  };
  constexpr auto in_parent = [] {
    at_exit_is_mine = false;
    at_exit_lock.unlock();
  };
  constexpr auto in_child = [] {
    at_exit_is_mine = false;
    at_exit_lock.unlock();
    driver_stayed_in_parent.store(true, std::memory_order_relaxed);
  };
  if (pthread_atfork(before, in_parent, in_child) != 0) throw std::bad_alloc{};
  noticed = true;
}

// With `choosing` held.
template <class Open>
void open_and_publish(Open open, call_site at) {
  const bool verify = environment_says_verify(at);
  chosen_driver* const opened = open();
  notice_forks();
  chosen = opened;
  if (opened->info.kind == driver_kind::embedded) {
    embedded_services.store(&embedded::services(), std::memory_order_relaxed);
    embedded_table.store(&opened->table, std::memory_order_release);
  }
  table_in_use.store(&chosen->table, std::memory_order_release);
  if (verify) set_verification(true);
}

const chosen_driver& choose(call_site at) {
  const std::lock_guard lock{choosing};
  if (chosen == nullptr) open_and_publish([at] { return open_as_the_environment_says(at); }, at);
  return *chosen;
}

}  // namespace

wished_driver parse_wish(std::string_view value) {
  if (value.empty() || value == "auto") return {};
  if (value == "cuda") return {driver_kind::cuda, {}};
  if (value == "embedded") return {driver_kind::embedded, {}};
  return {std::nullopt, fmt::format("its value is '{}', and it may be auto, cuda or embedded", value)};
}

const driver_table& choose_driver() { return choose(call_site{}).table; }

}  // namespace detail

std::string_view to_string(driver_kind kind) noexcept { return kind == driver_kind::cuda ? "cuda" : "embedded"; }

void use_driver(driver_kind kind, call_site at) {
  using namespace detail;
  if (kind != driver_kind::cuda && kind != driver_kind::embedded) {
    refuse(errc::invalid_value, "use_driver", "the driver", "its kind is none of driver_kind", at);
  }
  const std::lock_guard lock{choosing};
  if (chosen == nullptr) {
    open_and_publish([kind, at] { return open_demanded(kind, "the program", at); }, at);
  } else if (chosen->info.kind != kind) {
    refuse(errc::illegal_state, "use_driver", fmt::format("the {} driver", to_string(kind)),
           fmt::format("the {} driver is in use already, because {}; call use_driver before anything else of weir",
                       to_string(chosen->info.kind), chosen->info.why),
           at);
  }
}

driver_info current_driver(call_site at) { return detail::choose(at).info; }

}  // namespace weir
