// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/on_host.cpp - threads that each take the next chunk in turn.
#include "scan/on_host.hpp"

#include "checksum.hpp"
#include "scan/run_on_threads.hpp"

#include <atomic>
#include <chrono>
#include <vector>

namespace weir::tool::scan {

host_result scan_on_host(const input_file& file, const plan& plan) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::uint32_t> sums(plan.chunks(file.size()));
  std::vector<histogram> counts(static_cast<std::size_t>(plan.readers));
  std::atomic<std::uint64_t> next = 0;
  run_on_threads(plan.readers, [&](int reader) {
    std::vector<std::byte> chunk(plan.chunk_bytes);
    histogram own{};
    for (std::uint64_t i = next++; i < sums.size(); i = next++) {
      chunk.resize(plan.bytes_of(i, file.size()));
      file.read(i * plan.chunk_bytes, chunk);
      sums[i] = crc32_of(0, chunk);
      for (const std::byte b : chunk) ++own[static_cast<unsigned char>(b)];
      chunk.resize(plan.chunk_bytes);
    }
    counts[static_cast<std::size_t>(reader)] = own;
  });
  host_result result;
  for (std::uint64_t i = 0; i < sums.size(); ++i) {
    result.found.crc = crc32_joined(result.found.crc, sums[i], plan.bytes_of(i, file.size()));
  }
  for (const histogram& own : counts) add(result.found.counts, own);
  result.seconds = std::chrono::duration<double>{std::chrono::steady_clock::now() - start}.count();
  return result;
}

}  // namespace weir::tool::scan
