// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/slot.cpp - copies a chunk in, runs the kernels, and copies the results out.
#include "scan/slot.hpp"

#include <algorithm>
#include <weir/capture/capture.hpp>
#include <weir/completion/completion.hpp>
#include <weir/graph/graph.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>

namespace weir::tool::scan {

slot::slot(stream_ref s, const kernels& kernels, std::size_t chunk_bytes)
    : stream_{s},
      kernels_{kernels},
      chunk_bytes_{chunk_bytes},
      staged_{chunk_bytes, s.device()},
      device_chunk_{s, whole_units(chunk_bytes)},
      device_results_{s, found_words},
      host_results_{found_words, s.device()} {
  // Touches all pages now, so that page faults are not part of a measurement.
  std::ranges::fill(staged_, std::byte{0});
  fill(stream_, device_chunk_, std::byte{0});
  stream_.sync();
}

void slot::set(parts which, bool replay) {
  parts_ = which;
  replayed_.reset();
  if (!replay) return;
  // [capture]
  replayed_ = capture(stream_, [&] { queue(chunk_bytes_); }).instantiate();
  // [/capture]
  replayed_->upload(stream_);
}

// [queue]
void slot::queue(std::size_t bytes) {
  // Kernels read whole units. Leading zeros do not change the remainder, so a chunk lies at the end
  // of its units.
  const auto units = std::span{device_chunk_.data(), device_chunk_.size()}.last(whole_units(bytes));
  const std::size_t gap = units.size() - bytes;

  fill(stream_, device_results_, 0u);
  if (parts_.copies) {
    if (gap != 0) fill(stream_, units.first(gap), std::byte{0});
    copy(stream_, staged(bytes), units.last(bytes));
  }
  if (parts_.kernels)
    kernels_.queue(stream_, units, {device_results_.data(), device_results_.size()});
  copy(stream_, device_results_, host_results_);
}
// [/queue]

// [look-at]
task<> slot::process(std::size_t bytes) {
  if (replayed_ && bytes == chunk_bytes_) {
    replayed_->launch(stream_);
  } else {
    queue(bytes);
  }
  co_await stream_.completion();
  host_results_[1] -= static_cast<std::uint32_t>(
      whole_units(bytes) - bytes);  // the leading zeros are not part of the chunk
}
// [/look-at]

}  // namespace weir::tool::scan
