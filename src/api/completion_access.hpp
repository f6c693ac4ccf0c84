// api/completion_access.hpp - completions, made and taken apart.
#pragma once

#include "reactor/lane.hpp"

#include <weir/completion.hpp>

namespace weir::detail {

class completion_access {
 public:
  [[nodiscard]] static completion make(lane& where, unsigned long long ticket) noexcept {
    return completion{&where, ticket};
  }
  [[nodiscard]] static lane* where(const completion& c) noexcept { return c.where_; }
  [[nodiscard]] static unsigned long long ticket(const completion& c) noexcept { return c.ticket_; }
};

// The lane of a stream, found or made. Throws std::bad_alloc, and what asking the driver fails with.
[[nodiscard]] lane& lane_of(CUstream stream, call_site at);

// The stream of weir's is gone, and its handle may come back.
void forget_lane(CUstream stream) noexcept;

// Throws what a point is settled with, unless that is success: then what a host function of the stream has thrown.
void throw_outcome(const lane* where, unsigned long long ticket, errc outcome, const char* call, call_site at);

}  // namespace weir::detail
