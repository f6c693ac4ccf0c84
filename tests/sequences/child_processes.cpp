// SPDX-License-Identifier: Apache-2.0
// sequences/child_processes.cpp - runs sequences in child processes, so that a crash or hang of the
// driver is a recorded answer.
#include "sequences/child_processes.hpp"

#include "sequences/sequence.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <sstream>
#include <stdexcept>

namespace weir::sequences {
namespace {

using std::chrono::steady_clock;

constexpr auto sequence_timeout = std::chrono::seconds{8};  // for one sequence
constexpr auto start_timeout = std::chrono::seconds{40};    // for the start of a process
constexpr int needs_another = 3;  // exit status: success, but the driver's state has changed

// Memory shared between a child and its parent.
struct shared_page {
  std::atomic<std::size_t> at{0};    // index into its seeds
  std::atomic<bool> started{false};  // the driver is initialized
  char text[transcript::capacity];
};

// Runs one process at a time, until its seeds are done.
struct job {
  std::vector<std::uint64_t> seeds;
  shared_page* shared = nullptr;
  std::FILE* out = nullptr;
  pid_t child = 0;
  std::size_t seen = 0;
  steady_clock::time_point since;
};

void append(std::FILE* out, std::uint64_t seed, std::string_view text) {
  std::fprintf(out, "seed %llu\n%.*s", static_cast<unsigned long long>(seed),
               static_cast<int>(text.size()), text.data());
  std::fflush(out);
}

// Returns true if the driver can run another sequence.
bool is_healthy(const process& p) {
  for (const CUcontext context : p.contexts) {
    if (p.driver.plain.cuCtxSynchronize_v2(context) != CUDA_SUCCESS) return false;
  }
  return true;
}

[[noreturn]] void child_main(const job& mine, const work_list& work) {
  // Blocked streams must not block others that share a hardware queue, and nothing may be loaded
  // meanwhile.
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  ::setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  process p{open_driver_under_test(), work.allowed};
  mine.shared->started = true;
  for (std::size_t at = mine.shared->at; at < mine.seeds.size(); mine.shared->at = ++at) {
    choice_source choices{mine.seeds[at]};
    append(mine.out, mine.seeds[at], run_sequence(p, choices, work.length, mine.shared->text));
    if (is_healthy(p)) continue;
    ++mine.shared->at;
    std::_Exit(needs_another);
  }
  std::_Exit(0);
}

void start(job& one, const work_list& work) {
  one.seen = one.shared->at;
  one.shared->started = false;
  one.since = steady_clock::now();
  one.child = ::fork();
  if (one.child < 0) throw std::runtime_error{"cannot start a process"};
  if (one.child == 0) child_main(one, work);
}

// Records how the child ended for its current sequence; the next child continues with the next one.
void bury(job& one, const char* how) {
  append(one.out, one.seeds[one.shared->at], std::string{one.shared->text} + how + "\n");
  one.shared->text[0] = '\0';
  ++one.shared->at;
}

// Returns true if the job is done. Starts another child if there is more to do.
bool poll_child(job& one, const work_list& work) {
  int status = 0;
  if (::waitpid(one.child, &status, WNOHANG) == 0) {
    const std::size_t at = one.shared->at;
    if (at != one.seen) {
      one.seen = at;
      one.since = steady_clock::now();
    } else if (steady_clock::now() - one.since >
               (one.shared->started ? sequence_timeout : start_timeout)) {
      ::kill(one.child, SIGKILL);
      ::waitpid(one.child, &status, 0);
      bury(one, "hang");
      start(one, work);
    }
    return false;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
    throw std::runtime_error{"the driver cannot be used"};
  if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != needs_another))
    bury(one, "crash");
  if (one.shared->at >= one.seeds.size()) return true;
  start(one, work);
  return false;
}

void stop(const job& one) {
  ::kill(one.child, SIGKILL);
  ::waitpid(one.child, nullptr, 0);
}

recording read_all(std::FILE* from) {
  std::string text;
  std::rewind(from);
  char buffer[65536];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, from)) > 0;)
    text.append(buffer, got);
  std::istringstream in{text};
  return parse_text(in);
}

}  // namespace

recording run_in_children(const work_list& work) {
  std::vector<job> jobs(std::max(1U, work.jobs));
  for (std::size_t i = 0; i < work.seeds.size(); ++i)
    jobs[i % jobs.size()].seeds.push_back(work.seeds[i]);
  for (job& one : jobs) {
    void* const page = ::mmap(nullptr, sizeof(shared_page), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    one.out = std::tmpfile();
    if (page == MAP_FAILED || one.out == nullptr)
      throw std::runtime_error{"no room for a process's answers"};
    one.shared = new (page) shared_page;
    start(one, work);
  }
  recording all;
  const steady_clock::time_point begun = steady_clock::now();
  for (std::size_t running = jobs.size(); running > 0;) {
    ::usleep(2000);
    const bool over = steady_clock::now() - begun > std::chrono::seconds{work.budget};
    for (job& one : jobs) {
      if (one.child == 0) continue;
      if (over) stop(one);
      if (!over && !poll_child(one, work)) continue;
      one.child = 0;
      --running;
      all.merge(read_all(one.out));
      std::fclose(one.out);
      ::munmap(one.shared, sizeof(shared_page));
    }
  }
  return all;
}

std::string run_here(std::uint64_t seed, unsigned length, handles allowed) {
  process p{open_driver_under_test(), allowed};
  std::vector<char> text(transcript::capacity);
  choice_source choices{seed};
  return std::string{run_sequence(p, choices, length, text)};
}

}  // namespace weir::sequences
