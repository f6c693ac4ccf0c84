// stage/plan.hpp - how a file is cut up and how much of it is under way at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <weir/device.hpp>

namespace weir::tool {

struct plan {
  std::size_t chunk_bytes = std::size_t{2} << 20;
  int streams = 4;
  int in_flight = 8;  // chunks that are somewhere between reading and checking
  weir::device device{0};

  // The same for one stream: what several are compared with.
  [[nodiscard]] plan with_streams(int count) const {
    plan other = *this;
    other.streams = count;
    return other;
  }

  // The same for a file of that size, without memory that it would not use.
  [[nodiscard]] plan fitted_to(std::uint64_t size) const {
    plan other = *this;
    other.chunk_bytes = static_cast<std::size_t>(std::min<std::uint64_t>(chunk_bytes, size));
    other.in_flight = static_cast<int>(std::min<std::uint64_t>(in_flight, other.chunks(size)));
    return other;
  }

  [[nodiscard]] std::uint64_t chunks(std::uint64_t size) const { return (size + chunk_bytes - 1) / chunk_bytes; }

  // How many bytes chunk number `chunk` of a file of that size has: only the last is shorter.
  [[nodiscard]] std::size_t bytes_of(std::uint64_t chunk, std::uint64_t size) const {
    return static_cast<std::size_t>(std::min<std::uint64_t>(chunk_bytes, size - chunk * chunk_bytes));
  }
};

}  // namespace weir::tool
