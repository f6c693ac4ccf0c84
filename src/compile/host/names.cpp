// SPDX-License-Identifier: Apache-2.0
// compile/host/names.cpp - from name to name, until nothing more is reached.
#include "compile/host/names.hpp"

#include <algorithm>

#include "compile/host/spinning.hpp"
#include "compile/host/waiting.hpp"

namespace weir::compile {
namespace {

bool mentions_a_wait(const std::vector<token>& tokens, token_range range,
                     const scan_result& found) {
  const auto first = tokens.begin();
  return std::any_of(first + static_cast<std::ptrdiff_t>(range.begin),
                     first + static_cast<std::ptrdiff_t>(range.end), [&](const token& t) {
                       return t.identifier() && (waits_by_itself(t.text, found.groups) ||
                                                 found.waiting.contains(t.text));
                     });
}

void look_for_spinning(const std::vector<token>& tokens, std::vector<entity>& entities,
                       scan_result& found) {
  for (entity& e : entities) found.any_spins |= e.spins = may_spin(tokens, e.all);
  for (kernel_text& k : found.kernels) found.any_spins |= k.spins = may_spin(tokens, k.all);
}

}  // namespace

void follow_names(const std::vector<token>& tokens, std::vector<entity> entities,
                  scan_result& found) {
  look_for_spinning(tokens, entities, found);
  for (const entity& e : entities) found.names.insert(e.name);
  for (bool changed = true; changed;) {
    changed = false;
    for (entity& e : entities) {
      if (e.waits || (!e.spins && !mentions_a_wait(tokens, e.all, found))) continue;
      e.waits = changed = true;
      // A function's address in a variable goes where no name tells, as through the host to a
      // parameter.
      if (e.name == "operator" || e.variable) found.any_waits = true;
      if (e.name != "operator") found.waiting.insert(e.name);
    }
  }
  for (kernel_text& k : found.kernels) k.waits = k.spins || waits(tokens, k.all, found);
  // An instantiation waits where its template does.
  for (kernel_text& k : found.kernels)
    if (found.waiting.contains(k.name)) k.waits = true;
}

bool waits(const std::vector<token>& tokens, token_range range, const scan_result& found) {
  return found.any_waits || mentions_a_wait(tokens, range, found);
}

}  // namespace weir::compile
