// probe/cases.hpp - the list of cases, and how a case gets onto it.
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
  ISO = 1,             // a process of its own, set up as usual
  RAW = 2,             // a process of its own, in which nothing but the library is loaded
  SECOND_CONTEXT = 4,  // needs the second context
  SLOW = 8,            // makes or destroys contexts: gets three times the usual limit
  SECOND_DEVICE =
      16,  // needs a second device (second_device.hpp); without one it answers skipped=one_device
};

struct Case {
  std::string name;
  unsigned flags;
  std::function<void(Rec&)> body;
};

// All cases, in the order in which they are run and printed.
std::vector<Case>& cases();

void add(std::string name, unsigned flags, void (*body)(Rec&));
void add_closure(std::string name, unsigned flags, std::function<void(Rec&)> body);

inline void add(std::string name, void (*body)(Rec&)) { add(std::move(name), NORMAL, body); }

// A body that captures something, for cases made in a loop.
template <class F>
concept Closing = !std::is_convertible_v<F, void (*)(Rec&)>;
void add(std::string name, unsigned flags, Closing auto body) {
  add_closure(std::move(name), flags, std::move(body));
}
void add(std::string name, Closing auto body) {
  add_closure(std::move(name), NORMAL, std::move(body));
}

// A case of one call.
#define ONE(name, expr) add(name, [](Rec& r) { r.k("res", (expr)); })

// Ends a case and its process at once: something in it can never return. The parent goes on in a
// new process.
[[noreturn]] void abandon_process();

}  // namespace weir::conformance
