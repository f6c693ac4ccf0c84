// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/kernels.hpp - the kernels of scan.cu on a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <weir/kernel/kernel.hpp>
#include <weir/stream/stream.hpp>

namespace weir::tool::scan {

// The text of scan.cu.
[[nodiscard]] std::string_view kernel_text() noexcept;

// Kernels process memory in units of this many bytes.
inline constexpr std::size_t unit_bytes = 16;

// Returns `bytes` rounded up to a multiple of unit_bytes.
[[nodiscard]] constexpr std::size_t whole_units(std::size_t bytes) noexcept {
  return (bytes + unit_bytes - 1) / unit_bytes * unit_bytes;
}

// The results for a chunk in words: its remainder, then the count of each byte value.
inline constexpr std::size_t found_words = 1 + 256;

// The kernels, compiled for one device with the available compiler. Thread safety: queue() from any
// thread.
class kernels {
 public:
  // Throws weir::compile_error if there is no compiler.
  explicit kernels(weir::device device);

  // Enqueues both kernels for whole units of device memory. They add to `found`.
  void queue(stream_ref s, std::span<const std::byte> units, std::span<std::uint32_t> found) const;

 private:
  kernel remainder_;
  kernel count_bytes_;
  unsigned blocks_;  // the number of blocks that keeps the device busy
};

}  // namespace weir::tool::scan
