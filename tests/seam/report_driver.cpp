// SPDX-License-Identifier: Apache-2.0
// seam/report_driver.cpp - prints which driver a program gets; tests run it with different
// environments.
#include <weir/core/driver.hpp>
#include <weir/core/error.hpp>
#include <weir/core/verify.hpp>

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
