// api/context_number.hpp - which context a stream is of, as a number that is never used again.
#pragma once

#include "api/stream_state.hpp"

#include <weir/call_site.hpp>

#include <cstddef>
#include <cstdint>

namespace weir::detail {

struct stream_place {
  unsigned long long context = 0;
  bool owned = false;  // by weir
};

// The last few streams of weir's that this thread has asked about: the look costs a few instructions. Their end is noticed;
// that of others is not, so those are asked for each time.
struct known_places {
  struct entry {
    abi::CUstream stream;
    unsigned long long context;
  };
  static constexpr std::size_t size = 16;
  entry entries[size];
  std::uint32_t seen_destroyed;  // streams_destroyed when the entries were last known to be good
};

extern thread_local constinit known_places known_to_thread [[gnu::tls_model("initial-exec")]];

// The entry for a stream; its fields are the stream's only if `stream` matches.
[[nodiscard]] inline known_places::entry& known_place(abi::CUstream stream) noexcept {
  const auto bits = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(stream));
  return known_to_thread.entries[(bits * 0x9e37'79b9'7f4a'7c15u) >> 60];
}

[[nodiscard]] stream_place find_stream_place(abi::CUstream stream, call_site at);

// Throws where the stream is a default one and no context is current (invalid_context). cuStreamGetCtx, cuCtxGetCurrent,
// cuCtxGetId; for streams of weir's mostly none of them.
[[nodiscard]] inline stream_place stream_place_of(abi::CUstream stream, call_site at) {
  const known_places::entry& known = known_place(stream);
  if (known.stream == stream && stream != nullptr &&
      known_to_thread.seen_destroyed == streams_destroyed.load(std::memory_order_relaxed)) [[likely]] {
    return {known.context, true};
  }
  return find_stream_place(stream, at);
}

}  // namespace weir::detail
