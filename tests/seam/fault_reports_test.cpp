// fault_reports_test.cpp - faults as the vendor's management library tells of them. WEIR_NVML names one for each run.
#include "driver/fault_reports.hpp"

#include <gtest/gtest.h>

namespace weir::detail {
namespace {

const fault_reports& reports() { return vendor_fault_reports(); }

TEST(FaultReports, OfADeviceComeOneByOne) {
  void* const of = reports().collect("0000:01:00.0");
  ASSERT_NE(of, nullptr);
  EXPECT_EQ(reports().wait(of), fault_report::none_yet);
  EXPECT_EQ(reports().wait(of), fault_report::fault);
  EXPECT_EQ(reports().wait(of), fault_report::no_more);
}

TEST(FaultReports, OfAnotherDeviceAreNotToBeHad) { EXPECT_EQ(reports().collect("0000:02:00.0"), nullptr); }

// Nor where the library is not there, or another one, or does not begin.
TEST(NoFaultReports, AreToBeHad) { EXPECT_EQ(reports().collect("0000:01:00.0"), nullptr); }

}  // namespace
}  // namespace weir::detail
