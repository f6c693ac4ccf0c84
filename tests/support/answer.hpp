// support/answer.hpp - how somebody's wait has ended.
#pragma once

#include <weir/completion/completion.hpp>
#include <weir/core/errc.hpp>

#include <atomic>

#include "support/detached.hpp"

namespace weir::test {

struct answer {
  std::atomic<int> told{0};
  errc outcome = errc::not_ready;

  void tell(errc how) {
    outcome = how;
    ++told;
  }
};

inline detached await(completion c, answer& to) { to.tell(co_await c.outcome()); }

}  // namespace weir::test
