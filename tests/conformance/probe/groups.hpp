// probe/groups.hpp - where the cases come from.
#pragma once

namespace weir::conformance {

// Fills cases(), in the order in which they are run and printed.
void make_cases();

}  // namespace weir::conformance
