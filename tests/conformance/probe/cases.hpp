// SPDX-License-Identifier: Apache-2.0
// probe/cases.hpp - the list of cases, and how cases register.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir::conformance {

class Rec;

enum CaseFlag : unsigned {
  NORMAL = 0,
  ISO = 1,             // runs in its own process, set up as usual
  RAW = 2,             // runs in its own process, in which only the library is loaded
  SECOND_CONTEXT = 4,  // needs the second context
  SLOW = 8,            // creates or destroys contexts: gets three times the usual limit
  SECOND_DEVICE =
      16,  // needs a second device (second_device.hpp); without one it records skipped=one_device
};

struct Case {
  std::string name;
  unsigned flags;
  std::function<void(Rec&)> body;
};

// Returns all cases, in the order in which they run and are printed.
std::vector<Case>& cases();

void add(std::string name, unsigned flags, void (*body)(Rec&));
void add_closure(std::string name, unsigned flags, std::function<void(Rec&)> body);

inline void add(std::string name, void (*body)(Rec&)) { add(std::move(name), NORMAL, body); }

// A lambda with captures, for cases made in a loop.
template <class F>
concept Closing = !std::is_convertible_v<F, void (*)(Rec&)>;
void add(std::string name, unsigned flags, Closing auto body) {
  add_closure(std::move(name), flags, std::move(body));
}
void add(std::string name, Closing auto body) {
  add_closure(std::move(name), NORMAL, std::move(body));
}

// Adds a case of one call.
#define ONE(name, expr) add(name, [](Rec& r) { r.k("res", (expr)); })

// Ends the case and its process at once, because a call in it can never return. The parent
// continues in a new process.
[[noreturn]] void abandon_process();

}  // namespace weir::conformance
