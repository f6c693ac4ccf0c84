// SPDX-License-Identifier: Apache-2.0
// kernel_fixture.cpp - compiles the kernel sources for the device in use.
#include "kernel_fixture.hpp"

#include <weir/kernel/program.hpp>

#include <map>

#include "kernel_sources.hpp"

namespace weir::test {

const module& kernel_module(const std::string& name) {
  static auto* const modules =
      // never destroyed: the driver may be unloaded before statics are destroyed
      new std::map<std::string, module>;
  const auto known = modules->find(name);
  if (known != modules->end()) return known->second;
  program_options options;
  options.name = name + ".cu";
  options.name_expressions = kernel_instances(name);
  const program source{std::string{kernel_source(name)}, std::move(options)};
  return modules->emplace(name, source.compile(device{})).first->second;
}

}  // namespace weir::test
