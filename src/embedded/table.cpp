// embedded/table.cpp - the embedded driver as a table.
#include "embedded/table.hpp"

#include "embedded/entry/entries.hpp"

namespace weir::embedded {

const detail::driver_table& table() noexcept { return entry::entries; }

}  // namespace weir::embedded
