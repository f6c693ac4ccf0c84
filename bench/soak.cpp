// SPDX-License-Identifier: Apache-2.0
// soak.cpp - checks that nothing is lost, and no memory grows, in ten million random operations
// over 32 streams.
#include "soak/soak.hpp"

#include "harness/figure.hpp"
#include "harness/memory.hpp"

namespace bench {
namespace {

struct measurement {
  double lost;
  double growth_mib;  // from the end of the first tenth to the end: pools are full by then
};

// Both figures use one run.
const measurement& measured() {
  static const measurement once = [] {
    double after_first_tenth = 0;
    double after_last = 0;
    const soak::result counted = soak::run({}, [&](int tenth) {
      if (tenth == 1) after_first_tenth = resident_mib();
      if (tenth == 10) after_last = resident_mib();
    });
    return measurement{static_cast<double>(counted.lost), after_last - after_first_tenth};
  }();
  return once;
}

// Only the engine could lose something; a GPU would take minutes.
const registration lost{{.name = "soak/lost",
                         .unit = "effects lost",
                         .budget = 0,
                         .runs_on = driver_filter::embedded,
                         .measure = [] { return measured().lost; }}};
const registration growth{{.name = "soak/memory",
                           .unit = "MiB of growth",
                           .budget = 4,
                           .runs_on = driver_filter::embedded,
                           .measure = [] { return measured().growth_mib; }}};

}  // namespace
}  // namespace bench
