// SPDX-License-Identifier: Apache-2.0
// cuda/std/weir_names.h - cuda::std is std.
#pragma once

namespace std {}
namespace cuda {
namespace std {
using namespace ::std;
}
}  // namespace cuda
