// SPDX-License-Identifier: Apache-2.0
// probe/process/peer_commands.cpp - the commands of the other process.
#include "probe/process/peer_commands.hpp"

#include "probe/driver.hpp"
#include "probe/process/ipc_peer.hpp"
#include "probe/world.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace weir::conformance {

struct PeerCommands::Request {
  size_t slot;
  std::string argument;

  unsigned long long number() const { return strtoull(argument.c_str(), nullptr, 10); }
};

struct PeerCommands::NamedCommand {
  const char* name;
  Command verb;
};

const PeerCommands::NamedCommand PeerCommands::commands_[] = {
    {"init", &PeerCommands::init},
    {"event", &PeerCommands::open_event},
    {"make_event", &PeerCommands::make_event},
    {"event_handle", &PeerCommands::event_handle},
    {"query", &PeerCommands::query},
    {"sync", &PeerCommands::sync},
    {"destroy", &PeerCommands::destroy},
    {"record", &PeerCommands::record},
    {"record_s", &PeerCommands::record_s},
    {"wait_s", &PeerCommands::wait_s},
    {"hold", &PeerCommands::hold},
    {"open", &PeerCommands::open},
    {"idle", &PeerCommands::idle},
    {"mem", &PeerCommands::open_mem},
    {"make_mem", &PeerCommands::make_mem},
    {"mem_handle", &PeerCommands::mem_handle},
    {"close", &PeerCommands::close_mem},
    {"free", &PeerCommands::free_mem},
    {"read", &PeerCommands::read},
    {"write", &PeerCommands::write},
    {"make_pool", &PeerCommands::make_pool},
    {"export_pool", &PeerCommands::export_pool},
    {"pool_alloc", &PeerCommands::pool_alloc},
    {"export_pointer", &PeerCommands::export_pointer},
    {"pool_free", &PeerCommands::pool_free},
    {"pool_destroy", &PeerCommands::pool_destroy},
    {"pool_attr", &PeerCommands::pool_attr},
};

namespace {

// Returns a handle, or the error if there is none.
template <class Handle>
std::string tell(CUresult result, const Handle& handle) {
  return result == CUDA_SUCCESS ? to_hex(&handle, sizeof handle) : result_name(result);
}

}  // namespace

std::string PeerCommands::answer(const std::string& line) {
  const size_t blank = line.find(' ');
  std::string verb = line.substr(0, blank);
  Request question{0, blank == std::string::npos ? "" : line.substr(blank + 1)};
  if (const size_t dot = verb.find('.'); dot != std::string::npos) {
    question.slot = std::min<size_t>(strtoul(verb.c_str() + dot + 1, nullptr, 10), kSlots - 1);
    verb.resize(dot);
  }
  if (verb == "exit") _exit(0);
  for (const NamedCommand& known : commands_) {
    if (verb == known.name) return (this->*known.verb)(question);
  }
  return "unknown";
}

std::string PeerCommands::init(const Request&) {
  CUresult e = cuInit(0);
  if (e == CUDA_SUCCESS) e = cuDeviceGet(&g.dev, 0);
  if (e == CUDA_SUCCESS) e = cuDevicePrimaryCtxRetain(&g.ctx, g.dev);
  if (e == CUDA_SUCCESS) e = cuCtxSetCurrent(g.ctx);
  return result_name(e);
}

std::string PeerCommands::open_event(const Request& q) {
  CUipcEventHandle h;
  if (!from_hex(q.argument, &h, sizeof h)) return "no_handle";
  return result_name(cuIpcOpenEventHandle(&events_[q.slot], h));
}

std::string PeerCommands::make_event(const Request& q) {
  const CUresult e = cuEventCreate(&events_[q.slot], static_cast<unsigned>(q.number()));
  return e == CUDA_SUCCESS ? event_handle(q) : result_name(e);
}

std::string PeerCommands::event_handle(const Request& q) {
  CUipcEventHandle h;
  return tell(cuIpcGetEventHandle(&h, events_[q.slot]), h);
}

std::string PeerCommands::query(const Request& q) {
  return result_name(cuEventQuery(events_[q.slot]));
}
std::string PeerCommands::sync(const Request& q) {
  return result_name(cuEventSynchronize(events_[q.slot]));
}
std::string PeerCommands::destroy(const Request& q) {
  return result_name(cuEventDestroy(events_[q.slot]));
}
std::string PeerCommands::record(const Request& q) {
  return result_name(cuEventRecord(events_[q.slot], nullptr));
}
std::string PeerCommands::record_s(const Request& q) {
  return result_name(cuEventRecord(events_[q.slot], stream_));
}
std::string PeerCommands::wait_s(const Request& q) {
  return result_name(cuStreamWaitEvent(stream_, events_[q.slot], 0));
}

std::string PeerCommands::hold(const Request&) {
  CUresult e = CUDA_SUCCESS;
  if (stream_ == nullptr) {
    void* word = nullptr;
    e = cuStreamCreate(&stream_, NB);
    if (e == CUDA_SUCCESS) e = cuMemHostAlloc(&word, 64, CU_MEMHOSTALLOC_DEVICEMAP);
    if (e == CUDA_SUCCESS) e = cuMemHostGetDevicePointer(&word_dev_, word, 0);
    if (e != CUDA_SUCCESS) return result_name(e);
    word_ = static_cast<unsigned char*>(word);
    Cell{word_, word_dev_}.set(0);
  }
  return result_name(cuStreamWaitValue32(stream_, word_dev_, ++holds_, CU_STREAM_WAIT_VALUE_GEQ));
}

std::string PeerCommands::open(const Request&) {
  if (word_ == nullptr) return "not_held";
  Cell{word_, word_dev_}.set(holds_);
  return result_name(CUDA_SUCCESS);
}

std::string PeerCommands::idle(const Request&) { return result_name(cuStreamQuery(stream_)); }

std::string PeerCommands::open_mem(const Request& q) {
  CUipcMemHandle h;
  if (!from_hex(q.argument, &h, sizeof h)) return "no_handle";
  return result_name(cuIpcOpenMemHandle(&memory_[q.slot], h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
}

CUresult PeerCommands::fill(CUdeviceptr memory, size_t bytes) {
  std::vector<uint32_t> words(std::min<size_t>(bytes, 8192) / 4);
  for (size_t i = 0; i < words.size(); i++) words[i] = static_cast<uint32_t>(1000 + i);
  CUresult e = cuMemcpyHtoD(memory, words.data(), words.size() * 4);
  if (e == CUDA_SUCCESS) e = cuCtxSynchronize();
  return e;
}

std::string PeerCommands::make_mem(const Request& q) {
  CUresult e = cuMemAlloc(&memory_[q.slot], q.number());
  if (e == CUDA_SUCCESS) e = fill(memory_[q.slot], q.number());
  return result_name(e);
}

std::string PeerCommands::mem_handle(const Request& q) {
  CUipcMemHandle h;
  return tell(cuIpcGetMemHandle(&h, memory_[q.slot] + q.number()), h);
}

std::string PeerCommands::close_mem(const Request& q) {
  return result_name(cuIpcCloseMemHandle(memory_[q.slot]));
}
std::string PeerCommands::free_mem(const Request& q) {
  return result_name(cuMemFree(memory_[q.slot]));
}

std::string PeerCommands::read(const Request& q) {
  uint32_t v = 0;
  const CUresult e = cuMemcpyDtoH(&v, memory_[q.slot] + q.number(), 4);
  return e == CUDA_SUCCESS ? std::to_string(v) : result_name(e);
}

std::string PeerCommands::write(const Request& q) {
  CUresult e = cuMemsetD32(memory_[q.slot], static_cast<unsigned>(q.number()), 1);
  if (e == CUDA_SUCCESS) e = cuCtxSynchronize();
  return result_name(e);
}

std::string PeerCommands::make_pool(const Request& q) {
  CUmemPoolProps p{};
  p.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.handleTypes = static_cast<CUmemAllocationHandleType>(q.number());
  p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  p.location.id = g.dev;
  return result_name(cuMemPoolCreate(&pool_, &p));
}

std::string PeerCommands::export_pool(const Request&) {
  int fd = -1;
  const CUresult e =
      cuMemPoolExportToShareableHandle(&fd, pool_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  if (e != CUDA_SUCCESS) return result_name(e);
  const bool sent = send_descriptor(fd);
  close(fd);
  return sent ? result_name(e) : "not_sent";
}

std::string PeerCommands::pool_alloc(const Request& q) {
  CUresult e = cuMemAllocFromPoolAsync(&memory_[q.slot], q.number(), pool_, nullptr);
  if (e == CUDA_SUCCESS) e = fill(memory_[q.slot], q.number());
  return result_name(e);
}

std::string PeerCommands::export_pointer(const Request& q) {
  CUmemPoolPtrExportData d;
  return tell(cuMemPoolExportPointer(&d, memory_[q.slot]), d);
}

std::string PeerCommands::pool_free(const Request& q) {
  CUresult e = cuMemFreeAsync(memory_[q.slot], nullptr);
  if (e == CUDA_SUCCESS) e = cuCtxSynchronize();
  return result_name(e);
}

std::string PeerCommands::pool_destroy(const Request&) {
  return result_name(cuMemPoolDestroy(pool_));
}

std::string PeerCommands::pool_attr(const Request& q) {
  cuuint64_t v = 0;
  const CUresult e = cuMemPoolGetAttribute(pool_, static_cast<CUmemPool_attribute>(q.number()), &v);
  return e == CUDA_SUCCESS ? std::to_string(v) : result_name(e);
}

}  // namespace weir::conformance
