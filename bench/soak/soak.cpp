// soak/soak.cpp - choosing among the operations, and counting.
#include "soak/soak.hpp"

#include "soak/lane.hpp"

#include <deque>
#include <random>

namespace soak {
namespace {

class bath {
 public:
  explicit bath(const options& options) : random_{options.seed} {
    for (int i = 0; i < options.streams; ++i) lanes_.emplace_back(weir::device{});
  }

  void one_operation() {
    lane& here = any_lane();
    const auto dice = random_() % 1000;
    if (dice < 400) return here.set_word();
    if (dice < 550) return here.record();
    if (dice < 700) return here.wait_for(any_lane());
    if (dice < 800) return here.allocate();
    if (dice < 850) return here.free_one();
    if (dice < 920) return here.call_host();
    if (dice < 985) return here.copy_word();
    if (dice < 990) return here.replace_stream();
    check(here);
  }

  void check_all() {
    for (lane& l : lanes_) check(l);
  }

  [[nodiscard]] const result& counted() const { return result_; }

 private:
  lane& any_lane() { return lanes_[random_() % lanes_.size()]; }

  void check(lane& l) {
    ++result_.checks;
    if (!l.sync_and_check()) ++result_.lost;
  }

  std::mt19937_64 random_;
  std::deque<lane> lanes_;  // which never move
  result result_;
};

}  // namespace

result run(const options& options, const std::function<void(int tenth)>& at_rest) {
  bath all{options};
  for (int tenth = 1; tenth <= 10; ++tenth) {
    for (std::uint64_t i = 0; i < options.operations / 10; ++i) all.one_operation();
    all.check_all();
    at_rest(tenth);
  }
  return all.counted();
}

}  // namespace soak
