// api/deferred/keep_until_idle.hpp - owners that live until the work that a stream is being given
// is done.
#pragma once

#include "api/memory/pending_uses.hpp"

#include <weir/core/call_site.hpp>
#include <weir/detail/keep_alive.hpp>
#include <weir/stream/stream.hpp>

#include <memory>
#include <vector>

namespace weir::detail {

// The work is what the stream has when this ends.
class keep_until_idle {
 public:
  keep_until_idle(stream_ref stream, call_site at) noexcept : stream_{stream}, at_{at} {}
  keep_until_idle(const keep_until_idle&) = delete;
  keep_until_idle& operator=(const keep_until_idle&) = delete;
  ~keep_until_idle();

  // Throws with the owner gone.
  void keep(keep_alive_ref owner);

 private:
  stream_ref stream_;
  call_site at_;
  std::shared_ptr<pending_uses> uses_;
  std::vector<keep_alive_ref> owners_;
};

}  // namespace weir::detail
