// graphs/main.cpp - random captures and graphs on the driver that WEIR_DRIVER names, held against a model. README.md tells
// how it is used.
#include "graphs/sequence.hpp"

#include <weir/driver.hpp>
#include <weir/error.hpp>

#include <unistd.h>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#if defined(__SANITIZE_THREAD__)
// Nodes without an order between them write and read the same words on purpose; what they may find is checked.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:weir::graphs::lane::words\nrace:weir::embedded::model::set_work::run\n"
         "race:weir::embedded::model::copy_work::run\n";
}
#endif

namespace {

using namespace weir::graphs;
using steady = std::chrono::steady_clock;

constexpr int skipped = 77;
constexpr unsigned lanes_beside = 3;

struct options {
  std::uint64_t seed = 1;
  std::uint64_t count = 1000;
  unsigned length = 120;
  double minutes = 0;
  bool verbose = false;
};

// For one that hangs or crashes.
volatile std::uint64_t seed_now = 0;

extern "C" void tell_seed(int signal) {
  char text[64];
  const int length =
      std::snprintf(text, sizeof text, "signal %d in seed %llu\n", signal, static_cast<unsigned long long>(seed_now));
  (void)!::write(STDERR_FILENO, text, static_cast<std::size_t>(length));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void tell(const result& r, std::uint64_t seed, const char* which) {
  std::printf("seed %llu, %s:\n", static_cast<unsigned long long>(seed), which);
  for (const std::string& line : r.text) std::printf("  %s\n", line.c_str());
  std::printf("%s\n", r.finding.value_or("nothing found").c_str());
}

// Even seeds are alone and may break what they want; odd ones are sequences beside each other.
bool passes(std::uint64_t seed, const options& o, std::vector<std::unique_ptr<lane>>& lanes) {
  seed_now = seed;
  ::alarm(120);
  if (seed % 2 == 0) {
    const result r = run(*lanes[0], company::alone, seed, o.length);
    if (o.verbose) tell(r, seed, "alone");
    if (!r.finding) return true;
    tell(r, seed, "all calls");
    tell(shrink(*lanes[0], company::alone, seed, r), seed, "fewer calls");
    return false;
  }
  std::array<result, lanes_beside> results;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < lanes_beside; ++i) {
    threads.emplace_back([&, i] { results[i] = run(*lanes[i], company::beside, seed * lanes_beside + i, o.length); });
  }
  for (std::thread& t : threads) t.join();
  for (unsigned i = 0; i < lanes_beside; ++i) {
    if (o.verbose) tell(results[i], seed, "beside others");
    if (!results[i].finding) continue;
    tell(results[i], seed, "beside others");
    const result fewer = shrink(*lanes[i], company::beside, seed * lanes_beside + i, results[i]);
    tell(fewer, seed, "fewer calls, with no others");
    return false;
  }
  return true;
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
    else if (name == "--minutes")
      o.minutes = std::strtod(value, nullptr);
    else if (name == "--verbose")
      o.verbose = true;
    else
      throw std::runtime_error{"no option is named " + name};
  }
  return o;
}

int run_all(const options& o) {
  std::vector<std::unique_ptr<lane>> lanes;
  for (unsigned i = 0; i < lanes_beside; ++i) lanes.push_back(std::make_unique<lane>());
  const steady::time_point until =
      steady::now() + std::chrono::duration_cast<steady::duration>(std::chrono::duration<double>{o.minutes * 60});
  std::uint64_t done = 0;
  for (; o.minutes > 0 ? steady::now() < until : done < o.count; ++done) {
    if (!passes(o.seed + done, o, lanes)) return 1;
  }
  std::printf("%llu seeds of %u steps, from %llu on: nothing found\n", static_cast<unsigned long long>(done), o.length,
              static_cast<unsigned long long>(o.seed));
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  for (const int signal : {SIGALRM, SIGSEGV, SIGABRT, SIGBUS}) std::signal(signal, tell_seed);
  // Read by a GPU's driver when it starts: what is loaded at the first use would wait for streams that are held.
  ::setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  try {
    const options o = parse(count, arguments);
    (void)weir::current_driver();
    return run_all(o);
  } catch (const weir::error& failure) {
    std::fprintf(stderr, "weir_graphs: %s\n", failure.what());
    const bool absent = failure.result() == weir::errc::no_device || failure.result() == weir::errc::file_not_found;
    return absent ? skipped : 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "weir_graphs: %s\n", e.what());
    return 2;
  }
}
