// SPDX-License-Identifier: Apache-2.0
// graphs/main.cpp - random captures and graphs on the driver that WEIR_DRIVER names, compared with
// a model. README.md describes its use.
#include "graphs/sequence.hpp"
#include "graphs/shrink.hpp"
#include "graphs/wait_report.hpp"

#include <weir/core/driver.hpp>
#include <weir/core/error.hpp>

#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#if defined(__SANITIZE_THREAD__)
// Unordered nodes write and read shared words on purpose; the values that they may read are
// checked.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:weir::graphs::driver_under_test::words\nrace:weir::embedded::model::set_work::run\n"
         "race:weir::embedded::model::copy_work::run\n";
}
#endif

namespace {

using namespace weir::graphs;
using steady = std::chrono::steady_clock;

constexpr int skipped = 77;
constexpr unsigned concurrent_sequences = 3;

struct options {
  std::uint64_t seed = 1;
  std::uint64_t count = 1000;
  unsigned length = 120;
  unsigned limit = 120;
  unsigned shrink = 60;
  double minutes = 0;
  std::optional<unsigned> wait_limit;
  bool verbose = false;
  int sequence = -1;
  std::set<unsigned> without;
};

// For the report of a sequence that hangs or crashes.
volatile std::uint64_t seed_now = 0;
const call_log* call_logs[concurrent_sequences] = {};
std::atomic<bool> reported = false;

void write_now(const char* text) { (void)!::write(STDERR_FILENO, text, std::strlen(text)); }

// A signal handler must not call printf.
void write_now(std::uint64_t number) {
  char digits[20];
  char* first = std::end(digits);
  do {
    *--first = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  (void)!::write(STDERR_FILENO, first, static_cast<std::size_t>(std::end(digits) - first));
}

// Prints the last calls: the last one has not returned, or a later one crashed.
extern "C" void report_calls(int signal) {
  if (reported.exchange(true)) return;
  for (const call_log* const calls : call_logs) {
    if (calls == nullptr || calls->end() == 0) continue;
    write_now("calls so far:\n");
    calls->write_to(STDERR_FILENO);
    write_now("\n");
  }
  write_now("signal ");
  write_now(static_cast<std::uint64_t>(signal));
  write_now(" in seed ");
  write_now(seed_now);
  write_now("\n");
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// Prints at once, as a concurrent sequence may never end.
void report(const result& r, std::uint64_t seed, bool has_printed) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock{one_at_a_time};
  std::printf("seed %llu%s\n%s%s\n", static_cast<unsigned long long>(seed),
              has_printed ? " finds" : ", all calls:", has_printed ? "" : r.text.c_str(),
              r.finding->c_str());
  std::fflush(stdout);
}

// Even seeds run one sequence, which may break anything; odd seeds run concurrent sequences, or one
// of them alone.
bool passes(std::uint64_t seed, const options& o,
            std::vector<std::unique_ptr<driver_under_test>>& drivers, wait_report& waited,
            unsigned& failing_sequence) {
  seed_now = seed;
  ::alarm(o.limit);
  for (const std::unique_ptr<driver_under_test>& one : drivers) one->calls().clear();
  const auto passes_in = [&](unsigned in, concurrency_mode concurrency, std::uint64_t of) {
    const result r = run(*drivers[in], concurrency, of, o.length, o.without);
    if (r.finding) report(r, seed, o.verbose);
    waited.add(r.waited, seed);
    return !r.finding;
  };
  if (seed % 2 == 0) return passes_in(0, concurrency_mode::exclusive, seed);
  std::array<bool, concurrent_sequences> passed;
  passed.fill(true);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < concurrent_sequences; ++i) {
    if (o.sequence >= 0 && static_cast<unsigned>(o.sequence) != i) continue;
    threads.emplace_back([&, i] {
      passed[i] = passes_in(i, concurrency_mode::concurrent, seed * concurrent_sequences + i);
    });
  }
  for (std::thread& t : threads) t.join();
  ::alarm(0);
  const auto found = std::ranges::find(passed, false);
  if (found == passed.end()) return true;
  failing_sequence = static_cast<unsigned>(found - passed.begin());
  return false;
}

std::set<unsigned> numbers(const char* text) {
  std::set<unsigned> all;
  for (char* end = nullptr; *text != 0; text = *end == ',' ? end + 1 : end) {
    all.insert(static_cast<unsigned>(std::strtoul(text, &end, 10)));
    if (end == text) throw std::runtime_error{"steps are numbers with commas between them"};
  }
  return all;
}

options parse(int count, char** arguments) {
  options o;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const std::string name = argument.substr(0, argument.find('='));
    const char* const value = argument.c_str() + std::min(name.size() + 1, argument.size());
    if (name == "--seed")
      o.seed = std::strtoull(value, nullptr, 10);
    else if (name == "--count")
      o.count = std::strtoull(value, nullptr, 10);
    else if (name == "--length")
      o.length = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
    else if (name == "--limit")
      o.limit = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
    else if (name == "--shrink")
      o.shrink = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
    else if (name == "--lane")
      o.sequence = static_cast<int>(std::strtoul(value, nullptr, 10));
    else if (name == "--without")
      o.without = numbers(value);
    else if (name == "--patience")
      o.wait_limit = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
    else if (name == "--minutes")
      o.minutes = std::strtod(value, nullptr);
    else if (name == "--verbose")
      o.verbose = true;
    else
      throw std::runtime_error{"no option is named " + name};
  }
  return o;
}

// A GPU's driver may block when its queues are full. The embedded driver never does; its limit
// allows for threads that are preempted on a busy machine.
wait_limit wait_limit_for(weir::driver_kind driver, const options& o) {
  const bool is_finding = driver == weir::driver_kind::embedded;
  return {std::chrono::seconds{o.wait_limit.value_or(is_finding ? 20 : 1)}, is_finding};
}

int run_all(const options& o, const wait_limit& limit) {
  std::vector<std::unique_ptr<driver_under_test>> drivers;
  wait_report waited;
  for (unsigned i = 0; i < concurrent_sequences; ++i) {
    drivers.push_back(std::make_unique<driver_under_test>(limit));
    if (o.verbose) drivers[i]->calls().print_as("sequence " + std::to_string(i) + ": ");
    call_logs[i] = &drivers[i]->calls();
  }
  const steady::time_point until =
      steady::now() +
      std::chrono::duration_cast<steady::duration>(std::chrono::duration<double>{o.minutes * 60});
  std::uint64_t done = 0;
  for (; o.minutes > 0 ? steady::now() < until : done < o.count; ++done) {
    unsigned failing = 0;
    if (o.verbose) std::printf("seed %llu\n", static_cast<unsigned long long>(o.seed + done));
    if (passes(o.seed + done, o, drivers, waited, failing)) continue;
    ::alarm(0);
    waited.print();
    if (o.shrink > 0)
      shrink({o.seed + done, failing, o.length, o.limit, limit.time, o.without}, o.shrink);
    // Driver objects are left as they are.
    std::fflush(stdout);
    ::_exit(1);
  }
  ::alarm(o.limit);
  for (const call_log*& calls : call_logs) calls = nullptr;
  drivers.clear();
  std::printf("%llu seeds of %u steps, from %llu on: nothing found\n",
              static_cast<unsigned long long>(done), o.length,
              static_cast<unsigned long long>(o.seed));
  waited.print();
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  for (const int signal : {SIGALRM, SIGTERM, SIGINT, SIGSEGV, SIGABRT, SIGBUS})
    std::signal(signal, report_calls);
  // No output is lost if a driver crashes the process.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  // A GPU's driver reads this when it starts: lazy loading would wait for blocked streams.
  ::setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  try {
    const options o = parse(count, arguments);
    return run_all(o, wait_limit_for(weir::current_driver().kind, o));
  } catch (const weir::error& failure) {
    std::fprintf(stderr, "weir_graphs: %s\n", failure.what());
    const bool absent =
        failure.result() == weir::errc::no_device || failure.result() == weir::errc::file_not_found;
    return absent ? skipped : 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "weir_graphs: %s\n", e.what());
    return 2;
  }
}
