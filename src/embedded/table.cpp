// SPDX-License-Identifier: Apache-2.0
// embedded/table.cpp - the embedded driver's function table.
#include "embedded/table.hpp"

#include "embedded/entry/entries.hpp"

namespace weir::embedded {

const detail::driver_table& table() noexcept { return entry::entries; }

}  // namespace weir::embedded
