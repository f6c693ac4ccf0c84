// SPDX-License-Identifier: Apache-2.0
// Lesson 12: a pool of streams: a few streams serve hundreds of requests.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>
#include <weir/weir.hpp>

namespace {

// One request: it has a stream for its exclusive use and returns the stream to the pool.
bool serve(const weir::stream_pool& pool, int number) {
  using namespace std::chrono_literals;
  std::optional<weir::stream_lease> s = pool.acquire_for(30s, "requests");
  if (!s) return false;  // no stream became free in time
  weir::pinned_buffer<int> question{256};
  weir::pinned_buffer<int> answer{256};
  std::iota(question.begin(), question.end(), number);
  weir::buffer<int> there{*s, question.size()};
  weir::copy(*s, question, there);
  weir::copy(*s, there, answer);
  s->ref().sync();
  return answer[0] == number && answer[255] == number + 255;
}

}  // namespace

int main() {
  const weir::device gpu;
  const weir::stream_pool pool{gpu,
                               {{.name = "requests", .limit = 3}, {.name = "reports", .limit = 1}}};

  std::atomic<int> served{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) served += serve(pool, 100 * t + i) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();

  // Work that needs no exclusive stream uses the next one in turn.
  int report = 0;
  weir::launch_host(pool.next("reports"), [&] { report = served; });
  pool.next("reports").sync();
  const weir::stream_pool::counts counts = pool.count("requests");
  std::printf("%d requests on %u streams, %u still lent\n", report, counts.created, counts.leased);
  return report == 300 && counts.created <= 3 && counts.leased == 0 ? 0 : 1;
}
