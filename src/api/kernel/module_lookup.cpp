// api/kernel/module_lookup.cpp - what a module has by a name: kernels and variables.
#include <weir/core/error.hpp>
#include <weir/kernel/module.hpp>

#include "api/capture/relaxed_capture_mode.hpp"
#include "api/device/make_current.hpp"
#include "api/kernel/module_names.hpp"
#include "api/kernel/module_state.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>

namespace weir {

using detail::check;
using detail::driver;
using detail::module_state;
using detail::throw_error;

namespace {

constexpr const char* kernel_call = "cuModuleGetFunction";
constexpr const char* variable_call = "cuModuleGetGlobal";

// For texts, as people read them, and not too many.
std::string join_names(const std::vector<std::string>& names) {
  constexpr std::size_t max_names = 8;
  std::vector<std::string> some;
  for (const std::string& name : names) {
    if (some.size() == max_names) break;
    some.push_back(detail::demangled(name));
  }
  return fmt::format("{}{}", fmt::join(some, ", "), names.size() > max_names ? ", ..." : "");
}

abi::CUresult find_function(const module_state& state, const std::string& name,
                            abi::CUfunction& found) {
  return driver().cuModuleGetFunction(&found, state.handle, name.c_str());
}

// The one kernel that the source calls so. Throws where there is none, or there are several.
abi::CUfunction find_by_source_name(const module_state& state, const std::string& name,
                                    call_site at) {
  std::vector<std::string> all;
  try {
    all = kernel_names_of(state, at);
  } catch (const error& e) {
    if (e.result() != errc::call_requires_newer_driver) throw;
    throw_error(errc::not_found, kernel_call, describe(state),
                fmt::format("it has no kernel that the linker knows as \"{}\"; names in the source "
                            "need a driver of CUDA 12.4, "
                            "or extern \"C\"",
                            name),
                at);
  }
  const std::vector<std::string> found = detail::find_matching_names(name, all);
  if (found.size() > 1) {
    throw_error(errc::not_found, kernel_call, describe(state),
                fmt::format("\"{}\" is the name of several kernels: {}; ask for one by the "
                            "linker's name ({}), or by a name "
                            "expression of the program",
                            name, join_names(found), found.front()),
                at);
  }
  if (found.empty()) {
    throw_error(errc::not_found, kernel_call, describe(state),
                all.empty() ? fmt::format("it has no kernel \"{}\", nor any other", name)
                            : fmt::format("it has no kernel \"{}\"; it has: {}. An instance of a "
                                          "template is there if the source "
                                          "names it, or program_options::name_expressions do",
                                          name, join_names(all)),
                at);
  }
  abi::CUfunction function = nullptr;
  check(find_function(state, found.front(), function), kernel_call, {}, at);
  return function;
}

}  // namespace

weir::kernel module::kernel(std::string_view name, call_site at) const {
  module_state& known = state(kernel_call, at);
  const std::string requested{name};
  const detail::make_current current{known.context, at};
  const detail::relaxed_capture_mode guard{at};
  abi::CUfunction function = nullptr;
  const abi::CUresult answer = find_function(known, known.lowered(requested), function);
  if (answer == abi::CUDA_ERROR_NOT_FOUND) {
    function = find_by_source_name(known, requested, at);
  } else if (answer != abi::CUDA_SUCCESS) {
    throw_error(static_cast<errc>(answer), kernel_call, describe(known),
                requested.empty() ? "the name of the kernel is empty" : "", at);
  }
  const std::lock_guard lock{known.lock};
  const auto entry = known.kernels.try_emplace(function, function, known.context, at).first;
  return weir::kernel{entry->second, state_};
}

std::vector<std::string> module::kernel_names(call_site at) const {
  return kernel_names_of(state("cuModuleEnumerateFunctions", at), at);
}

detail::found_variable module::find_variable(std::string_view name, std::size_t bytes, bool exactly,
                                             call_site at) const {
  const module_state& known = state(variable_call, at);
  std::string requested{name};
  std::string linker_name = known.lowered(requested);
  if (linker_name == requested) linker_name = known.lowered("&" + requested);
  if (linker_name == "&" + requested) linker_name = requested;
  const detail::make_current current{known.context, at};
  const detail::relaxed_capture_mode guard{at};
  abi::CUdeviceptr address = 0;
  std::size_t size = 0;
  const abi::CUresult answer =
      driver().cuModuleGetGlobal_v2(&address, &size, known.handle, linker_name.c_str());
  if (answer == abi::CUDA_ERROR_NOT_FOUND) {
    const std::string plain = requested.substr(requested.starts_with('&') ? 1 : 0);
    throw_error(errc::not_found, variable_call, describe(known),
                fmt::format("it has no variable \"{}\"; one in a namespace is found by a name "
                            "expression of the program "
                            "(\"&{}{}\"), or by the linker's name; one that no kernel uses may be "
                            "left out by the compiler",
                            requested, plain.find("::") == std::string::npos ? "ns::" : "", plain),
                at);
  }
  if (answer != abi::CUDA_SUCCESS) {
    throw_error(static_cast<errc>(answer), variable_call, describe(known),
                fmt::format("\"{}\" is no variable of it", requested), at);
  }
  if (exactly ? size != bytes : size == 0 || size % bytes != 0) {
    throw_error(errc::invalid_value, variable_call, describe(known),
                fmt::format("variable \"{}\" has {} bytes, {} {}", requested, size,
                            exactly ? "and the type that is asked for has"
                                    : "no whole number of elements of",
                            bytes),
                at);
  }
  return {reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), size};
}

}  // namespace weir
