// SPDX-License-Identifier: Apache-2.0
// probe/cases.cpp - the list of cases, and how cases register.
#include "probe/cases.hpp"

#include "probe/process/child.hpp"
#include "probe/record.hpp"

#include <unistd.h>

namespace weir::conformance {

std::vector<Case>& cases() {
  static std::vector<Case> list;
  return list;
}

void add(std::string name, unsigned flags, void (*body)(Rec&)) {
  add_closure(std::move(name), flags, body);
}

void add_closure(std::string name, unsigned flags, std::function<void(Rec&)> body) {
  cases().push_back({std::move(name), flags, std::move(body)});
}

void abandon_process() {
  protocol("E");
  protocol("U");
  _exit(kNotReusable);
}

}  // namespace weir::conformance
