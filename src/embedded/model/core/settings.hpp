// SPDX-License-Identifier: Apache-2.0
// model/core/settings.hpp - the settings of the embedded driver in the environment.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "embedded/engine/schedule.hpp"
#include "embedded/kernel/blocks/thread_order.hpp"
#include "embedded/model/core/handle_table.hpp"
#include "embedded/model/core/host_waits.hpp"

namespace weir::embedded::model {

struct settings {
  int devices = 1;                                // WEIR_EMBEDDED_DEVICES
  std::size_t memory_per_device = 0;              // WEIR_EMBEDDED_MEMORY, in bytes
  engine::schedule schedule;                      // WEIR_EMBEDDED_SCHEDULE
  kernel::thread_order threads;                   // WEIR_EMBEDDED_THREADS
  host_waits waits = host_waits::as_gpu;          // WEIR_EMBEDDED_WAITS
  handle_values handles = handle_values::unique;  // WEIR_EMBEDDED_HANDLES
};

// A function that looks up a variable of the environment, usually std::getenv. It returns null if
// the variable is not set.
using environment = const char* (*)(const char* name);

// Reads the variables. A value must be valid up to its last character; an empty value counts
// as not set. For an invalid value returns nothing, and sets `diagnostic` to one line that names
// the variable, the value and the accepted values. Throws std::bad_alloc.
[[nodiscard]] std::optional<settings> read_settings(environment look_up, std::string& diagnostic);

// Returns os::usable_memory(), read once: the physical memory of the machine or of the container.
// Throws std::bad_alloc.
[[nodiscard]] std::size_t host_memory();

}  // namespace weir::embedded::model
