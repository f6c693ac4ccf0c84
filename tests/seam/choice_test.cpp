// SPDX-License-Identifier: Apache-2.0
// The driver is chosen by a call, else by the environment, else by what the machine has; each
// invalid choice has its own error.
#include "seam/sibling_path.hpp"

#include <gmock/gmock.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Returns what report_driver prints in a separate process: a driver is chosen once in a process.
std::string report(const std::string& environment, const std::string& words = "print") {
  const std::string command = "env -u WEIR_DRIVER -u WEIR_LIBCUDA -u WEIR_VERIFY " + environment +
                              " '" + sibling_path("report_driver") + "' " + words + " 2>&1";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe{popen(command.c_str(), "r"), pclose};
  std::string output;
  for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get()))
    output += static_cast<char>(c);
  return output;
}

std::string fake(const char* name) { return "WEIR_LIBCUDA='" + sibling_path(name) + "'"; }

TEST(Choice, AWrongWeirDriverValueIsRefusedAndTheValidOnesAreNamed) {
  for (const std::string bad : {"CUDA", "gpu", " cuda", "cuda,embedded"}) {
    EXPECT_THAT(report("WEIR_DRIVER='" + bad + "'"),
                AllOf(StartsWith("error=1 "), HasSubstr("WEIR_DRIVER"), HasSubstr("'" + bad + "'"),
                      HasSubstr("auto, cuda or embedded")));
  }
}

// An empty value counts as auto.
TEST(Choice, AnEmptyWeirDriverValueIsAccepted) {
  EXPECT_THAT(report("WEIR_DRIVER= WEIR_LIBCUDA=libno-such-driver.so.1"),
              StartsWith("kind=embedded\n"));
}

TEST(Choice, WeirDriverCanSelectTheEmbeddedDriver) {
  EXPECT_THAT(report("WEIR_DRIVER=embedded " + fake("libfake-12-2.so")),
              AllOf(HasSubstr("kind=embedded\nwhy=WEIR_DRIVER=embedded asks for "
                              "it\nversion=13000\nlibrary=\nis_dropin=0\n"),
                    HasSubstr("problem=\n")));
}

TEST(Choice, TheVendorDriverIsUsedIfItHasADevice) {
  EXPECT_THAT(report(fake("libfake-12-2.so")),
              AllOf(HasSubstr("kind=cuda\nwhy=the vendor's driver has a device\nversion=12020\n"),
                    HasSubstr("library=" + sibling_path("libfake-12-2.so") + "\n")));
}

// An absent driver is a valid input of the choice.
TEST(Choice, TheEmbeddedDriverIsUsedIfTheVendorDriverIsAbsent) {
  EXPECT_THAT(report("WEIR_LIBCUDA=libno-such-driver.so.1"),
              AllOf(StartsWith("kind=embedded\n"),
                    HasSubstr("problem=its library cannot be opened: libno-such")));
}

TEST(Choice, TheEmbeddedDriverIsUsedIfTheVendorDriverHasNoDevice) {
  EXPECT_THAT(report("WEIR_DRIVER=auto " + fake("libfake-no-device.so")),
              AllOf(StartsWith("kind=embedded\n"), HasSubstr("CUDA_ERROR_NO_DEVICE")));
}

TEST(Choice, TheEmbeddedDriverIsUsedIfTheVendorDriverIsTooOld) {
  EXPECT_THAT(report(fake("libfake-old.so")),
              AllOf(StartsWith("kind=embedded\n"), HasSubstr("is too old")));
}

TEST(Choice, RequiringAnAbsentVendorDriverIsAnError) {
  EXPECT_THAT(report("WEIR_DRIVER=cuda WEIR_LIBCUDA=libno-such-driver.so.1"),
              AllOf(StartsWith("error=301 "),
                    HasSubstr("WEIR_DRIVER=cuda requires the vendor's driver, but its library "
                              "cannot be opened: libno-such-driver.so.1"),
                    HasSubstr("WEIR_LIBCUDA"), HasSubstr("embedded")));
}

TEST(Choice, RequiringAVendorDriverWithoutADeviceIsAnError) {
  EXPECT_THAT(
      report("WEIR_DRIVER=cuda " + fake("libfake-no-device.so")),
      AllOf(StartsWith("error=100 "), HasSubstr("cuInit"), HasSubstr("CUDA_ERROR_NO_DEVICE")));
}

TEST(Choice, ACallOverridesTheEnvironment) {
  EXPECT_THAT(report("WEIR_DRIVER=cuda " + fake("libfake-12-2.so"), "use-embedded print"),
              HasSubstr("kind=embedded\nwhy=the program asks for it\n"));
}

TEST(Choice, NamingTheDriverInUseDoesNothing) {
  EXPECT_THAT(report("WEIR_DRIVER=embedded", "print use-embedded print"), Not(HasSubstr("error")));
}

TEST(Choice, TheDriverInUseCannotBeChanged) {
  EXPECT_THAT(report("WEIR_DRIVER=embedded " + fake("libfake-12-2.so"), "print use-cuda print"),
              AllOf(HasSubstr("error=401 "), HasSubstr("the embedded driver is already in use"),
                    Not(HasSubstr("kind=cuda"))));
}

// A refused choice chooses nothing: a later call may choose another driver.
TEST(Choice, ARefusedDriverChoiceCanBeFollowedByAnother) {
  EXPECT_THAT(
      report("WEIR_LIBCUDA=libno-such-driver.so.1", "use-cuda use-embedded print"),
      AllOf(StartsWith("error=301 "), HasSubstr("kind=embedded\nwhy=the program asks for it\n")));
}

TEST(Choice, WeirVerifyTurnsVerifyModeOn) {
  EXPECT_THAT(report("WEIR_DRIVER=embedded WEIR_VERIFY=1"), HasSubstr("verify=1\n"));
  EXPECT_THAT(report("WEIR_DRIVER=embedded WEIR_VERIFY=1", "use-embedded print"),
              HasSubstr("verify=1\n"));
  EXPECT_THAT(report("WEIR_DRIVER=embedded WEIR_VERIFY=0"), HasSubstr("verify=0\n"));
  EXPECT_THAT(report("WEIR_DRIVER=embedded WEIR_VERIFY="), HasSubstr("verify=0\n"));
  EXPECT_THAT(report("WEIR_DRIVER=embedded"), HasSubstr("verify=0\n"));
  EXPECT_THAT(report("WEIR_DRIVER=embedded WEIR_VERIFY=yes"),
              AllOf(StartsWith("error=1 "), HasSubstr("WEIR_VERIFY"), HasSubstr("'yes'"),
                    HasSubstr("0 or 1")));
}

// Whatever call is the first one, the error names its line.
TEST(Choice, TheErrorNamesTheLineOfTheFirstUse) {
  for (const char* use : {"print", "stream", "event", "graph", "pinned", "pool", "name", "memory",
                          "context", "sync", "record", "capture"}) {
    EXPECT_THAT(report("WEIR_DRIVER=cuda WEIR_LIBCUDA=libno-such-driver.so.1", use),
                AllOf(StartsWith("error=301 "), HasSubstr("report_driver.cpp:")))
        << use;
  }
}

TEST(Choice, AnInvalidEmbeddedDriverSettingIsRefused) {
  EXPECT_THAT(report("WEIR_DRIVER=embedded WEIR_EMBEDDED_DEVICES=many"),
              AllOf(HasSubstr("error=1 "), HasSubstr("WEIR_EMBEDDED_DEVICES")));
}

}  // namespace
