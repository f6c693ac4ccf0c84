// stage/plan.hpp - how a file is cut up and how much of it is under way at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <weir/device/device.hpp>

namespace weir::tool {

struct plan {
  std::size_t chunk_bytes = std::size_t{2} << 20;
  int streams = 4;
  int in_flight = 8;  // chunks that are somewhere between reading and checking
  weir::device device{0};
  bool graph =
      false;  // between the first chunks and the last, rounds of chunks are replayed from a graph

  // The same for one stream: what several are compared with.
  [[nodiscard]] plan with_streams(int count) const {
    plan other = *this;
    other.streams = count;
    return other;
  }

  // The same, replayed from a graph.
  [[nodiscard]] plan with_graph() const {
    plan other = *this;
    other.graph = true;
    return other;
  }

  // The same for a file of that size, without memory that it would not use.
  [[nodiscard]] plan fitted_to(std::uint64_t size) const {
    plan other = *this;
    other.chunk_bytes = static_cast<std::size_t>(std::min<std::uint64_t>(chunk_bytes, size));
    other.in_flight = static_cast<int>(std::min<std::uint64_t>(in_flight, other.chunks(size)));
    return other;
  }

  [[nodiscard]] std::uint64_t chunks(std::uint64_t size) const {
    return (size + chunk_bytes - 1) / chunk_bytes;
  }

  // How many bytes chunk number `chunk` of a file of that size has: only the last is shorter.
  [[nodiscard]] std::size_t bytes_of(std::uint64_t chunk, std::uint64_t size) const {
    return static_cast<std::size_t>(
        std::min<std::uint64_t>(chunk_bytes, size - chunk * chunk_bytes));
  }

  // How many chunks a graph sends: as many as stay in a processor's cache, for large ones gain
  // nothing from being queued together, and half of those in flight at most, so that one round is
  // under way while the next is read.
  [[nodiscard]] std::uint64_t round_chunks() const {
    constexpr std::size_t round_bytes = std::size_t{1} << 20;
    const auto half = static_cast<std::uint64_t>(std::max(1, in_flight / 2));
    return std::clamp<std::uint64_t>(round_bytes / chunk_bytes, 1, half);
  }

  // How much memory there is for chunks in flight. For a graph it is whole rounds, so that each
  // executable keeps to its own.
  [[nodiscard]] std::uint64_t slots() const {
    const auto all = static_cast<std::uint64_t>(in_flight);
    return graph ? all - all % round_chunks() : all;
  }

  // How many rounds of a file of that size are replayed. As many chunks as a round has, or some
  // more, are left before them and after: until there is work under way nothing should wait for a
  // whole round to be read, and at the end, when nothing more is read, as little as possible should
  // be left to do. All chunks of the rounds are full.
  [[nodiscard]] std::uint64_t rounds(std::uint64_t size) const {
    const std::uint64_t whole = chunks(size) / round_chunks();
    return graph && whole > 2 ? whole - 2 : 0;
  }
};

}  // namespace weir::tool
