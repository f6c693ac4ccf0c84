// SPDX-License-Identifier: Apache-2.0
// support/device_copy.hpp - copies device memory to the host.
#pragma once

#include <weir/memory/copy.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

#include <cstddef>
#include <vector>

namespace weir::test {

// Copies the elements of a buffer in stream order, and waits for the stream.
template <class Buffer>
[[nodiscard]] auto contents(stream_ref s, const Buffer& of) {
  using element = typename Buffer::value_type;
  std::vector<element> host(of.size());
  copy(s, of, host);
  s.sync();
  return host;
}

}  // namespace weir::test
