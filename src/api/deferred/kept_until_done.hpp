// api/deferred/kept_until_done.hpp - owners that live until the work that a stream is being given is done.
#pragma once

#include "api/memory/use_list.hpp"

#include <weir/core/call_site.hpp>
#include <weir/detail/kept_owner.hpp>
#include <weir/stream/stream.hpp>

#include <memory>
#include <vector>

namespace weir::detail {

// The work is what the stream has when this ends.
class kept_until_done {
 public:
  kept_until_done(stream_ref stream, call_site at) noexcept : stream_{stream}, at_{at} {}
  kept_until_done(const kept_until_done&) = delete;
  kept_until_done& operator=(const kept_until_done&) = delete;
  ~kept_until_done();

  // Throws with the owner gone.
  void keep(owner_share owner);

 private:
  stream_ref stream_;
  call_site at_;
  std::shared_ptr<use_list> uses_;
  std::vector<owner_share> owners_;
};

}  // namespace weir::detail
