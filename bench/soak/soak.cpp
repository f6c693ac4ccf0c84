// SPDX-License-Identifier: Apache-2.0
// soak/soak.cpp - chooses the operations, and counts.
#include "soak/soak.hpp"

#include "soak/soak_stream.hpp"

#include <deque>
#include <random>

namespace soak {
namespace {

class bath {
 public:
  explicit bath(const options& options) : random_{options.seed} {
    for (int i = 0; i < options.streams; ++i) streams_.emplace_back(weir::device{});
  }

  void one_operation() {
    soak_stream& target = any_stream();
    const auto dice = random_() % 1000;
    if (dice < 400) return target.set_word();
    if (dice < 550) return target.record();
    if (dice < 700) return target.wait_for(any_stream());
    if (dice < 800) return target.allocate();
    if (dice < 850) return target.free_one();
    if (dice < 920) return target.call_host();
    if (dice < 985) return target.copy_word();
    if (dice < 990) return target.replace_stream();
    check(target);
  }

  void check_all() {
    for (soak_stream& l : streams_) check(l);
  }

  [[nodiscard]] const result& counted() const { return result_; }

 private:
  soak_stream& any_stream() { return streams_[random_() % streams_.size()]; }

  void check(soak_stream& l) {
    ++result_.checks;
    if (!l.sync_and_check()) ++result_.lost;
  }

  std::mt19937_64 random_;
  std::deque<soak_stream> streams_;  // which never move
  result result_;
};

}  // namespace

result run(const options& options, const std::function<void(int tenth)>& on_idle) {
  bath all{options};
  for (int tenth = 1; tenth <= 10; ++tenth) {
    for (std::uint64_t i = 0; i < options.operations / 10; ++i) all.one_operation();
    all.check_all();
    on_idle(tenth);
  }
  return all.counted();
}

}  // namespace soak
