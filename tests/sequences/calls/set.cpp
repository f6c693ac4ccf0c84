// SPDX-License-Identifier: Apache-2.0
// sequences/calls/set.cpp - memsets.
#include "sequences/actions.hpp"

namespace weir::sequences {
namespace {

struct set_of {
  chosen_range part;
  unsigned element = 1;   // bytes
  std::size_t count = 0;  // elements
  unsigned value = 0;
  bool later = false;  // in a stream
  chosen_stream s;
};

bool choose_set(world& w, set_of& c) {
  block* const in = any_block(w);
  if (in == nullptr) return false;
  c.part = any_range(w, *in);
  c.element = w.d.one_of({1u, 1u, 2u, 4u, 4u});
  c.count = c.part.length / c.element;
  c.value = w.d.one_of({0u, 0xffu, 0x1234u, 0x89abcdefu, 7u});
  c.later = w.d.below(2) == 1;
  if (c.later) c.s = any_stream(w);
  if (w.d.one_in(32)) c.part.address = invalid_address(w);
  order_after_last_use(w, *in, c.s);
  return true;
}

void line(world& w) {
  set_of c;
  if (!choose_set(w, c)) return;
  const driver_table& d = w.driver();
  const CUdeviceptr to = c.part.address;
  const auto byte = static_cast<unsigned char>(c.value);
  const auto word = static_cast<unsigned short>(c.value);
  CUresult r = CUDA_SUCCESS;
  if (c.later)
    r = c.element == 1   ? d.cuMemsetD8Async(to, byte, c.count, c.s.handle)
        : c.element == 2 ? d.cuMemsetD16Async(to, word, c.count, c.s.handle)
                         : d.cuMemsetD32Async(to, c.value, c.count, c.s.handle);
  else
    r = c.element == 1   ? d.cuMemsetD8_v2(to, byte, c.count)
        : c.element == 2 ? d.cuMemsetD16_v2(to, word, c.count)
                         : d.cuMemsetD32_v2(to, c.value, c.count);
  w.text.call(r,
              fmt::format("cuMemsetD{}{}({}, {:#x}, {}{})", c.element * 8, c.later ? "Async" : "",
                          text_of(w, c.part), c.value, c.count, c.later ? ", " + c.s.name : ""));
  record_use(w, *c.part.in, c.s);
}

// The rectangle lies inside the block; a pitch may be odd, 0 or too small.
void set_rectangle(world& w) {
  set_of c;
  if (!choose_set(w, c)) return;
  const std::size_t room =
      c.part.in->size -
      (c.part.address >= c.part.in->address ? c.part.address - c.part.in->address : 0);
  std::size_t width = w.d.one_of<std::size_t>({1, 3, 4, 16, 25, 0}),
              height = w.d.one_of<std::size_t>({1, 2, 3, 0});
  std::size_t pitch = width * c.element + w.d.one_of<std::size_t>({0, 1, 4, 12, 60});
  if (pitch * height > room) height = width = 1, pitch = c.element;
  if (c.element > room) width = 0;
  if (w.d.one_in(16))
    pitch = w.d.one_of<std::size_t>({0, width * c.element / 2, std::size_t{1} << 40});
  const driver_table& d = w.driver();
  const CUdeviceptr to = c.part.address;
  const auto byte = static_cast<unsigned char>(c.value);
  const auto word = static_cast<unsigned short>(c.value);
  CUresult r = CUDA_SUCCESS;
  if (c.later)
    r = c.element == 1   ? d.cuMemsetD2D8Async(to, pitch, byte, width, height, c.s.handle)
        : c.element == 2 ? d.cuMemsetD2D16Async(to, pitch, word, width, height, c.s.handle)
                         : d.cuMemsetD2D32Async(to, pitch, c.value, width, height, c.s.handle);
  else
    r = c.element == 1   ? d.cuMemsetD2D8_v2(to, pitch, byte, width, height)
        : c.element == 2 ? d.cuMemsetD2D16_v2(to, pitch, word, width, height)
                         : d.cuMemsetD2D32_v2(to, pitch, c.value, width, height);
  w.text.call(r, fmt::format("cuMemsetD2D{}{}({}, {}, {:#x}, {}x{}{})", c.element * 8,
                             c.later ? "Async" : "", text_of(w, c.part), pitch, c.value, width,
                             height, c.later ? ", " + c.s.name : ""));
  record_use(w, *c.part.in, c.s);
}

}  // namespace

std::span<const action> set_actions() {
  static constexpr action all[] = {{12, line}, {6, set_rectangle}};
  return all;
}

}  // namespace weir::sequences
