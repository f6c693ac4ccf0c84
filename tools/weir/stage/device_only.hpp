// stage/device_only.hpp - how fast the device alone is: copies in, across and out, without disk and
// checksums.
#pragma once

#include "input_file.hpp"
#include "stage/plan.hpp"

#include <cstdint>
#include <weir/memory/pinned_buffer.hpp>

namespace weir::tool {

// The beginning of a file in pinned memory, and as much memory for what comes back.
class device_only {
 public:
  // At most this much of a file: longer runs tell nothing more.
  static constexpr std::uint64_t limit = std::uint64_t{256} << 20;

  // Reads the file. Throws failure if that fails.
  device_only(const input_file& file, weir::device device);

  [[nodiscard]] std::uint64_t bytes() const noexcept { return source_.size(); }

  // Sends all of it through the device once. The seconds from the first copy queued to the last one
  // done; making streams and memory is not part of it.
  [[nodiscard]] double run(const plan& plan);

  // Is what the last run brought back what was sent?
  [[nodiscard]] bool verified() const noexcept;

 private:
  pinned_buffer<std::byte> source_;
  pinned_buffer<std::byte> returned_;
};

}  // namespace weir::tool
