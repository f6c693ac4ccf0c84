// SPDX-License-Identifier: Apache-2.0
// api/kernel/module_lookup.cpp - finds the kernels and variables of a module by name.
#include <weir/core/error.hpp>
#include <weir/kernel/module.hpp>

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/device/make_current.hpp"
#include "api/kernel/module_names.hpp"
#include "api/kernel/module_state.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace weir {

using detail::check;
using detail::driver;
using detail::module_state;
using detail::throw_error;

namespace {

constexpr const char* kernel_call = "cuModuleGetFunction";
constexpr const char* variable_call = "cuModuleGetGlobal";

// Returns the demangled names, separated by commas, for use in messages. Lists at most max_names of
// them.
std::string join_names(const std::vector<std::string>& names) {
  constexpr std::size_t max_names = 8;
  std::vector<std::string> some;
  for (std::size_t i = 0; i != std::min(names.size(), max_names); ++i)
    some.push_back(detail::demangled(names[i]));
  return fmt::format("{}{}", fmt::join(some, ", "), names.size() > max_names ? ", ..." : "");
}

abi::CUresult find_function(const module_state& state, const std::string& name,
                            abi::CUfunction& found) {
  return driver().cuModuleGetFunction(&found, state.handle, name.c_str());
}

// Returns the only kernel with this name in the source. Throws if there is none or if there are
// several.
abi::CUfunction find_by_source_name(const module_state& state, const std::string& name,
                                    call_site at) {
  std::vector<std::string> all;
  try {
    all = kernel_names_of(state, at);
  } catch (const error& e) {
    if (e.result() != errc::call_requires_newer_driver) throw;
    throw_error(
        errc::not_found, kernel_call, describe(state),
        fmt::format(
            "the module has no kernel with the linker name \"{}\"; declare the kernel extern "
            "\"C\", or use a driver for CUDA 12.4 or later to find names in the source",
            name),
        at);
  }
  const std::vector<std::string> found = detail::find_matching_names(name, all);
  if (found.size() > 1) {
    throw_error(
        errc::not_found, kernel_call, describe(state),
        fmt::format("\"{}\" is the name of several kernels: {}; use a linker name ({}), or a name "
                    "expression of the program",
                    name, join_names(found), found.front()),
        at);
  }
  if (found.empty()) {
    throw_error(
        errc::not_found, kernel_call, describe(state),
        all.empty()
            ? fmt::format(
                  "the module has no kernel \"{}\" and no other kernel; define a __global__ "
                  "function in its source",
                  name)
            : fmt::format(
                  "the module has no kernel \"{}\"; use one that it has: {}, or instantiate a "
                  "template in the source or with program_options::name_expressions",
                  name, join_names(all)),
        at);
  }
  abi::CUfunction function = nullptr;
  check(find_function(state, found.front(), function), kernel_call, {}, at);
  return function;
}

}  // namespace

weir::kernel module::kernel(std::string_view name, call_site at) const {
  module_state& loaded = state(kernel_call, at);
  const std::string requested{name};
  const detail::make_current current{loaded.context, at};
  const detail::relaxed_capture_mode guard{at};
  abi::CUfunction function = nullptr;
  const abi::CUresult answer = find_function(loaded, loaded.lowered(requested), function);
  if (answer == abi::CUDA_ERROR_NOT_FOUND) {
    function = find_by_source_name(loaded, requested, at);
  } else if (answer != abi::CUDA_SUCCESS) {
    throw_error(static_cast<errc>(answer), kernel_call, describe(loaded),
                requested.empty() ? "the name of the kernel is empty; pass a name" : "", at);
  }
  const std::lock_guard lock{loaded.lock};
  const auto entry = loaded.kernels.try_emplace(function, function, loaded.context, at).first;
  return weir::kernel{entry->second, state_};
}

std::vector<std::string> module::kernel_names(call_site at) const {
  return kernel_names_of(state("cuModuleEnumerateFunctions", at), at);
}

detail::found_variable module::find_variable(std::string_view name, std::size_t bytes,
                                             detail::size_match match, call_site at) const {
  const module_state& loaded = state(variable_call, at);
  std::string requested{name};
  // The name expression of a variable begins with "&", which the caller may omit. Without a name
  // expression, the name is a linker name.
  std::string linker_name = loaded.lowered(requested);
  if (linker_name == requested) linker_name = loaded.lowered("&" + requested);
  if (linker_name == "&" + requested) linker_name = requested;
  const detail::make_current current{loaded.context, at};
  const detail::relaxed_capture_mode guard{at};
  abi::CUdeviceptr address = 0;
  std::size_t size = 0;
  const abi::CUresult answer =
      driver().cuModuleGetGlobal_v2(&address, &size, loaded.handle, linker_name.c_str());
  if (answer == abi::CUDA_ERROR_NOT_FOUND) {
    const std::string plain = requested.substr(requested.starts_with('&') ? 1 : 0);
    throw_error(
        errc::not_found, variable_call, describe(loaded),
        fmt::format("the module has no variable \"{}\"; find a variable in a namespace by a name "
                    "expression of the program (\"&{}{}\") or by the linker name, and use the "
                    "variable in a kernel so that the compiler keeps it",
                    requested, plain.find("::") == std::string::npos ? "ns::" : "", plain),
        at);
  }
  if (answer != abi::CUDA_SUCCESS) {
    throw_error(
        static_cast<errc>(answer), variable_call, describe(loaded),
        fmt::format("\"{}\" is not a variable of the module; pass the name of a __device__ or "
                    "__constant__ variable",
                    requested),
        at);
  }
  const bool exactly = match == detail::size_match::exact;
  if (exactly ? size != bytes : size == 0 || size % bytes != 0) {
    throw_error(
        errc::invalid_value, variable_call, describe(loaded),
        fmt::format(
            "variable \"{}\" has {} bytes, {} {} bytes; use the variable's type", requested, size,
            exactly ? "and the requested type has" : "not a whole number of elements of", bytes),
        at);
  }
  return {detail::to_pointer(address), size};
}

}  // namespace weir
