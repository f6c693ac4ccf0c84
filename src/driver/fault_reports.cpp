// SPDX-License-Identifier: Apache-2.0
// driver/fault_reports.cpp - fault reports of NVML, whose functions are declared here, so that its
// header is not needed.
#include "driver/fault_reports.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace weir::detail {
namespace {

using nvml_handle = void*;  // a device or a set of events
using nvml_result = int;
constexpr nvml_result nvml_success = 0;
constexpr nvml_result nvml_timeout = 10;
constexpr unsigned long long xid_critical_error = 8;

struct nvml_event {
  nvml_handle device;
  unsigned long long type;
  unsigned long long data;
  unsigned gpu_instance;
  unsigned compute_instance;
};

struct nvml {
  nvml_result (*init)();
  nvml_result (*device_by_bus_id)(const char* bus_id, nvml_handle* device);
  nvml_result (*create_event_set)(nvml_handle* set);
  nvml_result (*register_nvml_events)(nvml_handle device, unsigned long long types,
                                      nvml_handle set);
  nvml_result (*wait)(nvml_handle set, nvml_event* event, unsigned milliseconds);
};

template <class Function>
bool find_nvml_function(void* library, const char* symbol, Function& out) noexcept {
  out = reinterpret_cast<Function>(::dlsym(library, symbol));
  return out != nullptr;
}

// Returns null if the library is missing, lacks a function or cannot be initialised. The library
// stays open, because a thread may be waiting in it while the process ends.
const nvml* open_nvml() noexcept {
  static nvml calls;
  const char* const library_name = std::getenv("WEIR_NVML");
  const char* const file =
      library_name != nullptr && *library_name != '\0' ? library_name : "libnvidia-ml.so.1";
  void* const library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const bool has_all_symbols =
      find_nvml_function(library, "nvmlInit_v2", calls.init) &&
      find_nvml_function(library, "nvmlDeviceGetHandleByPciBusId_v2", calls.device_by_bus_id) &&
      find_nvml_function(library, "nvmlEventSetCreate", calls.create_event_set) &&
      find_nvml_function(library, "nvmlDeviceRegisterEvents", calls.register_nvml_events) &&
      find_nvml_function(library, "nvmlEventSetWait_v2", calls.wait);
  return has_all_symbols && calls.init() == nvml_success ? &calls : nullptr;
}

const nvml* library() noexcept {
  static const nvml* const opened = open_nvml();
  return opened;
}

void* register_events(const char* bus_id) noexcept {
  const nvml* const calls = library();
  nvml_handle device = nullptr;
  nvml_handle set = nullptr;
  if (calls == nullptr || calls->device_by_bus_id(bus_id, &device) != nvml_success ||
      calls->create_event_set(&set) != nvml_success ||
      calls->register_nvml_events(device, xid_critical_error, set) != nvml_success) {
    return nullptr;
  }
  return set;
}

fault_report wait(void* event_set) noexcept {
  constexpr unsigned second = 1'000;
  nvml_event event{};
  const nvml_result answer = library()->wait(event_set, &event, second);
  if (answer == nvml_timeout) return fault_report::none;
  return answer == nvml_success ? fault_report::fault : fault_report::unavailable;
}

}  // namespace

const fault_reports& vendor_fault_reports() noexcept {
  static constexpr fault_reports nvml_reports{&register_events, &wait};
  return nvml_reports;
}

}  // namespace weir::detail
