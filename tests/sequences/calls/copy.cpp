// SPDX-License-Identifier: Apache-2.0
// sequences/calls/copy.cpp - one-dimensional copies, alone and in batches.
#include "sequences/actions.hpp"

#include <algorithm>
#include <cstring>

namespace weir::sequences {
namespace {

const chosen_stream no_stream{};  // for calls without a stream: the default stream's work

// Two equally long ranges of different blocks. Only one side may reach past its end.
struct copy_of {
  chosen_range to, from;
  std::size_t length = 0;
};

bool choose_copy(world& w, copy_of& out) {
  block* const to = any_block(w);
  if (to == nullptr) return false;
  block* const from = any_block(w, to);
  if (from == nullptr) return false;
  out.to = any_range(w, *to);
  out.from = any_range(w, *from);
  out.length = std::min(out.to.length, out.from.length);
  return true;
}

// Sometimes replaces one side by an address that the driver does not own.
void spoil(world& w, copy_of& c) {
  if (!w.d.one_in(24)) return;
  chosen_range& end = w.d.below(2) == 0 ? c.to : c.from;
  end.address = invalid_address(w);
}

std::string text_of_copy(const world& w, const copy_of& c) {
  return fmt::format("{} <- {}, {}", text_of(w, c.to), text_of(w, c.from), c.length);
}

// Returns true if a side is host memory unknown to the driver, which is accessed unchecked.
bool pageable(const chosen_range& range) { return range.in->kind == memory::page; }

void synchronous(world& w) {
  copy_of c;
  if (!choose_copy(w, c)) return;
  spoil(w, c);
  order_after_last_use(w, *c.to.in, no_stream);
  order_after_last_use(w, *c.from.in, no_stream);
  CUresult r = CUDA_SUCCESS;
  const char* name = "";
  switch (w.d.below(5)) {
    case 0:
      name = "cuMemcpy";
      // The host would dereference an invalid host address.
      if (is_unowned_address(w, c.to.address) || is_unowned_address(w, c.from.address))
        c.length = 0;
      r = w.driver().cuMemcpy(c.to.address, c.from.address, c.length);
      break;
    case 1:
      name = "cuMemcpyHtoD";
      if (is_unowned_address(w, c.from.address)) c.from = {c.to.in, 0, 0};
      r = w.driver().cuMemcpyHtoD_v2(c.to.address, c.from.on_host(), c.length);
      break;
    case 2:
      name = "cuMemcpyDtoH";
      if (is_unowned_address(w, c.to.address)) c.to = {c.from.in, 0, 0};
      r = w.driver().cuMemcpyDtoH_v2(c.to.on_host(), c.from.address, c.length);
      break;
    case 3:
      name = "cuMemcpyDtoD";
      r = w.driver().cuMemcpyDtoD_v2(c.to.address, c.from.address, c.length);
      break;
    default: {
      name = "cuMemcpyPeer";
      const CUcontext to = any_context(w), from = any_context(w);
      if (pageable(c.to) || pageable(c.from)) return;
      r = w.driver().cuMemcpyPeer(c.to.address, to, c.from.address, from, c.length);
    }
  }
  w.text.call(r, fmt::format("{}({})", name, text_of_copy(w, c)));
  record_use(w, *c.to.in, no_stream);
}

void asynchronous(world& w) {
  copy_of c;
  if (!choose_copy(w, c)) return;
  spoil(w, c);
  const chosen_stream s = any_stream(w);
  order_after_last_use(w, *c.to.in, s);
  order_after_last_use(w, *c.from.in, s);
  CUresult r = CUDA_SUCCESS;
  const char* name = "";
  switch (w.d.below(5)) {
    case 0:
      name = "cuMemcpyAsync";
      if (is_unowned_address(w, c.to.address) || is_unowned_address(w, c.from.address))
        c.length = 0;
      r = w.driver().cuMemcpyAsync(c.to.address, c.from.address, c.length, s.handle);
      break;
    case 1:
      name = "cuMemcpyHtoDAsync";
      if (is_unowned_address(w, c.from.address)) c.from = {c.to.in, 0, 0};
      r = w.driver().cuMemcpyHtoDAsync_v2(c.to.address, c.from.on_host(), c.length, s.handle);
      break;
    case 2:
      name = "cuMemcpyDtoHAsync";
      if (is_unowned_address(w, c.to.address)) c.to = {c.from.in, 0, 0};
      r = w.driver().cuMemcpyDtoHAsync_v2(c.to.on_host(), c.from.address, c.length, s.handle);
      break;
    case 3:
      name = "cuMemcpyDtoDAsync";
      r = w.driver().cuMemcpyDtoDAsync_v2(c.to.address, c.from.address, c.length, s.handle);
      break;
    default: {
      name = "cuMemcpyPeerAsync";
      const CUcontext to = any_context(w), from = any_context(w);
      if (pageable(c.to) || pageable(c.from)) return;
      r = w.driver().cuMemcpyPeerAsync(c.to.address, to, c.from.address, from, c.length, s.handle);
    }
  }
  w.text.call(r, fmt::format("{}({}, {})", name, text_of_copy(w, c), s.name));
  record_use(w, *c.to.in, s);
  record_use(w, *c.from.in, s);
}

// Makes up to three copies to different blocks, none of which another copy reads.
void copy_batch(world& w) {
  const chosen_stream s = any_stream(w);
  CUdeviceptr to[3] = {}, from[3] = {};
  std::size_t sizes[3] = {}, indices[3] = {};
  CUmemcpyAttributes attributes[3];
  std::memset(attributes, 0, sizeof attributes);
  std::vector<block*> used;
  std::string list;
  std::size_t count = 0;
  for (unsigned i = 0; i < 3; ++i) {
    copy_of c;
    if (!choose_copy(w, c)) continue;
    if (std::find(used.begin(), used.end(), c.to.in) != used.end() ||
        std::find(used.begin(), used.end(), c.from.in) != used.end())
      continue;
    used.insert(used.end(), {c.to.in, c.from.in});
    order_after_last_use(w, *c.to.in, s);
    order_after_last_use(w, *c.from.in, s);
    to[count] = c.to.address;
    from[count] = c.from.address;
    sizes[count] = c.length == 0 && !w.d.one_in(8) ? 1 : c.length;
    list += text_of_copy(w, c) + "; ";
    ++count;
  }
  if (count == 0) return;
  const std::size_t kinds = w.d.one_of<std::size_t>({1, 1, 1, 2, 0, 3});
  for (unsigned i = 0; i < 3; ++i) {
    indices[i] = w.d.one_in(8) ? w.d.below(3) : i;
    attributes[i].srcAccessOrder =
        static_cast<CUmemcpySrcAccessOrder>(w.d.one_of({1u, 1u, 1u, 2u, 3u, 0u, 9u}));
    attributes[i].flags = w.d.one_of({0u, 0u, 0u, 1u, 2u});
    list += fmt::format("{} {} {}; ", indices[i],
                        static_cast<unsigned>(attributes[i].srcAccessOrder), attributes[i].flags);
  }
  if (w.d.one_in(16)) count = 0;
  // A source may be read at once, before earlier work of the stream.
  sync_all(w);
  const CUresult r = w.driver().cuMemcpyBatchAsync_v2(to, from, sizes, count, attributes, indices,
                                                      kinds, s.handle);
  w.text.call(r, fmt::format("cuMemcpyBatchAsync({}{} of {}, {})", list, kinds, count, s.name));
  for (block* one : used) record_use(w, *one, s);
}

}  // namespace

std::span<const action> copy_actions() {
  static constexpr action all[] = {{12, synchronous}, {14, asynchronous}, {4, copy_batch}};
  return all;
}

}  // namespace weir::sequences
