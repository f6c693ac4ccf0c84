// SPDX-License-Identifier: Apache-2.0
// sequences/block_contents.hpp - the blocks of memory of a sequence: added, filled, read, freed.
#pragma once

#include "sequences/chosen_arguments.hpp"

namespace weir::sequences {

// Returns true if the sequence has the maximum number of blocks.
[[nodiscard]] bool is_full(const world& w);

// Names a block and fills it, since the contents of fresh memory are undefined.
std::string add_block(world& w, block made, const chosen_stream& by = {});

// Returns for example "d3 holds 1a2b3c4d". All work must be complete.
[[nodiscard]] std::string contents(world& w, const block& of);

// Frees the block, whichever call made it.
void release_block(world& w, block& one);

}  // namespace weir::sequences
