// SPDX-License-Identifier: Apache-2.0
// tools/weir/stage/device_only.cpp - enqueues the copies of all chunks as fast as possible.
#include "stage/device_only.hpp"

#include "stage/chunk_transfer.hpp"
#include "stage/pipeline_streams.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>
#include <vector>

namespace weir::tool {

device_only::device_only(const input_file& file, weir::device device)
    : source_{static_cast<std::size_t>(std::min(file.size(), limit)), device},
      returned_{source_.size(), device} {
  file.read(0, source_);
}

double device_only::run(const plan& whole) {
  const plan plan = whole.fitted_to(bytes());
  std::memset(returned_.data(), 0, returned_.size());

  std::vector<chunk_transfer> transfers;
  const pipeline_streams streams{plan.device, plan.streams};
  for (int i = 0; i < plan.in_flight; ++i)
    transfers.emplace_back(streams, plan.device, plan.chunk_bytes);
  streams.sync();

  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t chunk = 0; chunk < plan.chunks(bytes()); ++chunk) {
    const std::size_t begin = chunk * plan.chunk_bytes;
    const std::size_t size = plan.bytes_of(chunk, bytes());
    transfers[chunk % transfers.size()].enqueue(streams, chunk,
                                                std::span{source_.data() + begin, size},
                                                std::span{returned_.data() + begin, size});
  }
  streams.sync();
  return std::chrono::duration<double>{std::chrono::steady_clock::now() - start}.count();
}

bool device_only::verified() const noexcept {
  return std::equal(source_.begin(), source_.end(), returned_.begin());
}

}  // namespace weir::tool
