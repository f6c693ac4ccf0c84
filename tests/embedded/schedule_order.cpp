// schedule_order.cpp - prints in which order the operations of five streams ran; same_order.sh compares runs.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "embedded/engine/timeline.hpp"
#include "embedded/engine/waiting.hpp"
#include "embedded/table.hpp"

using namespace weir::embedded;
using engine::timeline;

namespace {

struct note {
  std::vector<int>* order;
  int number;

  void run() const noexcept { order->push_back(number); }
};

}  // namespace

int main() {
  if (table().cuInit(0) != weir::abi::CUDA_SUCCESS) return EXIT_FAILURE;
  constexpr int streams = 5;
  constexpr int rounds = 12;
  std::vector<int> order;
  std::vector<timeline*> lines;
  for (int i = 0; i < streams; ++i) lines.push_back(&timeline::acquire());
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < streams; ++i) {
      timeline::submission to{*lines[static_cast<std::size_t>(i)]};
      to.add(engine::make_operation(note{&order, 10 * round + i}));
    }
  }
  for (timeline* line : lines) engine::wait(line->submitted_point());
  for (const int number : order) std::printf("%d ", number);
  std::printf("\n");
  return order.size() == streams * rounds ? EXIT_SUCCESS : EXIT_FAILURE;
}
