// SPDX-License-Identifier: Apache-2.0
// stream_protocols_test.cpp - streams as other languages pass them: accepted and refused values,
// and which stream waits.
#include <weir/interop/stream_protocols.h>
#include <weir/device/context.hpp>
#include <weir/interop/stream_protocols.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::failure_of;
using test::gate;
using test::result_of;

unsigned long long bits_of(stream_ref s) { return reinterpret_cast<std::uintptr_t>(s.get()); }
long long number_of(stream_ref s) { return static_cast<long long>(bits_of(s)); }

class StreamProtocols : public ::testing::Test {
 protected:
  device gpu;
  context_scope current{gpu};  // for the default streams
  stream s{gpu};
};

TEST_F(StreamProtocols, ARoundTripYieldsTheSameStream) {
  const protocol_stream pair = stream_to_protocol(s);
  EXPECT_EQ(pair.version, 0);
  EXPECT_EQ(pair.handle, bits_of(s));
  EXPECT_EQ(stream_from_protocol(protocol_answer::pair, pair), s);
  EXPECT_EQ(stream_from_dlpack(stream_to_dlpack(s)), s.ref());
  EXPECT_EQ(stream_from_array_interface(stream_to_array_interface(s)), s.ref());
}

TEST_F(StreamProtocols, DefaultStreamsAreExportedAsOneAndTwo) {
  using number = long long (*)(stream_ref, call_site);
  for (const number of : {number{stream_to_dlpack}, number{stream_to_array_interface}}) {
    EXPECT_EQ(of(stream_ref::legacy(), call_site::current()), 1);
    EXPECT_EQ(of(stream_ref::per_thread(), call_site::current()), 2);
  }
  EXPECT_EQ(stream_from_dlpack(2), stream_ref::per_thread());
  EXPECT_EQ(stream_from_array_interface(1), stream_ref::legacy());
  EXPECT_EQ(stream_from_protocol(protocol_answer::pair, {0, 0}), stream_ref::legacy());
  EXPECT_EQ(stream_from_protocol(protocol_answer::pair, {0, 2}), stream_ref::per_thread());
}

// Rule 156, also for __cuda_stream__: null is exported as 1.
TEST_F(StreamProtocols, ZeroIsNeverExported) {
  const stream_ref null{static_cast<CUstream_st*>(nullptr)};
  EXPECT_EQ(stream_to_array_interface(null), 1);
  EXPECT_EQ(stream_to_dlpack(null), 1);
  EXPECT_EQ(stream_to_protocol(null).handle, 1u);
}

// Rule 154: a wrong version, shape or type and a missing method each have their own message.
TEST_F(StreamProtocols, EachInvalidShapeHasItsOwnMessage) {
  std::set<std::string> texts;
  const auto refused = [&](protocol_answer answer, protocol_stream found) {
    const auto failure =
        failure_of([&] { static_cast<void>(stream_from_protocol(answer, found, "Strange")); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->result(), errc::wrong_type);
    EXPECT_NE(failure->object().find("'Strange'"), std::string::npos);
    EXPECT_GT(failure->where().line(), 0u);
    EXPECT_TRUE(texts.insert(failure->hint()).second) << failure->hint();
  };
  for (const protocol_answer answer :
       {protocol_answer::no_method, protocol_answer::not_callable, protocol_answer::not_a_sequence,
        protocol_answer::wrong_length, protocol_answer::not_integers}) {
    refused(answer, {});
  }
  refused(protocol_answer::pair, {1, bits_of(s)});
  refused(protocol_answer::pair, {-1, bits_of(s)});
  EXPECT_EQ(result_of([] {
              static_cast<void>(stream_from_protocol(static_cast<protocol_answer>(6), {}));
            }),
            errc::invalid_value);
}

// Rule 155.
TEST_F(StreamProtocols, DlpackNumbersFollowTheProtocol) {
  EXPECT_EQ(stream_from_dlpack(std::nullopt), stream_ref::legacy());
  EXPECT_EQ(stream_from_dlpack(1), stream_ref::legacy());
  EXPECT_EQ(stream_from_dlpack(-1), std::nullopt);
  for (const long long refused : {0LL, -2LL, -100LL}) {
    const auto failure = failure_of([&] { static_cast<void>(stream_from_dlpack(refused)); });
    ASSERT_TRUE(failure) << refused;
    EXPECT_EQ(failure->result(), errc::invalid_value);
    EXPECT_EQ(failure->object(), "stream number " + std::to_string(refused));
  }
}

TEST_F(StreamProtocols, ArrayInterfaceNumbersFollowTheProtocol) {
  EXPECT_EQ(stream_from_array_interface(std::nullopt), std::nullopt);
  for (const long long refused : {0LL, -1LL, -2LL}) {
    EXPECT_EQ(result_of([&] { static_cast<void>(stream_from_array_interface(refused)); }),
              errc::invalid_value);
  }
}

// A closed stream is refused and never exported as another number.
TEST_F(StreamProtocols, ClosedStreamsAreRefused) {
  stream gone{gpu};
  gone.close();
  EXPECT_EQ(result_of([&] { static_cast<void>(stream_to_protocol(gone)); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(stream_to_dlpack(gone)); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(stream_to_array_interface(gone)); }), errc::closed);
  EXPECT_EQ(result_of([&] {
              static_cast<void>(stream_from_protocol(protocol_answer::pair, {0, bits_of(gone)}));
            }),
            errc::closed);
}

TEST_F(StreamProtocols, TheCFunctionsReturnTheSameResults) {
  weir_stream got = nullptr;
  weir_protocol_stream pair{7, 7};
  ASSERT_EQ(weir_stream_to_protocol(s, &pair), WEIR_SUCCESS);
  EXPECT_EQ(pair.version, 0);
  ASSERT_EQ(weir_stream_from_protocol(WEIR_PROTOCOL_PAIR, &pair, nullptr, &got), WEIR_SUCCESS);
  EXPECT_EQ(got, s.get());

  int wanted = -1;
  const long long own = number_of(s);
  ASSERT_EQ(weir_stream_from_dlpack(&own, &got, &wanted), WEIR_SUCCESS);
  EXPECT_TRUE(got == s.get() && wanted == 1);
  ASSERT_EQ(weir_stream_from_dlpack(nullptr, &got, &wanted), WEIR_SUCCESS);
  EXPECT_TRUE(got == stream_ref::legacy().get() && wanted == 1);
  got = s.get();
  const long long none = -1;
  ASSERT_EQ(weir_stream_from_dlpack(&none, &got, &wanted), WEIR_SUCCESS);
  EXPECT_TRUE(got == s.get() && wanted == 0);
  wanted = -1;
  ASSERT_EQ(weir_stream_from_array_interface(nullptr, &got, &wanted), WEIR_SUCCESS);
  EXPECT_TRUE(got == s.get() && wanted == 0);
  ASSERT_EQ(weir_stream_from_array_interface(&own, &got, &wanted), WEIR_SUCCESS);
  EXPECT_EQ(wanted, 1);

  long long number = 0;
  EXPECT_EQ(weir_stream_to_dlpack(nullptr, &number), WEIR_SUCCESS);
  EXPECT_EQ(number, 1);
  EXPECT_EQ(weir_stream_to_array_interface(s, &number), WEIR_SUCCESS);
  EXPECT_EQ(number, own);
}

TEST_F(StreamProtocols, TheCFunctionsReturnErrorNumbersAndAMessagePerThread) {
  weir_stream got = s.get();
  int wanted = 5;
  const weir_protocol_stream newer{1, 0};
  EXPECT_EQ(weir_stream_from_protocol(WEIR_PROTOCOL_NO_METHOD, nullptr, "Strange", &got),
            WEIR_WRONG_TYPE);
  const std::string no_method = weir_last_error();
  EXPECT_NE(no_method.find("'Strange'"), std::string::npos) << no_method;
  EXPECT_EQ(weir_stream_from_protocol(WEIR_PROTOCOL_PAIR, &newer, "Strange", &got),
            WEIR_WRONG_TYPE);
  EXPECT_NE(weir_last_error(), no_method);
  const long long zero = 0;
  EXPECT_EQ(weir_stream_from_dlpack(&zero, &got, &wanted), WEIR_INVALID_VALUE);
  EXPECT_EQ(weir_stream_from_array_interface(&zero, &got, &wanted), WEIR_INVALID_VALUE);
  EXPECT_EQ(got, s.get()) << "a function that fails writes nothing";
  EXPECT_EQ(wanted, 5);

  const std::string last = weir_last_error();
  std::thread{[] { EXPECT_STREQ(weir_last_error(), ""); }}.join();
  EXPECT_EQ(weir_last_error(), last);
  EXPECT_EQ(weir_stream_sync(s), WEIR_SUCCESS);
  EXPECT_EQ(weir_last_error(), last) << "success writes no message";
}

TEST_F(StreamProtocols, TheCFunctionsRefuseNullPointers) {
  weir_stream got = nullptr;
  int wanted = 0;
  EXPECT_EQ(weir_stream_from_protocol(WEIR_PROTOCOL_PAIR, nullptr, nullptr, &got),
            WEIR_INVALID_VALUE);
  EXPECT_EQ(weir_stream_from_protocol(WEIR_PROTOCOL_NO_METHOD, nullptr, nullptr, nullptr),
            WEIR_INVALID_VALUE);
  EXPECT_EQ(weir_stream_to_protocol(s, nullptr), WEIR_INVALID_VALUE);
  EXPECT_EQ(weir_stream_from_dlpack(nullptr, nullptr, &wanted), WEIR_INVALID_VALUE);
  EXPECT_EQ(weir_stream_from_dlpack(nullptr, &got, nullptr), WEIR_INVALID_VALUE);
  EXPECT_EQ(weir_stream_to_dlpack(s, nullptr), WEIR_INVALID_VALUE);
  EXPECT_EQ(weir_stream_from_array_interface(nullptr, &got, nullptr), WEIR_INVALID_VALUE);
  EXPECT_EQ(weir_stream_to_array_interface(s, nullptr), WEIR_INVALID_VALUE);
}

// Rule 157: the consumer's stream waits for the producer's, and the host does not wait.
TEST_F(StreamProtocols, TheConsumerWaitsForTheProducer) {
  stream producer{gpu};
  pinned_buffer<std::uint32_t> words{2};
  words[0] = words[1] = 0;
  {
    gate held{producer};
    fill(producer, words.data(), 1, 1u);
    ASSERT_EQ(weir_stream_wait(s, producer), WEIR_SUCCESS);
    fill(s, words.data() + 1, 1, 1u);
    EXPECT_FALSE(s.done());
    EXPECT_EQ(std::atomic_ref{words[1]}.load(), 0u);
  }
  ASSERT_EQ(weir_stream_sync(s), WEIR_SUCCESS);
  EXPECT_EQ(words[0], 1u);
  EXPECT_EQ(words[1], 1u);
  EXPECT_EQ(weir_stream_wait(s, s), WEIR_SUCCESS);
}

TEST_F(StreamProtocols, TheCFunctionsRefuseClosedStreamsAndHostFunctions) {
  stream gone{gpu};
  gone.close();
  EXPECT_EQ(weir_stream_wait(gone, s), WEIR_CLOSED);
  EXPECT_EQ(weir_stream_wait(s, gone), WEIR_CLOSED);
  EXPECT_EQ(weir_stream_sync(gone), WEIR_CLOSED);

  int inside = 0;
  weir_protocol_stream pair{};
  int exported = -1;
  launch_host_once(s, [&] {
    inside = weir_stream_wait(s.get(), nullptr);
    exported = weir_stream_to_protocol(s.get(), &pair);  // makes no driver call
  });
  s.sync();
  EXPECT_EQ(inside, static_cast<int>(errc::not_permitted));
  EXPECT_EQ(exported, WEIR_SUCCESS);
}

// The sync returns the exception of a host function as an error number with its text.
TEST_F(StreamProtocols, TheCFunctionsReturnTheExceptionOfAHostFunction) {
  launch_host_once(s, [] { throw std::runtime_error{"the reason"}; });
  EXPECT_EQ(weir_stream_sync(s), static_cast<int>(errc::unknown));
  EXPECT_STREQ(weir_last_error(), "the reason");
}

}  // namespace
}  // namespace weir
