// SPDX-License-Identifier: Apache-2.0
// stream_protocols_test.cpp - the C functions for bindings with failing driver calls.
#include <weir/interop/stream_protocols.h>
#include <weir/stream/stream.hpp>

#include <string>

#include <gtest/gtest.h>

#include "support/fault_table.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;

class StreamProtocolFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(weir_stream_wait(consumer, producer), WEIR_SUCCESS);
  }  // the thread keeps the event of this wait

  device gpu;
  stream producer{gpu};
  stream consumer{gpu};
};

// The function returns the driver's error number, and the text names the driver call. The stream
// can still be used.
TEST_F(StreamProtocolFaults, TheDriverErrorNumberIsReturned) {
  const auto refused_by = [&](auto function, const char* name, auto call) {
    {
      fault_table faults;
      faults.fail(function, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
      EXPECT_EQ(call(), static_cast<int>(abi::CUDA_ERROR_SYSTEM_NOT_READY));
    }
    const std::string text = weir_last_error();
    EXPECT_NE(text.find(name), std::string::npos) << text;
    EXPECT_NE(text.find("CUDA_ERROR_SYSTEM_NOT_READY"), std::string::npos) << text;
    EXPECT_EQ(call(), WEIR_SUCCESS);
  };
  const auto wait = [&] { return weir_stream_wait(consumer, producer); };
  refused_by(&driver_table::cuEventRecord, "cuEventRecord", wait);
  refused_by(&driver_table::cuStreamWaitEvent, "cuStreamWaitEvent", wait);
  refused_by(&driver_table::cuStreamSynchronize, "cuStreamSynchronize",
             [&] { return weir_stream_sync(consumer); });
}

TEST_F(StreamProtocolFaults, ConversionsMakeNoDriverCalls) {
  const fault_table calls;
  weir_protocol_stream pair{};
  weir_stream got = nullptr;
  long long number = 0;
  int wanted = 0;
  EXPECT_EQ(weir_stream_to_protocol(producer, &pair), WEIR_SUCCESS);
  EXPECT_EQ(weir_stream_from_protocol(WEIR_PROTOCOL_PAIR, &pair, nullptr, &got), WEIR_SUCCESS);
  EXPECT_EQ(weir_stream_to_dlpack(producer, &number), WEIR_SUCCESS);
  EXPECT_EQ(weir_stream_from_dlpack(&number, &got, &wanted), WEIR_SUCCESS);
  EXPECT_EQ(weir_stream_to_array_interface(producer, &number), WEIR_SUCCESS);
  EXPECT_EQ(weir_stream_from_array_interface(&number, &got, &wanted), WEIR_SUCCESS);
  int made = 0;
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  made += calls.count(&driver_table::symbol);
#include "driver/functions.def"
#undef WEIR_FUNCTION
  EXPECT_EQ(made, 0);
}

}  // namespace
}  // namespace weir
