// SPDX-License-Identifier: Apache-2.0
// model/core/process.cpp - initialises the driver.
#include "embedded/model/core/process.hpp"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>

#include "embedded/engine/scheduler.hpp"
#include "embedded/kernel/fibers/fault.hpp"
#include "embedded/model/core/host_waits.hpp"
#include "embedded/model/core/settings.hpp"
#include "embedded/model/core/visible_devices.hpp"

namespace weir::embedded::model {

constinit detail::process_storage detail::process_instance;

namespace {

// Returns the numbers of the devices that the process sees, out of `count` devices.
std::vector<int> visible_numbers(const char* visible, int count) {
  if (visible != nullptr) return visible_devices(visible, count);
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

abi::CUresult process::initialise(const char* visible) {
  if (initialised()) return abi::CUDA_SUCCESS;
  if (forked_.load(std::memory_order_relaxed)) return abi::CUDA_ERROR_NOT_INITIALIZED;
  const std::lock_guard lock{initialise_mutex_};
  if (initialised()) return abi::CUDA_SUCCESS;

  std::string diagnostic;
  const std::optional<settings> requested_settings =
      read_settings([](const char* name) -> const char* { return std::getenv(name); }, diagnostic);
  if (!requested_settings) {
    std::fprintf(stderr, "weir: %s\n", diagnostic.c_str());
    return abi::CUDA_ERROR_INVALID_VALUE;
  }

  configured_handle_values = requested_settings->handles;  // before the first handle
  configured_host_waits = requested_settings->waits;
  // Built in a local variable, so that a failure leaves the process unchanged.
  std::vector<std::unique_ptr<device>> devices;
  const std::vector<int> numbers = visible_numbers(visible, requested_settings->devices);
  if (numbers.empty()) return abi::CUDA_ERROR_NO_DEVICE;
  devices.reserve(numbers.size());
  for (const int number : numbers) {
    devices.push_back(std::make_unique<device>(static_cast<int>(devices.size()), number,
                                               requested_settings->memory_per_device));
  }
  if (pthread_atfork(nullptr, nullptr, disable_in_child) != 0) throw std::bad_alloc{};
  engine::scheduler::instance().configure(requested_settings->schedule);
  kernel::configure(requested_settings->threads);
  kernel::watch_faults();
  devices_ = std::move(devices);
  initialised_.store(true, std::memory_order_release);
  return abi::CUDA_SUCCESS;
}

// A forked child has none of the driver's threads, so no work would run.
void process::disable_in_child() noexcept {
  this_process().forked_.store(true, std::memory_order_relaxed);
  this_process().initialised_.store(false, std::memory_order_relaxed);
}

}  // namespace weir::embedded::model
