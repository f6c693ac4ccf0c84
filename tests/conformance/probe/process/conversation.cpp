// SPDX-License-Identifier: Apache-2.0
// probe/process/conversation.cpp - the parent reads one child's messages until it ends or exceeds
// its time.
#include "probe/cases.hpp"
#include "probe/process/run.hpp"
#include "probe/process/spawn.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace weir::conformance {
namespace {

constexpr double kSetupLimit = 40;  // seconds allowed for creating contexts

class Conversation {
 public:
  Conversation(Run& run, const std::vector<size_t>& list, bool may_repeat)
      : run_(run), list_(list), may_repeat_(may_repeat) {}

  std::vector<size_t> hold(int* failures);

 private:
  void listen(int fd);
  void hear(const std::string& line);
  double watchdog_limit() const;
  void give_up(const std::vector<size_t>& list, const std::string& why);
  Result& now() { return run_.results[static_cast<size_t>(current_)]; }

  Run& run_;
  const std::vector<size_t>& list_;
  const bool may_repeat_;
  pid_t pid_ = -1;
  size_t begun_ = 0;   // the number of cases of the list that have started
  long current_ = -1;  // the case in progress
  Clock::time_point since_ = Clock::now();
  std::string fatal_;
  bool killed_ = false, unfit_ = false, finished_ = false;
};

void Conversation::give_up(const std::vector<size_t>& list, const std::string& why) {
  for (size_t i : list) run_.results[i].outcome = why;
  run_.complete(list);
}

// Returns the seconds within which the next message must arrive.
double Conversation::watchdog_limit() const {
  if (current_ >= 0) return run_.limit_of(static_cast<size_t>(current_));
  const bool makes_context =
      begun_ == 0 ||
      (begun_ < list_.size() && cases()[list_[begun_]].flags & (SECOND_CONTEXT | SECOND_DEVICE));
  return makes_context ? kSetupLimit : run_.options.case_limit + 5;
}

void Conversation::hear(const std::string& line) {
  if (line.empty()) return;
  const char kind = line[0];
  const std::string remaining = line.size() > 2 ? line.substr(2) : "";
  if (kind == 'B') {
    if (begun_++ == 0) {
      run_.children++;
      run_.setup_ms += static_cast<long>(seconds_since(since_) * 1000);
    }
    current_ = atol(remaining.c_str());
    since_ = Clock::now();
  } else if (kind == 'K' && current_ >= 0) {
    now().kv.push_back(remaining);
    if (remaining == kOneDevice) run_.one_device = true;
  } else if (kind == 'E' && current_ >= 0) {
    now().seconds = seconds_since(since_);
    run_.finish(static_cast<size_t>(current_), may_repeat_);
    current_ = -1;
    since_ = Clock::now();
  } else if (kind == 'U') {
    unfit_ = true;
  } else if (kind == 'F') {
    fatal_ = remaining;
  } else if (kind == 'D') {
    finished_ = true;
  }
}

void Conversation::listen(int fd) {
  std::string received;
  for (;;) {
    const double left = watchdog_limit() - seconds_since(since_);
    if (left <= 0) {
      kill(pid_, SIGKILL);
      killed_ = true;
      return;
    }
    pollfd p{fd, POLLIN, 0};
    const int ready = poll(&p, 1, static_cast<int>(std::min(left * 1000 + 1, 1000.0)));
    if (ready < 0 && errno != EINTR) return;
    if (ready <= 0) continue;
    char bytes[65536];
    const ssize_t got = read(fd, bytes, sizeof bytes);
    if (got <= 0) return;
    received.append(bytes, static_cast<size_t>(got));
    for (size_t end; (end = received.find('\n')) != std::string::npos; received.erase(0, end + 1))
      hear(received.substr(0, end));
  }
}

std::vector<size_t> Conversation::hold(int* failures) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC)) {
    give_up(list_, "spawn_failed");
    return {};
  }
  std::string indices;
  for (size_t i : list_) indices += (indices.empty() ? "" : ",") + std::to_string(i);
  pid_ = spawn_self(
      {"--child=" + indices, "--patience=" + std::to_string(run_.options.case_limit * 0.7)},
      fds[1]);
  close(fds[1]);
  if (pid_ < 0) {
    close(fds[0]);
    give_up(list_, "spawn_failed");
    return {};
  }
  listen(fds[0]);
  close(fds[0]);

  bool has_exited = false;
  int status = reap(pid_, killed_ ? 5000 : 3000, &has_exited);
  if (!has_exited && !killed_) {
    kill(pid_, SIGKILL);
    status = reap(pid_, 5000, &has_exited);
  }
  if (current_ >= 0) {
    now().seconds = seconds_since(since_);
    now().outcome = killed_ ? "timeout" : describe_exit(status, has_exited);
    run_.finish(static_cast<size_t>(current_), may_repeat_);
  }
  const std::vector<size_t> remaining(
      list_.begin() + static_cast<long>(std::min(begun_, list_.size())), list_.end());
  if (begun_ > 0) {
    *failures = 0;
  } else if (++*failures >= 2 || remaining.size() == 1) {
    give_up(remaining,
            "setup=" + (fatal_.empty() ? std::string(killed_ ? "timeout" : "failed") : fatal_));
    return {};
  }
  const bool ended_early = unfit_ || (!finished_ && !remaining.empty());
  if (ended_early || current_ >= 0) run_.restarts++;
  if (run_.options.verbose && ended_early)
    fprintf(stderr, "# child restarted%s, %zu cases left in its list\n", unfit_ ? " (unfit)" : "",
            remaining.size());
  return remaining;
}

}  // namespace

std::vector<size_t> run_child(Run& run, const std::vector<size_t>& list, int* failures,
                              bool may_repeat) {
  return Conversation(run, list, may_repeat).hold(failures);
}

}  // namespace weir::conformance
