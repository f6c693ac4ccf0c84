// SPDX-License-Identifier: Apache-2.0
// sequences/chosen_arguments.hpp - the arguments of calls: existing objects, and invalid ones.
#pragma once

#include "sequences/world.hpp"

#include <optional>

namespace weir::sequences {

inline constexpr int special = -2;  // instead of a stream's number: a default stream, or none

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

// A range of a block. The length may exceed the block if the driver checks it.
struct chosen_range {
  block* in = nullptr;  // null: an address that the driver does not own
  CUdeviceptr address = 0;
  std::size_t length = 0;
  [[nodiscard]] void* on_host() const noexcept { return reinterpret_cast<void*>(address); }
};

// Returns a created stream, or a default stream if there is none.
[[nodiscard]] chosen_stream made_stream(world& w);
// Usually returns a created stream, sometimes a default stream; in wild sequences anything.
[[nodiscard]] chosen_stream any_stream(world& w);
[[nodiscard]] chosen_event any_event(world& w);
// Returns true if the stream may wait for the event. A GPU's driver crashes on some events of
// another context.
[[nodiscard]] bool can_wait(const world& w, const chosen_stream& s, const chosen_event& e);
[[nodiscard]] CUcontext any_context(world& w);
[[nodiscard]] CUmemoryPool any_pool(world& w);

// Returns a live block other than `but`, or null.
[[nodiscard]] block* any_block(world& w, const block* but = nullptr);
// Returns a range of a block; sometimes its length is 0, odd, or too large.
[[nodiscard]] chosen_range any_range(world& w, block& in);
[[nodiscard]] std::string text_of(const world& w, const chosen_range& range);
// Returns an address that the driver does not own: null, a number, in wild sequences also of freed
// memory.
[[nodiscard]] CUdeviceptr invalid_address(world& w);
// Returns true if the address is such an address, which the host must not dereference.
[[nodiscard]] bool is_unowned_address(const world& w, CUdeviceptr address);

// Call before a stream uses a block's contents on the device: orders the stream after another
// stream's last use, by an event or by synchronizing.
void order_after_last_use(world& w, block& used, const chosen_stream& by);
// Call after the use. Waits for a default stream's work, since it has no owner to order against.
void record_use(world& w, block& used, const chosen_stream& by);
// Waits for all work. Returns false if that is refused because a stream captures.
bool sync_all(world& w);
// Returns true if the block may be freed. It may not while work in flight could use it: that would
// be an error of the sequence.
[[nodiscard]] bool can_free(world& w, block& one);

}  // namespace weir::sequences
