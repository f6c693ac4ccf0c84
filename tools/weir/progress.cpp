// SPDX-License-Identifier: Apache-2.0
// tools/weir/progress.cpp - draws the progress bar, at most ten times a second.
#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace weir::tool {
namespace {

constexpr std::chrono::milliseconds between_drawings{100};
constexpr std::size_t width = 40;

}  // namespace

progress::progress(std::uint64_t total)
    : total_{std::max<std::uint64_t>(total, 1)},
      next_drawing_{clock::now()},
      visible_{::isatty(STDERR_FILENO) == 1} {}

progress::~progress() {
  if (visible_) std::fputs("\r\x1b[K", stderr);
}

void progress::advance(std::uint64_t bytes) {
  const std::uint64_t done = done_ += bytes;
  if (!visible_) return;
  const std::unique_lock lock{drawing_, std::try_to_lock};
  if (!lock.owns_lock()) return;  // another thread is drawing
  const auto now = clock::now();
  if (now < next_drawing_) return;
  next_drawing_ = now + between_drawings;
  draw(std::min(done, total_));
}

void progress::draw(std::uint64_t done) const {
  const auto full =
      static_cast<std::size_t>(static_cast<double>(done) / static_cast<double>(total_) * width);
  const std::string bar = std::string(full, '#') + std::string(width - full, '.');
  const std::string line = fmt::format("\r[{}] {:3} %", bar, done * 100 / total_);
  std::fputs(line.c_str(), stderr);
}

}  // namespace weir::tool
