// SPDX-License-Identifier: Apache-2.0
// tools/weir/info.cpp - prints the driver and the devices of this machine as text or JSON.
#include "info.hpp"

#include "text.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <weir/core/driver.hpp>
#include <weir/device/device.hpp>

namespace weir::tool {
namespace {

struct named_attribute {
  const char* key;
  const char* text;
  device_attribute which;
};

constexpr named_attribute attributes[] = {
    {"multiprocessors", "multiprocessors", device_attribute::multiprocessor_count},
    {"copy_engines", "copy engines", device_attribute::async_engine_count},
    {"max_threads_per_block", "threads a block", device_attribute::max_threads_per_block},
    {"warp_size", "threads a warp", device_attribute::warp_size},
    {"shared_memory_per_block", "shared memory a block, bytes",
     device_attribute::max_shared_memory_per_block},
    {"l2_cache_bytes", "level 2 cache, bytes", device_attribute::l2_cache_bytes},
    {"clock_rate_khz", "clock, kHz", device_attribute::clock_rate_khz},
    {"ecc", "error correction", device_attribute::ecc_enabled},
    {"integrated", "shares the host's memory", device_attribute::integrated},
    {"unified_addressing", "unified addressing", device_attribute::unified_addressing},
    {"managed_memory", "managed memory", device_attribute::managed_memory},
    {"memory_pools", "memory pools", device_attribute::memory_pools_supported},
};

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string uuid_text(const device_uuid& uuid) {
  std::string text;
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid.bytes[i]);
  }
  return text;
}

nlohmann::ordered_json json_of(weir::device device) {
  const weir::compute_capability capability = device.compute_capability();
  const memory_info memory = device.memory();
  const priority_range priorities = device.priorities();
  nlohmann::ordered_json json{
      {"ordinal", device.ordinal()},
      {"name", device.name()},
      {"embedded", device.is_embedded()},
      {"compute_capability", fmt::format("{}.{}", capability.major, capability.minor)},
      {"memory_bytes", memory.total},
      {"free_memory_bytes", memory.free},
      {"pci_bus_id", device.pci_bus_id()},
      {"uuid", uuid_text(device.uuid())},
      {"least_priority", priorities.least},
      {"greatest_priority", priorities.greatest},
  };
  for (const named_attribute& a : attributes) json[a.key] = device.attribute(a.which);
  nlohmann::ordered_json peers = nlohmann::ordered_json::array();
  for (const weir::device other : weir::device::all()) {
    if (other != device && device.can_access(other)) peers.push_back(other.ordinal());
  }
  json["peers"] = peers;
  return json;
}

nlohmann::ordered_json json_of_machine() {
  const driver_info driver = current_driver();
  nlohmann::ordered_json devices = nlohmann::ordered_json::array();
  for (const weir::device device : weir::device::all()) devices.push_back(json_of(device));
  return {
      {"driver", to_string(driver.kind)},
      {"why", driver.reason},
      {"version", version_text(driver.version)},
      {"library", driver.library},
      {"vendor_problem", driver.vendor_problem},
      {"missing_functions", driver.missing_functions},
      {"devices", devices},
  };
}

std::string line(const std::string& name, const std::string& value) {
  return value.empty() ? std::string{} : fmt::format("{:<18}{}\n", name, value);
}

std::string text_of(weir::device device) {
  const weir::compute_capability capability = device.compute_capability();
  const memory_info memory = device.memory();
  const priority_range priorities = device.priorities();
  std::string text = line(fmt::format("device {}", device.ordinal()), device.name());
  text += line("  capability", fmt::format("{}.{}", capability.major, capability.minor));
  text += line("  memory",
               fmt::format("{}, {} free", bytes_text(memory.total), bytes_text(memory.free)));
  text += line("  PCI bus id", device.pci_bus_id());
  text += line("  UUID", uuid_text(device.uuid()));
  text += line("  priorities",
               fmt::format("{} (least) to {} (greatest)", priorities.least, priorities.greatest));
  for (const named_attribute& a : attributes) {
    text += fmt::format("  {:<30}{}\n", a.text, device.attribute(a.which));
  }
  std::string peers;
  for (const weir::device other : weir::device::all()) {
    if (other != device && device.can_access(other)) peers += fmt::format(" {}", other.ordinal());
  }
  return text + line("  reaches", peers.empty() ? "" : "device" + peers);
}

std::string text_of_machine() {
  const driver_info driver = current_driver();
  std::string text = line(
      "driver", fmt::format("{}, CUDA {}", to_string(driver.kind), version_text(driver.version)));
  text += line("chosen because", driver.reason);
  text += line("library", driver.library);
  text += line("vendor's driver", driver.vendor_problem);
  for (const std::string_view function : driver.missing_functions)
    text += line("lacks", std::string{function});
  for (const weir::device device : weir::device::all()) text += "\n" + text_of(device);
  return text;
}

}  // namespace

void add_info(CLI::App& program) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* const command = program.add_subcommand(
      "info", "Tell which driver is in use, why, what was found, and what its devices are");
  command->add_flag("--json", *json, "Print it as JSON");
  command->callback([json] {
    const std::string text = *json ? json_of_machine().dump(2) + "\n" : text_of_machine();
    std::fputs(text.c_str(), stdout);
  });
}

}  // namespace weir::tool
