// SPDX-License-Identifier: Apache-2.0
// fault_reports_test.cpp - faults as the vendor's management library reports them. WEIR_NVML names
// a library for each run.
#include "driver/fault_reports.hpp"

#include <gtest/gtest.h>

namespace weir::detail {
namespace {

const fault_reports& reports() { return vendor_fault_reports(); }

TEST(FaultReports, FaultReportsOfADeviceArriveOneByOne) {
  void* const of = reports().register_events("0000:01:00.0");
  ASSERT_NE(of, nullptr);
  EXPECT_EQ(reports().wait(of), fault_report::none);
  EXPECT_EQ(reports().wait(of), fault_report::fault);
  EXPECT_EQ(reports().wait(of), fault_report::unavailable);
}

TEST(FaultReports, ReportsOfAnUnknownDeviceAreUnavailable) {
  EXPECT_EQ(reports().register_events("0000:02:00.0"), nullptr);
}

// There are no reports if the library is missing, is another one, or does not initialize.
TEST(NoFaultReports, FaultReportsNeedAUsableLibrary) {
  EXPECT_EQ(reports().register_events("0000:01:00.0"), nullptr);
}

}  // namespace
}  // namespace weir::detail
