// model/work_memory.cpp - what sets and copies do when they run.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "embedded/engine/notify_written.hpp"
#include "embedded/model/stream/work.hpp"

namespace weir::embedded::model {

namespace {

// Long rows are written by copying their own beginning, which stays in the cache: memcpy is the
// fastest store there is.
constexpr std::size_t pattern_bytes = 4096;

template <class Element>
void fill_row(std::byte* to, Element value, std::size_t count) noexcept {
  const std::size_t seed = std::min(count, std::size_t{64} / sizeof(Element));
  auto* elements = reinterpret_cast<Element*>(to);
  for (std::size_t i = 0; i < seed; ++i) elements[i] = value;
  const std::size_t bytes = count * sizeof(Element);
  std::size_t done = seed * sizeof(Element);
  while (done < bytes) {
    const std::size_t next = std::min({done, pattern_bytes, bytes - done});
    std::memcpy(to + done, to, next);
    done += next;
  }
}

void fill_row(std::byte* to, const memset_work& work) noexcept {
  switch (work.element_size) {
    case 1: std::memset(to, static_cast<unsigned char>(work.value), work.width); break;
    case 2: fill_row(to, static_cast<std::uint16_t>(work.value), work.width); break;
    default: fill_row(to, work.value, work.width); break;
  }
}

}  // namespace

void memset_work::run() const noexcept {
  if (element_size == 4 && width == 1 && height == 1) {
    // The program may be looking at the word, to see how far the stream has come.
    __atomic_store_n(reinterpret_cast<std::uint32_t*>(to), value, __ATOMIC_RELEASE);
    engine::notify_written(to, 4);
    return;
  }
  for (std::size_t row = 0; row < height; ++row) fill_row(to + row * pitch, *this);
  engine::notify_written(to, (height - 1) * pitch + width * element_size);
}

// Copies may overlap: what the program then gets is undefined, but it gets it without harm.
void copy_work::run() const noexcept {
  std::memmove(to, from, bytes);
  engine::notify_written(to, bytes);
  std::free(staging);
}

void pitched_copy_work::run() const noexcept {
  const bool rows_adjoin = to_pitch == width && from_pitch == width;
  for (std::size_t slice = 0; slice < depth; ++slice) {
    std::byte* to_row = to + slice * to_slice;
    const std::byte* from_row = from + slice * from_slice;
    if (rows_adjoin) {
      std::memmove(to_row, from_row, width * height);
      continue;
    }
    for (std::size_t row = 0; row < height; ++row) {
      std::memmove(to_row + row * to_pitch, from_row + row * from_pitch, width);
    }
  }
  engine::notify_written(to, (depth - 1) * to_slice + (height - 1) * to_pitch + width);
  std::free(staging);
}

}  // namespace weir::embedded::model
