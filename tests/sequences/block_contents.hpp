// sequences/block_contents.hpp - the blocks of memory of a sequence: taken in, filled, read, given
// back.
#pragma once

#include "sequences/chosen_arguments.hpp"

namespace weir::sequences {

// Has the sequence as many blocks as it may have?
[[nodiscard]] bool is_full(const world& w);

// Gives a block its name and, since fresh memory holds anything, its first contents.
std::string add_block(world& w, block made, const chosen_stream& by = {});

// "d3 holds 1a2b3c4d". Everything has been waited for.
[[nodiscard]] std::string contents(world& w, const block& of);

// Gives back what is left of it, whoever made it.
void release_block(world& w, block& one);

}  // namespace weir::sequences
