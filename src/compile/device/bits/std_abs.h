// SPDX-License-Identifier: Apache-2.0
// bits/std_abs.h - in place of the standard library's, whose overloads are there already.
#pragma once

namespace std {
using ::abs;
}
