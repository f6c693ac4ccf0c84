// SPDX-License-Identifier: Apache-2.0
// The fault table counts calls, fails exactly the specified call, and restores the driver.
#include "support/fault_table.hpp"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace {

using namespace weir::detail;

// A driver whose calls are observable.
int created = 0;
CUresult create_event(CUevent* event, unsigned) {
  ++created;
  *event = nullptr;
  return CUDA_SUCCESS;
}
CUresult query_event(CUevent) { return CUDA_ERROR_NOT_READY; }

// Replaces the current driver by that one.
class FaultTable : public testing::Test {
 protected:
  FaultTable() : before_{table_in_use.load()} {
    fake_.cuEventCreate = &create_event;
    fake_.cuEventQuery = &query_event;
    table_in_use.store(&fake_);
    created = 0;
  }
  ~FaultTable() override { table_in_use.store(before_); }

  static CUresult create() {
    CUevent event = nullptr;
    return driver().cuEventCreate(&event, 0);
  }

  driver_table fake_;

 private:
  const driver_table* before_;
};

TEST_F(FaultTable, CallsPassThroughToTheDriver) {
  const fault_table faults;
  EXPECT_EQ(create(), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuEventQuery(nullptr), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(created, 1);
}

TEST_F(FaultTable, OnlyTheNthCallFails) {
  fault_table faults;
  EXPECT_EQ(create(), CUDA_SUCCESS);
  faults.fail(&driver_table::cuEventCreate, 2, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(create(), CUDA_SUCCESS);
  EXPECT_EQ(create(), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(create(), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuEventQuery(nullptr), CUDA_ERROR_NOT_READY);
}

TEST_F(FaultTable, AFailedCallDoesNotReachTheDriver) {
  fault_table faults;
  faults.fail(&driver_table::cuEventCreate, 1, CUDA_ERROR_OUT_OF_MEMORY);
  create();
  EXPECT_EQ(created, 0);
}

TEST_F(FaultTable, AllCallsFromTheNthOnFail) {
  fault_table faults;
  faults.fail_from(&driver_table::cuEventCreate, 2, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(create(), CUDA_SUCCESS);
  EXPECT_EQ(create(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(create(), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(FaultTable, CallsAreCountedByFunctionAndInTotal) {
  fault_table faults;
  faults.fail(&driver_table::cuEventCreate, 1, CUDA_ERROR_OUT_OF_MEMORY);
  create();
  create();
  driver().cuEventQuery(nullptr);
  EXPECT_EQ(faults.count(&driver_table::cuEventCreate), 2);
  EXPECT_EQ(faults.count(&driver_table::cuEventQuery), 1);
  EXPECT_EQ(faults.count(&driver_table::cuEventRecord), 0);
  EXPECT_EQ(faults.count_all(), 3);
}

TEST_F(FaultTable, TheDriverTableIsRestoredAtTheEnd) {
  {
    fault_table faults;
    faults.fail_from(&driver_table::cuEventCreate, 1, CUDA_ERROR_OUT_OF_MEMORY);
  }
  EXPECT_EQ(&driver(), &fake_);
  const fault_table later;
  EXPECT_EQ(create(), CUDA_SUCCESS);
  EXPECT_EQ(later.count(&driver_table::cuEventCreate), 1);
}

TEST_F(FaultTable, SeveralFaultTablesSeeACallUntilOneFailsIt) {
  const fault_table before;
  fault_table failing;
  const fault_table after;
  EXPECT_EQ(create(), CUDA_SUCCESS);
  failing.fail(&driver_table::cuEventCreate, 1, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(create(), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(before.count(&driver_table::cuEventCreate), 2);
  EXPECT_EQ(after.count(&driver_table::cuEventCreate), 1);
}

// Exactly one of many concurrent calls is the nth.
TEST_F(FaultTable, CallsOfSeveralThreadsAreCountedTogether) {
  fake_.cuEventQuery = [](CUevent) { return CUDA_SUCCESS; };
  fault_table faults;
  faults.fail(&driver_table::cuEventQuery, 5000, CUDA_ERROR_UNKNOWN);
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int call = 0; call < 2500; ++call)
        failed += driver().cuEventQuery(nullptr) == CUDA_ERROR_UNKNOWN;
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(failed.load(), 1);
  EXPECT_EQ(faults.count(&driver_table::cuEventQuery), 10000);
}

// Every function has its own wrapper, at its own index.
TEST_F(FaultTable, EveryDriverFunctionCanBeMadeToFail) {
  fault_table faults;
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  faults.fail(&driver_table::symbol, 1, CUDA_ERROR_TIMEOUT);
#include "driver/functions.def"
#undef WEIR_FUNCTION
  const auto call = []<class... Arguments>(CUresult (*function)(Arguments...)) {
    return function(Arguments{}...);
  };
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  EXPECT_EQ(call(driver().symbol), CUDA_ERROR_TIMEOUT) << #symbol;           \
  EXPECT_EQ(faults.count(&driver_table::symbol), 1) << #symbol;
#include "driver/functions.def"
#undef WEIR_FUNCTION
}

}  // namespace
