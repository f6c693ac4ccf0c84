// SPDX-License-Identifier: Apache-2.0
// stalled_worker_test.cpp - an operation that waits for other work blocks its own timeline and no
// other.
#include <dirent.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "embedded/engine/scheduler.hpp"
#include "embedded/engine/timeline.hpp"
#include "embedded/engine/waiting.hpp"
#include "embedded/table.hpp"

namespace weir::embedded::engine {
namespace {

// Spins until it is released, like a kernel that waits for a word of memory.
struct spinning {
  std::atomic<unsigned>* running;
  const std::atomic<bool>* release;

  void run() const noexcept {
    ++*running;
    while (!release->load()) std::this_thread::yield();
    --*running;
  }
};

struct increment {
  std::atomic<unsigned>* count;
  void run() const noexcept { ++*count; }
};

template <class Work>
point submit(timeline& line, const Work& work, operation_kind kind) {
  timeline::submission pending{line};
  pending.add(make_operation(work, kind));
  return pending.end();
}

// Returns the number of this process's threads with that name.
unsigned threads_called(const std::string& name) {
  unsigned count = 0;
  const std::unique_ptr<DIR, int (*)(DIR*)> all{opendir("/proc/self/task"), closedir};
  while (const dirent* each = readdir(all.get())) {
    const std::string path = std::string{"/proc/self/task/"} + each->d_name + "/comm";
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::fopen(path.c_str(), "r"),
                                                               std::fclose};
    char text[32] = {};
    if (file != nullptr && std::fgets(text, sizeof text, file.get()) != nullptr &&
        text == name + "\n")
      ++count;
  }
  return count;
}

class StalledWorker : public ::testing::Test {
 protected:
  // selects the schedule
  void SetUp() override { ASSERT_EQ(table().cuInit(0), abi::CUDA_SUCCESS); }
  void TearDown() override {
    for (timeline* line : lines_) line->release_when_drained();
  }

  timeline& new_line() {
    lines_.push_back(&timeline::acquire());
    return *lines_.back();
  }
  // Starts one spinning operation in each of `count` timelines, and returns once all run.
  void start_spinning(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      ends_.push_back(
          submit(new_line(), spinning{&running_, &release_}, operation_kind::long_work));
    }
    while (running_ != count) std::this_thread::yield();
  }
  void release() {
    release_ = true;
    for (const point end : ends_) wait(end);
  }

 private:
  std::vector<timeline*> lines_;
  std::vector<point> ends_;
  std::atomic<unsigned> running_{0};
  std::atomic<bool> release_{false};
};

// There are more spinning operations than processors or workers. All run concurrently, and so does
// later work in other timelines.
TEST_F(StalledWorker, SpinningWorkBlocksItsOwnTimelineOnly) {
  std::atomic<unsigned> done{0};
  start_spinning(24);
  std::vector<point> others;
  for (int i = 0; i < 3; ++i) {
    timeline& line = new_line();
    submit(line, increment{&done}, operation_kind::work);
    others.push_back(submit(line, increment{&done}, operation_kind::long_work));
  }
  for (const point end : others) wait(end);
  EXPECT_EQ(done, 6u);
  release();
}

// Work runs although no thread waits for it in a call.
TEST_F(StalledWorker, WorkRunsWhileTheProgramOnlyPolls) {
  std::atomic<unsigned> done{0};
  start_spinning(4);
  submit(new_line(), increment{&done}, operation_kind::long_work);
  while (done == 0) std::this_thread::yield();
  release();
}

// A spinning operation may wait for work of another timeline that is submitted later.
TEST_F(StalledWorker, WorkMayWaitForLaterWork) {
  struct set {
    std::atomic<bool>* word;
    void run() const noexcept { *word = true; }
  };
  std::atomic<unsigned> running{0};
  std::vector<std::atomic<bool>> words(6);
  std::vector<point> ends;
  for (const std::atomic<bool>& word : words) {
    ends.push_back(submit(new_line(), spinning{&running, &word}, operation_kind::long_work));
  }
  timeline& last = new_line();
  for (std::atomic<bool>& word : words) submit(last, set{&word}, operation_kind::long_work);
  for (const point end : ends) wait(end);
  EXPECT_EQ(running, 0u);
}

// Replacement workers are temporary: the number of workers returns to normal once all work has
// ended.
TEST_F(StalledWorker, ReplacedWorkersEnd) {
  if (scheduler::instance().deterministic() != nullptr)
    GTEST_SKIP() << "there are no workers under this schedule";
  start_spinning(2 * scheduler::instance().max_workers() + 6);
  EXPECT_GT(threads_called("weir-worker"), scheduler::instance().max_workers());
  release();
  while (threads_called("weir-worker") > scheduler::instance().max_workers())
    std::this_thread::yield();
}

}  // namespace
}  // namespace weir::embedded::engine
