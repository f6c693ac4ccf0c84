// SPDX-License-Identifier: Apache-2.0
// seam/report_driver.cpp - prints which driver a program gets; tests run it with different
// environments.
#include <weir/capture/capture.hpp>
#include <weir/core/driver.hpp>
#include <weir/core/error.hpp>
#include <weir/core/verify.hpp>
#include <weir/device/context.hpp>
#include <weir/event/event.hpp>
#include <weir/graph/graph.hpp>
#include <weir/memory/memory_pool.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

#include <cstdio>
#include <cstring>

namespace {

void print(const weir::driver_info& driver) {
  std::printf("kind=%s\nwhy=%s\nversion=%d\nlibrary=%s\nis_dropin=%d\nproblem=%s\n",
              weir::to_string(driver.kind).data(), driver.reason.c_str(), driver.version,
              driver.library.c_str(), driver.is_dropin, driver.vendor_problem.c_str());
}

// Runs what a word on the command line requests.
void run_command(const char* word) {
  if (std::strcmp(word, "use-cuda") == 0) return weir::use_driver(weir::driver_kind::cuda);
  if (std::strcmp(word, "use-embedded") == 0) return weir::use_driver(weir::driver_kind::embedded);
  const weir::device gpu;
  if (std::strcmp(word, "stream") == 0) return static_cast<void>(weir::stream{gpu});
  if (std::strcmp(word, "event") == 0) return static_cast<void>(weir::event{gpu});
  if (std::strcmp(word, "graph") == 0) return static_cast<void>(weir::graph{});
  if (std::strcmp(word, "pinned") == 0) return static_cast<void>(weir::pinned_buffer<int>{1});
  if (std::strcmp(word, "pool") == 0) return static_cast<void>(weir::memory_pool{gpu});
  if (std::strcmp(word, "name") == 0) return static_cast<void>(gpu.name());
  if (std::strcmp(word, "memory") == 0) return static_cast<void>(gpu.memory());
  if (std::strcmp(word, "context") == 0) return static_cast<void>(weir::context_scope{gpu});
  if (std::strcmp(word, "sync") == 0) return weir::stream_ref::per_thread().sync();
  if (std::strcmp(word, "record") == 0)
    return static_cast<void>(weir::stream_ref::per_thread().record());
  if (std::strcmp(word, "capture") == 0) return weir::begin_capture(weir::stream_ref::per_thread());
  print(weir::current_driver());
  std::printf("verify=%d\n", weir::verifying_operations());
}

}  // namespace

// Runs word after word; an error is printed and does not end the program.
int main(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    try {
      run_command(words[i]);
    } catch (const weir::error& failure) {
      std::printf("error=%d %s\n", static_cast<int>(failure.result()), failure.what());
    }
  }
}
