// sequences/turns.cpp - several host threads that take turns.
#include "sequences/turns.hpp"

namespace weir::sequences {

turns::turns() {
  for (seat& one : seats_) one.thread = std::thread{[&one] { sit(one); }};
}

turns::~turns() {
  for (seat& one : seats_) {
    one.now = state::ending;
    one.now.notify_one();
    one.thread.join();
  }
}

void turns::run(unsigned thread, const std::function<void()>& act) {
  if (thread == 0) return act();
  seat& one = seats_[thread - 1];
  one.act = &act;
  one.now = state::asked;
  one.now.notify_one();
  one.now.wait(state::asked);
}

void turns::sit(seat& mine) {
  for (;;) {
    mine.now.wait(state::idle);
    if (mine.now == state::ending) return;
    (*mine.act)();
    mine.now = state::idle;
    mine.now.notify_one();
  }
}

}  // namespace weir::sequences
