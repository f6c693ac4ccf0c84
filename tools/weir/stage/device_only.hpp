// SPDX-License-Identifier: Apache-2.0
// tools/weir/stage/device_only.hpp - measures the device alone: copies in, across and out, without
// disk and checksums.
#pragma once

#include "input_file.hpp"
#include "stage/plan.hpp"

#include <cstdint>
#include <weir/memory/pinned_buffer.hpp>

namespace weir::tool {

// The beginning of a file in pinned memory, and as much memory for the returned data.
class device_only {
 public:
  // At most this much of a file is used: longer runs give no more information.
  static constexpr std::uint64_t limit = std::uint64_t{256} << 20;

  // Reads the file. Throws failure if that fails.
  device_only(const input_file& file, weir::device device);

  [[nodiscard]] std::uint64_t bytes() const noexcept { return source_.size(); }

  // Copies all the data through the device once. Returns the seconds from the first enqueued copy
  // to the end of the last one, without the creation of streams and memory.
  [[nodiscard]] double run(const plan& plan);

  // Returns true if the last run brought back the data that was sent.
  [[nodiscard]] bool verified() const noexcept;

 private:
  pinned_buffer<std::byte> source_;
  pinned_buffer<std::byte> returned_;
};

}  // namespace weir::tool
