// SPDX-License-Identifier: Apache-2.0
// settings_test.cpp - environment variables of the embedded driver, and invalid values of them.
#include "embedded/model/core/settings.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "embedded/model/core/process.hpp"
#include "embedded/table.hpp"

namespace weir::embedded {
using namespace abi;

namespace {

using engine::schedule_kind;
using model::settings;
using testing::AllOf;
using testing::HasSubstr;

std::map<std::string, std::string> variables;

const char* look_up(const char* name) {
  const auto found = variables.find(name);
  return found != variables.end() ? found->second.c_str() : nullptr;
}

class Settings : public testing::Test {
 protected:
  void TearDown() override { variables.clear(); }

  std::optional<settings> with(const char* name, const char* value) {
    variables = {{name, value}};
    diagnostic.clear();
    return model::read_settings(look_up, diagnostic);
  }

  void expect_refused(const char* name, const char* value) {
    EXPECT_FALSE(with(name, value)) << name << '=' << value;
    EXPECT_THAT(diagnostic, AllOf(HasSubstr(name), HasSubstr("'" + std::string{value} + "'"),
                                  HasSubstr("accepted is")));
    EXPECT_EQ(diagnostic.find('\n'), std::string::npos);
  }

  std::string diagnostic;
};

TEST_F(Settings, TheDefaultIsOneDeviceWithHalfOfTheMemory) {
  const std::optional<settings> s = model::read_settings(look_up, diagnostic);
  ASSERT_TRUE(s);
  EXPECT_EQ(s->devices, 1);
  EXPECT_EQ(s->memory_per_device, model::host_memory() / 2);
  EXPECT_EQ(s->schedule.kind, schedule_kind::parallel);
}

TEST_F(Settings, DevicesShareHalfOfTheMemory) {
  const std::optional<settings> s = with("WEIR_EMBEDDED_DEVICES", "4");
  ASSERT_TRUE(s);
  EXPECT_EQ(s->devices, 4);
  EXPECT_EQ(s->memory_per_device, model::host_memory() / 8);
}

// A matrix of a continuous integration sets variables to nothing.
TEST_F(Settings, AnEmptyVariableCountsAsNotSet) {
  for (const char* name : {"WEIR_EMBEDDED_DEVICES", "WEIR_EMBEDDED_MEMORY",
                           "WEIR_EMBEDDED_SCHEDULE", "WEIR_EMBEDDED_THREADS"}) {
    const std::optional<settings> s = with(name, "");
    ASSERT_TRUE(s) << name << ": " << diagnostic;
    EXPECT_EQ(s->devices, 1);
    EXPECT_EQ(s->schedule.kind, schedule_kind::parallel);
    EXPECT_FALSE(s->threads.random);
  }
}

TEST_F(Settings, AThreadOrderIsAccepted) {
  const std::optional<settings> random = with("WEIR_EMBEDDED_THREADS", "random:7");
  ASSERT_TRUE(random);
  EXPECT_TRUE(random->threads.random);
  EXPECT_EQ(random->threads.seed, 7u);
  const std::optional<settings> ordered = with("WEIR_EMBEDDED_THREADS", "ordered");
  ASSERT_TRUE(ordered);
  EXPECT_FALSE(ordered->threads.random);
  for (const char* value : {"random", "random:", "random:x", "random:1 ", "backwards"}) {
    expect_refused("WEIR_EMBEDDED_THREADS", value);
  }
}

TEST_F(Settings, TheWaitsOfCallsAreConfigured) {
  EXPECT_EQ(with("WEIR_EMBEDDED_WAITS", "least").value().waits, model::host_waits::least);
  EXPECT_EQ(with("WEIR_EMBEDDED_WAITS", "gpu").value().waits, model::host_waits::as_gpu);
  for (const char* value : {"Least", "none", "least "}) {
    expect_refused("WEIR_EMBEDDED_WAITS", value);
  }
}

TEST_F(Settings, TheReuseOfHandlesIsConfigured) {
  EXPECT_EQ(with("WEIR_EMBEDDED_HANDLES", "reuse").value().handles, model::handle_values::reused);
  EXPECT_EQ(with("WEIR_EMBEDDED_HANDLES", "unique").value().handles, model::handle_values::unique);
  for (const char* value : {"reused", "1", " reuse"}) {
    expect_refused("WEIR_EMBEDDED_HANDLES", value);
  }
}

TEST_F(Settings, AnInvalidNumberOfDevicesIsRefused) {
  for (const char* value :
       {"0", "65", "-1", "+1", "two", "1x", " 1", "1.5", "99999999999999999999"}) {
    expect_refused("WEIR_EMBEDDED_DEVICES", value);
  }
}

TEST_F(Settings, EachDeviceHasTheConfiguredMemory) {
  const std::pair<const char*, std::size_t> accepted[] = {{"1048576", std::size_t{1} << 20},
                                                          {"2048K", std::size_t{2} << 20},
                                                          {"64M", std::size_t{64} << 20},
                                                          {"3G", std::size_t{3} << 30},
                                                          {"65536G", std::size_t{1} << 46}};
  for (const auto& [value, bytes] : accepted) {
    const std::optional<settings> s = with("WEIR_EMBEDDED_MEMORY", value);
    ASSERT_TRUE(s) << value;
    EXPECT_EQ(s->memory_per_device, bytes) << value;
  }
}

TEST_F(Settings, AnInvalidAmountOfMemoryIsRefused) {
  // The last values exceed the address space, and reach 2^64 bytes.
  for (const char* value :
       {"0", "1048575", "K", "64MB", "64m", "1.5G", "-1G", "64 M", "65537G", "17179869184G"}) {
    expect_refused("WEIR_EMBEDDED_MEMORY", value);
  }
}

TEST_F(Settings, TheScheduleIsConfigured) {
  const struct {
    const char* value;
    schedule_kind kind;
    std::uint64_t seed;
  } accepted[] = {{"parallel", schedule_kind::parallel, 0},
                  {"serial", schedule_kind::serial, 0},
                  {"random:7", schedule_kind::random, 7},
                  {"early:0", schedule_kind::early, 0},
                  {"priority:3", schedule_kind::priority, 3},
                  {"explore:16", schedule_kind::explore, 16},
                  {"late:18446744073709551615", schedule_kind::late, 18446744073709551615U}};
  for (const auto& a : accepted) {
    const std::optional<settings> s = with("WEIR_EMBEDDED_SCHEDULE", a.value);
    ASSERT_TRUE(s) << a.value;
    EXPECT_EQ(s->schedule.kind, a.kind) << a.value;
    EXPECT_EQ(s->schedule.seed, a.seed) << a.value;
  }
}

TEST_F(Settings, AnInvalidScheduleIsRefused) {
  for (const char* value :
       {"Parallel", "random", "random:", "random:x", "late:-1", "late:1 ", "serial:1"}) {
    expect_refused("WEIR_EMBEDDED_SCHEDULE", value);
  }
}

// A driver with an invalid setting fails to initialize, and prints the reason in one line.
TEST_F(Settings, AnInvalidSettingMakesTheDriverFail) {
  const char* const variable = "WEIR_EMBEDDED_DEVICES";
  const char* const set = std::getenv(variable);
  const std::optional<std::string> before =
      set != nullptr ? std::optional<std::string>{set} : std::nullopt;
  setenv(variable, "many", 1);
  testing::internal::CaptureStderr();
  auto fresh = std::make_unique<model::process>();
  const CUresult result = fresh->initialise();
  const std::string said = testing::internal::GetCapturedStderr();
  before ? setenv(variable, before->c_str(), 1) : unsetenv(variable);

  EXPECT_EQ(result, CUDA_ERROR_INVALID_VALUE);
  EXPECT_FALSE(fresh->initialised());
  EXPECT_EQ(said, "weir: WEIR_EMBEDDED_DEVICES is 'many'; accepted is a number from 1 to 64\n");
}

// As on a GPU, the driver's threads do not exist in a forked child, so the child has no driver.
TEST(Fork, AForkedChildHasNoDriver) {
  ASSERT_EQ(table().cuInit(0), CUDA_SUCCESS);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int count = 0;
    const bool refused = table().cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED &&
                         table().cuInit(0) == CUDA_ERROR_NOT_INITIALIZED;
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  int count = 0;
  EXPECT_EQ(table().cuDeviceGetCount(&count), CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir::embedded
