// SPDX-License-Identifier: Apache-2.0
// sequences/calls/pitched_copy.cpp - copies of rectangles and boxes.
#include "sequences/actions.hpp"

#include <cstring>

namespace weir::sequences {
namespace {

// A box in a block: its row and slice pitch, and its start. It lies inside the block; only its
// description is sometimes wrong.
struct side {
  block* in = nullptr;
  CUmemorytype type = CU_MEMORYTYPE_UNIFIED;
  std::size_t pitch = 0, height = 0, x = 0, y = 0, z = 0;
};

struct box_copy {
  side to, from;
  std::size_t width = 0, height = 0, depth = 0;
  std::string text;
};

CUmemorytype any_type(world& w, const block& in) {
  if (w.d.one_in(48)) return static_cast<CUmemorytype>(w.d.one_of({0u, 9u}));
  switch (in.kind) {
    case memory::page:
      return w.d.one_of({CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_UNIFIED});
    case memory::pinned:
    case memory::registered:
    case memory::managed:
      return w.d.one_of({CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_UNIFIED});
    default: return w.d.one_of({CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_UNIFIED});
  }
}

side any_side(world& w, block& in, const box_copy& c) {
  side s{.in = &in, .type = any_type(w, in)};
  s.x = w.d.one_of<std::size_t>({0, 0, 0, 1, 4, 16});
  s.y = w.d.one_of<std::size_t>({0, 0, 0, 1});
  s.z = c.depth > 1 ? 0 : w.d.one_of<std::size_t>({0, 0, 0, 1});
  s.pitch = c.width + s.x + w.d.one_of<std::size_t>({0, 0, 1, 12, 100});
  s.height = c.height + s.y + w.d.one_of<std::size_t>({0, 0, 1});
  const std::size_t layers = c.depth + s.z;
  if (s.pitch * s.height * layers > in.size)
    s = {.in = &in, .type = s.type, .pitch = c.width, .height = c.height};
  if (w.d.one_in(24)) s.pitch = w.d.one_of<std::size_t>({0, c.width / 2});
  // A pitch above the device's limit; for host memory the driver does not check it.
  if (in.kind == memory::device && s.type == CU_MEMORYTYPE_DEVICE && w.d.one_in(24))
    s.pitch = std::size_t{1} << 40;
  if (w.d.one_in(24)) s.height = 0;
  return s;
}

std::string text_of_side(const side& s) {
  return fmt::format("{} {} {}x{}+{},{},{}", s.in->name, static_cast<unsigned>(s.type), s.pitch,
                     s.height, s.x, s.y, s.z);
}

bool choose_box(world& w, unsigned dimensions, box_copy& c) {
  block* const to = any_block(w);
  block* const from = to == nullptr ? nullptr : any_block(w, to);
  if (from == nullptr) return false;
  c.width = w.d.one_of<std::size_t>({1, 3, 4, 16, 64, 100, 0});
  c.height = w.d.one_of<std::size_t>({1, 2, 3, 5, 0});
  c.depth = dimensions == 3 ? w.d.one_of<std::size_t>({1, 2, 3, 0}) : 1;
  const std::size_t bytes = c.width * c.height * c.depth;
  if (bytes > to->size || bytes > from->size) c.width = c.height = c.depth = 1;
  c.to = any_side(w, *to, c);
  c.from = any_side(w, *from, c);
  if (dimensions == 2) c.to.z = c.from.z = 0;
  c.text = fmt::format("{} <- {}, {}x{}x{}", text_of_side(c.to), text_of_side(c.from), c.width,
                       c.height, c.depth);
  return true;
}

// With a pitch that is 0 or too small, the box must still lie in host memory that the driver knows.
template <class Copy>
Copy described(const box_copy& c) {
  Copy copy;
  std::memset(&copy, 0, sizeof copy);
  const auto from = c.from.in->address, to = c.to.in->address;
  copy.srcMemoryType = c.from.type;
  if (c.from.type == CU_MEMORYTYPE_HOST)
    copy.srcHost = reinterpret_cast<const void*>(from);
  else
    copy.srcDevice = from;
  copy.dstMemoryType = c.to.type;
  if (c.to.type == CU_MEMORYTYPE_HOST)
    copy.dstHost = reinterpret_cast<void*>(to);
  else
    copy.dstDevice = to;
  copy.srcXInBytes = c.from.x;
  copy.srcY = c.from.y;
  copy.srcPitch = c.from.pitch;
  copy.dstXInBytes = c.to.x;
  copy.dstY = c.to.y;
  copy.dstPitch = c.to.pitch;
  copy.WidthInBytes = c.width;
  copy.Height = c.height;
  if constexpr (requires { copy.Depth; }) {
    copy.srcZ = c.from.z;
    copy.srcHeight = c.from.height;
    copy.dstZ = c.to.z;
    copy.dstHeight = c.to.height;
    copy.Depth = c.depth;
  }
  return copy;
}

// `call` makes the copy in a stream, or synchronously.
template <class Call>
void make(world& w, const box_copy& c, const char* name, const chosen_stream& s, Call call) {
  order_after_last_use(w, *c.to.in, s);
  order_after_last_use(w, *c.from.in, s);
  w.text.call(call(), fmt::format("{}({}, {})", name, c.text, s.name));
  record_use(w, *c.to.in, s);
  record_use(w, *c.from.in, s);
}

void copy_rectangle(world& w) {
  box_copy c;
  if (!choose_box(w, 2, c)) return;
  const auto copy = described<CUDA_MEMCPY2D>(c);
  const chosen_stream s = w.d.below(2) == 0 ? any_stream(w) : chosen_stream{};
  switch (w.d.below(3)) {
    case 0: return make(w, c, "cuMemcpy2D", {}, [&] { return w.driver().cuMemcpy2D_v2(&copy); });
    case 1:
      return make(w, c, "cuMemcpy2DUnaligned", {},
                  [&] { return w.driver().cuMemcpy2DUnaligned_v2(&copy); });
    default:
      return make(w, c, "cuMemcpy2DAsync", s,
                  [&] { return w.driver().cuMemcpy2DAsync_v2(&copy, s.handle); });
  }
}

void box(world& w) {
  box_copy c;
  if (!choose_box(w, 3, c)) return;
  auto copy = described<CUDA_MEMCPY3D>(c);
  if (w.d.one_in(24)) copy.srcLOD = 1;
  if (w.d.one_in(24)) copy.dstLOD = 1;
  c.text += fmt::format(" lod {} {}", copy.dstLOD, copy.srcLOD);
  const chosen_stream s = w.d.below(2) == 0 ? any_stream(w) : chosen_stream{};
  if (w.d.below(2) == 0)
    return make(w, c, "cuMemcpy3D", {}, [&] { return w.driver().cuMemcpy3D_v2(&copy); });
  make(w, c, "cuMemcpy3DAsync", s, [&] { return w.driver().cuMemcpy3DAsync_v2(&copy, s.handle); });
}

void peer_box(world& w) {
  box_copy c;
  if (!choose_box(w, 3, c)) return;
  auto copy = described<CUDA_MEMCPY3D_PEER>(c);
  copy.srcContext = any_context(w);
  copy.dstContext = any_context(w);
  c.text += fmt::format(" {} {}", name_of(w, copy.dstContext), name_of(w, copy.srcContext));
  const chosen_stream s = w.d.below(2) == 0 ? any_stream(w) : chosen_stream{};
  if (w.d.below(2) == 0)
    return make(w, c, "cuMemcpy3DPeer", {}, [&] { return w.driver().cuMemcpy3DPeer(&copy); });
  make(w, c, "cuMemcpy3DPeerAsync", s,
       [&] { return w.driver().cuMemcpy3DPeerAsync(&copy, s.handle); });
}

}  // namespace

std::span<const action> pitched_copy_actions() {
  static constexpr action all[] = {{8, copy_rectangle}, {5, box}, {2, peer_box}};
  return all;
}

}  // namespace weir::sequences
