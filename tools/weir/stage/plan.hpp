// SPDX-License-Identifier: Apache-2.0
// tools/weir/stage/plan.hpp - how a file is divided into chunks, and how many are in flight.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <weir/device/device.hpp>

namespace weir::tool {

struct plan {
  std::size_t chunk_bytes = std::size_t{2} << 20;
  int streams = 4;
  int in_flight = 8;  // the maximum number of chunks that are read and not checked yet
  weir::device device{0};
  // True: all chunks but those at the beginning and the end of the file are replayed from a graph.
  // A round is the chunks of one graph launch.
  bool graph = false;

  // Returns a copy with another number of streams, to compare with.
  [[nodiscard]] plan with_streams(int count) const {
    plan other = *this;
    other.streams = count;
    return other;
  }

  // Returns a copy that replays from a graph.
  [[nodiscard]] plan with_graph() const {
    plan other = *this;
    other.graph = true;
    return other;
  }

  // Returns a copy for a file of `size` bytes, without memory that it would not use.
  [[nodiscard]] plan fitted_to(std::uint64_t size) const {
    plan other = *this;
    other.chunk_bytes = static_cast<std::size_t>(std::min<std::uint64_t>(chunk_bytes, size));
    other.in_flight = static_cast<int>(std::min<std::uint64_t>(in_flight, other.chunks(size)));
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

  // Returns the number of chunks in a round: as many as fit into 1 MiB, a processor's cache. Chunks
  // of more than half of that size are launched one by one, since a launch costs little compared
  // with their copies. A round has at most half of the chunks in flight, so that one round runs
  // while the next is read.
  [[nodiscard]] std::uint64_t round_chunks() const {
    constexpr std::size_t round_bytes = std::size_t{1} << 20;
    const auto half = static_cast<std::uint64_t>(std::max(1, in_flight / 2));
    return std::clamp<std::uint64_t>(round_bytes / chunk_bytes, 1, half);
  }

  // Returns the number of slots for chunks in flight. With a graph it is a multiple of
  // round_chunks(), so that each executable graph always uses the same slots.
  [[nodiscard]] std::uint64_t slots() const {
    const auto all = static_cast<std::uint64_t>(in_flight);
    return graph ? all - all % round_chunks() : all;
  }

  // Returns the number of replayed rounds for a file of `size` bytes. About one round of chunks at
  // the beginning and one at the end of the file is enqueued chunk by chunk instead. At the
  // beginning, work should start before a whole round is read. At the end, little work should
  // remain after the last read. All chunks of the rounds are full.
  [[nodiscard]] std::uint64_t rounds(std::uint64_t size) const {
    const std::uint64_t whole = chunks(size) / round_chunks();
    return graph && whole > 2 ? whole - 2 : 0;
  }
};

}  // namespace weir::tool
