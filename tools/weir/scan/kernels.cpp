// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/kernels.cpp - compiles the kernels, and chooses how many blocks share a chunk.
#include "scan/kernels.hpp"

#include <algorithm>
#include <bit>
#include <thread>
#include <weir/kernel/launch.hpp>
#include <weir/kernel/module.hpp>
#include <weir/kernel/program.hpp>

namespace weir::tool::scan {
namespace {

constexpr unsigned threads = 32;  // in a block, as in scan.cu

// Returns the number of blocks that keeps the device busy: two for each multiprocessor. An embedded
// device runs blocks on the host's processors, whatever its attributes say, so there it is two for
// each processor.
unsigned useful_blocks(weir::device device) {
  if (device.is_embedded()) return 2 * std::max(1u, std::thread::hardware_concurrency());
  return 2 * static_cast<unsigned>(device.attribute(device_attribute::multiprocessor_count));
}

// Returns the size of a tile, the part of a chunk that one block processes. A block also has a
// fixed cost. A tile is therefore as large as possible while there are `blocks` tiles, within 8 to
// 256 KiB.
unsigned tile_bytes(std::size_t bytes, unsigned blocks) {
  return std::bit_floor(
      static_cast<unsigned>(std::clamp<std::size_t>(bytes / blocks, 8 << 10, 256 << 10)));
}

}  // namespace

kernels::kernels(weir::device device) : blocks_{useful_blocks(device)} {
  // [compile]
  const module code = program{std::string{kernel_text()}, {.name = "scan.cu"}}.compile(device);
  remainder_ = code.kernel("remainder");
  count_bytes_ = code.kernel("count_bytes");
  const stream s{device};
  launch(s, {.block = {256}}, code.kernel("prepare"));
  s.sync();
  // [/compile]
}

void kernels::queue(stream_ref s, std::span<const std::byte> units,
                    std::span<std::uint32_t> found) const {
  // [launch]
  const auto count = static_cast<unsigned>(units.size() / unit_bytes);
  const unsigned tile = tile_bytes(units.size(), blocks_) / unit_bytes;
  const launch_config config{.grid = {(count + tile - 1) / tile}, .block = {threads}};
  launch(s, config, remainder_, in(units), count, tile, inout(found.first(1)));
  launch(s, config, count_bytes_, in(units), count, tile, inout(found.subspan(1)));
  // [/launch]
}

}  // namespace weir::tool::scan
