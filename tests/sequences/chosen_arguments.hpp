// sequences/chosen_arguments.hpp - the arguments of calls: objects that are there, and what is
// given in their place.
#pragma once

#include "sequences/world.hpp"

#include <optional>

namespace weir::sequences {

inline constexpr int special =
    -2;  // in place of a stream's number: a default stream, or none at all

struct chosen_stream {
  CUstream handle = nullptr;
  std::string name;
  int number = special;
};

struct chosen_event {
  CUevent handle = nullptr;
  std::string name;
  int number = -1;  // none
};

// A part of a block. The length may reach past the end where the driver checks it.
struct chosen_range {
  block* in = nullptr;  // null: an address that is nobody's
  CUdeviceptr address = 0;
  std::size_t length = 0;
  [[nodiscard]] void* on_host() const noexcept { return reinterpret_cast<void*>(address); }
};

// A stream that was made; a default stream where there is none.
[[nodiscard]] chosen_stream made_stream(world& w);
// Mostly one that was made; a default stream; in the wild anything.
[[nodiscard]] chosen_stream any_stream(world& w);
[[nodiscard]] chosen_event any_event(world& w);
// May a stream be told to wait for it? A GPU's driver crashes on many an event of another context.
[[nodiscard]] bool can_wait(const world& w, const chosen_stream& s, const chosen_event& e);
[[nodiscard]] CUcontext any_context(world& w);
[[nodiscard]] CUmemoryPool any_pool(world& w);

// A live block, or null where there is none. `but` is not taken.
[[nodiscard]] block* any_block(world& w, const block* but = nullptr);
// A length that fits behind some offset of a block; sometimes 0, odd, or too long.
[[nodiscard]] chosen_range any_range(world& w, block& in);
[[nodiscard]] std::string text_of(const world& w, const chosen_range& range);
// An address at which the driver has no memory: null, a number, in the wild also where memory was.
[[nodiscard]] CUdeviceptr invalid_address(world& w);
// Is it one of those, so that nobody may look behind it?
[[nodiscard]] bool is_unowned_address(const world& w, CUdeviceptr address);

// The device's contents of a block are about to be used by a stream: what another stream did to it
// comes first, by an event or by waiting for it.
void order_after_last_use(world& w, block& used, const chosen_stream& by);
// The same when the call has been made: a default stream's work is waited for, since it has no
// owner.
void record_use(world& w, block& used, const chosen_stream& by);
// Waits for everything. False where that is refused, because a stream captures.
bool sync_all(world& w);
// May it be freed? Not while work with it may still run: a use of freed memory would be the
// sequence's own fault.
[[nodiscard]] bool can_free(world& w, block& one);

}  // namespace weir::sequences
