// model/settings.hpp - what the environment asks of the embedded driver.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "embedded/engine/schedule.hpp"
#include "embedded/kernel/blocks/thread_order.hpp"

namespace weir::embedded::model {

struct settings {
  int devices = 1;                    // WEIR_EMBEDDED_DEVICES
  std::size_t memory_per_device = 0;  // WEIR_EMBEDDED_MEMORY, in bytes
  engine::schedule schedule;          // WEIR_EMBEDDED_SCHEDULE
  kernel::thread_order threads;       // WEIR_EMBEDDED_THREADS
};

// How a variable is looked up: std::getenv, or a test's own. Null where it is not set.
using environment = const char* (*)(const char* name);

// Reads the four variables. A value that is not understood to its last character is refused, an
// empty one too: the result is then empty, and the complaint is one line that names the variable,
// the value and what is accepted. Throws std::bad_alloc.
[[nodiscard]] std::optional<settings> read_settings(environment look_up, std::string& diagnostic);

// Bytes of physical memory of this machine.
[[nodiscard]] std::size_t host_memory() noexcept;

}  // namespace weir::embedded::model
