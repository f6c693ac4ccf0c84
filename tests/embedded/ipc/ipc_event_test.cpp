// SPDX-License-Identifier: Apache-2.0
// ipc_event_test.cpp - events of several processes: which record a wait binds to, and what the end
// of a process does to it.
#include <unistd.h>

#include "embedded/memory/memory_fixture.hpp"
#include "support/peer.hpp"

namespace weir::embedded {

namespace {

constexpr unsigned shared_event = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;

void begin() {
  CUcontext context = nullptr;
  driver.cuInit(0);
  driver.cuDevicePrimaryCtxRetain(&context, 0);
  driver.cuCtxSetCurrent(context);
}

// Creates an event and sends its handle, then obeys commands: 'r' records it behind a blocked
// stream, 'o' unblocks the stream, 'n' records it on an idle stream, 'q' sends the result of a
// query, 's' waits for it and sends the result, 'd' destroys it, anything else exits.
WEIR_PEER_ROLE(event_owner) {
  begin();
  CUevent event = nullptr;
  driver.cuEventCreate(&event, shared_event);
  CUipcEventHandle handle{};
  driver.cuIpcGetEventHandle(&handle, event);
  test.send(handle);
  const test_stream stream;
  stream_gate gate{stream};
  for (char ask = 0; test.try_receive(ask);) {
    CUresult answer = CUDA_SUCCESS;
    switch (ask) {
      case 'r': answer = driver.cuEventRecord(event, stream); break;
      case 'o': gate.open(); break;
      case 'n': answer = driver.cuEventRecord(event, nullptr); break;
      case 'q': answer = driver.cuEventQuery(event); break;
      case 's': answer = driver.cuEventSynchronize(event); break;
      case 'd': answer = driver.cuEventDestroy_v2(event); break;
      default: _exit(0);  // exits with a blocked stream
    }
    test.send(answer);
  }
}

class IpcEvent : public memory_test {
 protected:
  void SetUp() override {
    memory_test::SetUp();
    handle_ = owner_.receive<CUipcEventHandle>();
    ASSERT_EQ(driver.cuIpcOpenEventHandle(&event_, handle_), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(driver.cuEventDestroy_v2(event_), CUDA_SUCCESS);
    memory_test::TearDown();
  }
  CUresult ask(char what) const {
    owner_.send(what);
    return owner_.receive<CUresult>();
  }
  void end_owner() {
    owner_.send('e');
    EXPECT_EQ(owner_.wait(), 0);
  }

  test::peer owner_{"event_owner"};
  CUipcEventHandle handle_{};
  CUevent event_ = nullptr;
};

TEST_F(IpcEvent, AnUnrecordedEventIsComplete) {
  EXPECT_EQ(driver.cuEventQuery(event_), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventSynchronize(event_), CUDA_SUCCESS);
}

TEST_F(IpcEvent, AnEventIsPendingUntilTheWorkOfTheOtherProcessIsDone) {
  ASSERT_EQ(ask('r'), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventQuery(event_), CUDA_ERROR_NOT_READY);
  const test_stream here;
  EXPECT_EQ(driver.cuStreamWaitEvent(here, event_, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamQuery(here), CUDA_ERROR_NOT_READY);
  ASSERT_EQ(ask('o'), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(here), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventSynchronize(event_), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventQuery(event_), CUDA_SUCCESS);
}

TEST_F(IpcEvent, TheOtherProcessSeesARecord) {
  const test_stream here;
  stream_gate gate{here};
  ASSERT_EQ(driver.cuEventRecord(event_, here), CUDA_SUCCESS);
  EXPECT_EQ(ask('q'), CUDA_ERROR_NOT_READY);
  gate.open();
  EXPECT_EQ(ask('s'), CUDA_SUCCESS);
  EXPECT_EQ(ask('q'), CUDA_SUCCESS);
}

// Rule 35: a wait binds to the record at the time of the call, also if another process made it.
TEST_F(IpcEvent, ALaterRecordDoesNotExtendAnEarlierWait) {
  ASSERT_EQ(ask('n'), CUDA_SUCCESS);
  ASSERT_EQ(ask('s'), CUDA_SUCCESS);
  const test_stream here;
  ASSERT_EQ(driver.cuStreamWaitEvent(here, event_, 0), CUDA_SUCCESS);
  ASSERT_EQ(ask('r'), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(here), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventQuery(event_), CUDA_ERROR_NOT_READY);
  ASSERT_EQ(ask('o'), CUDA_SUCCESS);
}

// Two records of one event complete in order: the later record's stream waits.
TEST_F(IpcEvent, RecordsCompleteInOrder) {
  ASSERT_EQ(ask('r'), CUDA_SUCCESS);
  const test_stream here;
  ASSERT_EQ(driver.cuEventRecord(event_, here), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventQuery(event_), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(driver.cuStreamQuery(here), CUDA_ERROR_NOT_READY);
  ASSERT_EQ(ask('o'), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventSynchronize(event_), CUDA_SUCCESS);
}

TEST_F(IpcEvent, AnIpcEventIsNotCaptured) {
  const test_stream here;
  ASSERT_EQ(driver.cuStreamBeginCapture_v2(here, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventRecord(event_, here), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph graph = nullptr;
  EXPECT_EQ(driver.cuStreamEndCapture(here, &graph), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(IpcEvent, AnEventOutlivesItsCreator) {
  ASSERT_EQ(ask('n'), CUDA_SUCCESS);
  ASSERT_EQ(ask('s'), CUDA_SUCCESS);
  end_owner();
  EXPECT_EQ(driver.cuEventQuery(event_), CUDA_SUCCESS);
  const test_stream here;
  EXPECT_EQ(driver.cuEventRecord(event_, here), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventSynchronize(event_), CUDA_SUCCESS);
}

TEST_F(IpcEvent, AnEventIsOpenedAfterItsProcessEnded) {
  end_owner();
  CUevent late = nullptr;
  ASSERT_EQ(driver.cuIpcOpenEventHandle(&late, handle_), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventQuery(late), CUDA_SUCCESS);
  CUipcEventHandle again{};
  EXPECT_EQ(driver.cuIpcGetEventHandle(&again, late), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.cuEventDestroy_v2(late), CUDA_SUCCESS);
}

// A record of an ended process can never complete, so waits for it return.
TEST_F(IpcEvent, ARecordOfAnEndedProcessDoesNotBlock) {
  ASSERT_EQ(ask('r'), CUDA_SUCCESS);
  const test_stream here;
  ASSERT_EQ(driver.cuStreamWaitEvent(here, event_, 0), CUDA_SUCCESS);
  end_owner();
  EXPECT_EQ(driver.cuStreamSynchronize(here), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventSynchronize(event_), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventQuery(event_), CUDA_SUCCESS);
}

// A local record made behind it completes, too, though the latest record belongs to a running
// process.
TEST_F(IpcEvent, ARecordBehindARecordOfAnEndedProcessCompletes) {
  ASSERT_EQ(ask('r'), CUDA_SUCCESS);
  const test_stream here;
  ASSERT_EQ(driver.cuEventRecord(event_, here), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventQuery(event_), CUDA_ERROR_NOT_READY);
  end_owner();
  EXPECT_EQ(driver.cuStreamSynchronize(here), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventQuery(event_), CUDA_SUCCESS);
}

TEST_F(IpcEvent, AnEventDestroyedByTheOtherProcessStaysUsable) {
  ASSERT_EQ(ask('d'), CUDA_SUCCESS);
  const test_stream here;
  stream_gate gate{here};
  EXPECT_EQ(driver.cuEventRecord(event_, here), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventQuery(event_), CUDA_ERROR_NOT_READY);
  gate.open();
  EXPECT_EQ(driver.cuEventSynchronize(event_), CUDA_SUCCESS);
}

TEST_F(IpcEvent, AForgedHandleIsRefused) {
  for (std::size_t i = 0; i < 36; ++i) {
    if (i >= 8 && i < 12)
      continue;  // the process id: the events of an ended process may still be opened
    CUipcEventHandle wrong = handle_;
    wrong.reserved[i] = static_cast<char>(wrong.reserved[i] ^ 0x41);
    CUevent none = nullptr;
    EXPECT_NE(driver.cuIpcOpenEventHandle(&none, wrong), CUDA_SUCCESS) << "byte " << i;
    EXPECT_EQ(none, nullptr);
  }
}

TEST_F(IpcEvent, GraphsRecordAnIpcEvent) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_EQ(driver.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  const CUresult added = driver.cuGraphAddEventRecordNode(&node, graph, nullptr, 0, event_);
  if (added == CUDA_SUCCESS &&
      driver.cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS) {
    const test_stream here;
    stream_gate gate{here};
    EXPECT_EQ(driver.cuGraphLaunch(exec, here), CUDA_SUCCESS);
    EXPECT_EQ(ask('q'), CUDA_ERROR_NOT_READY);
    gate.open();
    EXPECT_EQ(ask('s'), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphExecDestroy(exec), CUDA_SUCCESS);
  }
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
}

}  // namespace

}  // namespace weir::embedded
