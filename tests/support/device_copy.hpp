// support/device_copy.hpp - what device memory holds, brought to the host.
#pragma once

#include <weir/memory/copy.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

#include <cstddef>
#include <vector>

namespace weir::test {

// The elements of a buffer in the order of a stream, which is waited for.
template <class Buffer>
[[nodiscard]] auto contents(stream_ref s, const Buffer& of) {
  using element = typename Buffer::value_type;
  std::vector<element> host(of.size());
  copy(s, of, host);
  s.sync();
  return host;
}

}  // namespace weir::test
