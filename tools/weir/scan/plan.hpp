// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/plan.hpp - how a file is divided into chunks, and how many threads and streams
// work on it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <weir/device/device.hpp>

namespace weir::tool::scan {

// Returns the number of threads that read the file: one for every two processors, up to eight.
// Several are needed because one thread copies out of the page cache at a fraction of the bus's
// speed. The other processors are left to the kernels of an embedded device.
[[nodiscard]] inline int default_readers() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency() / 2), 1, 8);
}

struct plan {
  std::size_t chunk_bytes = std::size_t{2} << 20;
  int streams = 4;
  int in_flight = 16;  // the maximum number of chunks that are read and not finished yet
  int readers = default_readers();
  weir::device device{0};

  [[nodiscard]] plan with_streams(int count) const {
    plan other = *this;
    other.streams = count;
    return other;
  }

  // Returns a copy for a file of `size` bytes, without memory and threads that it would not use.
  [[nodiscard]] plan fitted_to(std::uint64_t size) const {
    plan other = *this;
    other.chunk_bytes = static_cast<std::size_t>(std::min<std::uint64_t>(chunk_bytes, size));
    other.in_flight = static_cast<int>(std::min<std::uint64_t>(in_flight, other.chunks(size)));
    other.readers = std::min(readers, other.in_flight);
    return other;
  }

  [[nodiscard]] std::uint64_t chunks(std::uint64_t size) const {
    return (size + chunk_bytes - 1) / chunk_bytes;
  }

  // The size of chunk number `chunk` in bytes; only the last chunk of a file is shorter.
  [[nodiscard]] std::size_t bytes_of(std::uint64_t chunk, std::uint64_t size) const {
    return static_cast<std::size_t>(
        std::min<std::uint64_t>(chunk_bytes, size - chunk * chunk_bytes));
  }
};

}  // namespace weir::tool::scan
