// SPDX-License-Identifier: Apache-2.0
// driver/vendor.cpp - opens the vendor's library, looks up its functions and checks for a device.
#include "driver/vendor.hpp"

#include "driver/results.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace weir::detail {
namespace {

// Replaces a function that the library lacks, so that the table has no null pointers.
template <class Function>
struct missing_function;

template <class... Arguments>
struct missing_function<CUresult (*)(Arguments...)> {
  static CUresult call(Arguments...) noexcept { return CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER; }
};

template <class Function>
bool find(void* library, const char* symbol, Function& out) noexcept {
  out = reinterpret_cast<Function>(::dlsym(library, symbol));
  return out != nullptr;
}

// Looks up each function by its base name and the version in functions.def. So each function has
// the signature of functions.def, even if the driver also has a newer version of it.
void fill_table(vendor_driver& driver, decltype(driver_table::cuGetProcAddress_v2) get_proc) {
  const auto get_address = [&](const char* base, int version) -> void* {
    void* address = nullptr;
    const CUresult result =
        get_proc(base, &address, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, nullptr);
    return result == CUDA_SUCCESS ? address : nullptr;
  };
  const auto set_member = [&]<class Function>(Function& member, void* address,
                                              std::string_view symbol) {
    if (address != nullptr) {
      member = reinterpret_cast<Function>(address);
    } else {
      member = &missing_function<Function>::call;
      driver.missing_functions.push_back(symbol);
    }
  };
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  set_member(driver.table.symbol, get_address(#base, version), #symbol);
#include "driver/functions.def"
#undef WEIR_FUNCTION
}

// Returns null if the driver is not weir's drop-in.
const dropin_identity* find_dropin_identity(
    decltype(driver_table::cuGetProcAddress_v2) get_proc) noexcept {
  void* identity = nullptr;
  const CUresult answer = get_proc(dropin_identity_name, &identity, min_driver_version,
                                   CU_GET_PROC_ADDRESS_LEGACY_STREAM, nullptr);
  return answer == CUDA_SUCCESS ? static_cast<const dropin_identity*>(identity) : nullptr;
}

std::string library_path_of(void* function, const char* requested) {
  Dl_info info{};
  return ::dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : requested;
}

void set_problem(vendor_driver& driver, CUresult code, const char* call, std::string problem) {
  driver.code = code;
  driver.call = call;
  driver.problem = std::move(problem);
}

void set_call_problem(vendor_driver& driver, CUresult code, const char* call) {
  const result_text words = result_text_of(code);
  set_problem(
      driver, code, call,
      fmt::format("{} of {} returned {} ({})", call, driver.library, words.name, words.text));
}

// Opens the library and finds the two functions that every driver has. Returns null and sets the
// problem if it is not a driver.
void* open_library(vendor_driver& driver, const char* file) {
  void* const library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const problem = ::dlerror();
    set_problem(
        driver, CUDA_ERROR_FILE_NOT_FOUND, "dlopen",
        fmt::format("its library cannot be opened: {}", problem != nullptr ? problem : file));
    return nullptr;
  }
  driver_table& table = driver.table;
  if (!find(library, "cuInit", table.cuInit) ||
      !find(library, "cuDriverGetVersion", table.cuDriverGetVersion)) {
    set_problem(
        driver, CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, "dlsym",
        fmt::format("{} is not a CUDA driver: it has no function cuInit or cuDriverGetVersion",
                    file));
    return nullptr;
  }
  driver.library = library_path_of(reinterpret_cast<void*>(table.cuInit), file);
  return library;
}

// Initialises the driver and checks that it has a device.
void check_device(vendor_driver& driver) {
  if (const CUresult code = driver.table.cuInit(0); code != CUDA_SUCCESS)
    return set_call_problem(driver, code, "cuInit");
  int devices = 0;
  if (const CUresult code = driver.table.cuDeviceGetCount(&devices); code != CUDA_SUCCESS)
    return set_call_problem(driver, code, "cuDeviceGetCount");
  if (devices == 0) {
    set_problem(driver, CUDA_ERROR_NO_DEVICE, "cuDeviceGetCount",
                fmt::format("{} has no device", driver.library));
  }
}

}  // namespace

vendor_driver open_vendor(const char* file) {
  vendor_driver driver;
  driver.library = file;
  void* const library = open_library(driver, file);
  if (library == nullptr) return driver;

  driver_table& table = driver.table;
  if (const CUresult code = table.cuDriverGetVersion(&driver.version); code != CUDA_SUCCESS) {
    set_call_problem(driver, code, "cuDriverGetVersion");
    return driver;
  }
  decltype(table.cuGetProcAddress_v2) get_proc = nullptr;
  if (driver.version < min_driver_version || !find(library, "cuGetProcAddress_v2", get_proc)) {
    set_problem(driver, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "cuDriverGetVersion",
                fmt::format("{} is too old: it is for CUDA {}.{}, and weir needs {}.{} or later",
                            driver.library, driver.version / 1000, driver.version % 1000 / 10,
                            min_driver_version / 1000, min_driver_version % 1000 / 10));
    return driver;
  }
  fill_table(driver, get_proc);
  driver.dropin = find_dropin_identity(get_proc);
  check_device(driver);
  return driver;
}

bool is_loaded_dropin(const char* file) noexcept {
  void* const library = ::dlopen(file, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return false;
  decltype(driver_table::cuGetProcAddress_v2) get_proc = nullptr;
  const bool is_dropin =
      find(library, "cuGetProcAddress_v2", get_proc) && find_dropin_identity(get_proc) != nullptr;
  ::dlclose(library);
  return is_dropin;
}

}  // namespace weir::detail
