// scan/kernels.hpp - the kernels of scan.cu on a device.
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

// Kernels take memory in units of so many bytes.
inline constexpr std::size_t unit_bytes = 16;

[[nodiscard]] constexpr std::size_t whole_units(std::size_t bytes) noexcept {
  return (bytes + unit_bytes - 1) / unit_bytes * unit_bytes;
}

// What they find out about a chunk: its remainder, then how often each byte comes.
inline constexpr std::size_t found_words = 1 + 256;

// Compiled for one device, by whatever compiler it takes. Thread safety: queue() from any thread.
class kernels {
 public:
  // Throws weir::compile_error where there is no compiler.
  explicit kernels(weir::device device);

  // Queues both over whole units of the device's memory. They add to `found`.
  void queue(stream_ref s, std::span<const std::byte> units, std::span<std::uint32_t> found) const;

 private:
  kernel remainder_;
  kernel count_bytes_;
  unsigned blocks_;  // that the device should have at least
};

}  // namespace weir::tool::scan
