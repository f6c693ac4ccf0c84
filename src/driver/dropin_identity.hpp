// SPDX-License-Identifier: Apache-2.0
// driver/dropin_identity.hpp - by which weir recognises its drop-in among libraries named
// libcuda.so.1.
#pragma once

#include "driver/engine_services.hpp"

#include <weir/version.hpp>

#include <cstddef>
#include <string_view>

namespace weir::detail {

// The address that cuGetProcAddress of the drop-in returns for dropin_identity_name. Other drivers
// find no function of this name. Never destroyed.
struct dropin_identity {
  const char* version;                            // WEIR_VERSION_STRING of the drop-in
  std::size_t size_of_services;                   // sizeof(engine_services) in the drop-in
  const engine_services& (*services)() noexcept;  // called after cuInit, which reads the schedule
};

inline constexpr const char* dropin_identity_name = "weirDropinIdentity";

// Called after cuInit of the drop-in. Returns its services, or null if it was built from another
// version of weir, whose services may differ.
[[nodiscard]] inline const engine_services* services_of(const dropin_identity& dropin) noexcept {
  const bool is_same_version = std::string_view{dropin.version} == WEIR_VERSION_STRING &&
                               dropin.size_of_services == sizeof(engine_services);
  return is_same_version ? &dropin.services() : nullptr;
}

}  // namespace weir::detail
