// SPDX-License-Identifier: Apache-2.0
// harness/sample_file.cpp - fills a file in memory.
#include "harness/sample_file.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <vector>

namespace bench {

sample_file::sample_file(std::uint64_t bytes) : file_{::memfd_create("weir_bench", MFD_CLOEXEC)} {
  std::mt19937_64 random{1};
  std::vector<std::uint64_t> part(std::size_t{1} << 17);
  for (std::uint64_t left = bytes; left > 0;) {
    std::generate(part.begin(), part.end(), std::ref(random));
    const auto size = std::min<std::uint64_t>(left, part.size() * sizeof part[0]);
    if (::write(file_.get(), part.data(), size) != static_cast<ssize_t>(size)) {
      throw std::runtime_error{"there is no memory for a file to stage"};
    }
    left -= size;
  }
}

}  // namespace bench
