// SPDX-License-Identifier: Apache-2.0
// probe/groups.hpp - registers the cases of all files.
#pragma once

namespace weir::conformance {

// Fills cases(), in the order in which they run and are printed.
void make_cases();

}  // namespace weir::conformance
