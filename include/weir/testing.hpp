// SPDX-License-Identifier: Apache-2.0
// weir/testing.hpp - tests of programs that use weir: failing, delayed and counted driver calls,
// and a device that is lost on request.
#pragma once

#include <weir/testing/call_counts.hpp>
#include <weir/testing/delay_call.hpp>
#include <weir/testing/fail_call.hpp>
#include <weir/testing/for_each_failing_call.hpp>
#include <weir/testing/lose_device.hpp>
