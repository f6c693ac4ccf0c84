// probe/peer_verbs.cpp - the verbs of the other process.
#include "probe/peer_verbs.hpp"

#include "probe/driver.hpp"
#include "probe/ipc_peer.hpp"
#include "probe/world.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace weir::conformance {

struct PeerVerbs::Question {
  size_t slot;
  std::string argument;

  unsigned long long number() const { return strtoull(argument.c_str(), nullptr, 10); }
};

struct PeerVerbs::Named {
  const char* name;
  Verb verb;
};

const PeerVerbs::Named PeerVerbs::verbs_[] = {
    {"init", &PeerVerbs::init},
    {"event", &PeerVerbs::open_event},
    {"make_event", &PeerVerbs::make_event},
    {"event_handle", &PeerVerbs::event_handle},
    {"query", &PeerVerbs::query},
    {"sync", &PeerVerbs::sync},
    {"destroy", &PeerVerbs::destroy},
    {"record", &PeerVerbs::record},
    {"record_s", &PeerVerbs::record_s},
    {"wait_s", &PeerVerbs::wait_s},
    {"hold", &PeerVerbs::hold},
    {"open", &PeerVerbs::open},
    {"idle", &PeerVerbs::idle},
    {"mem", &PeerVerbs::open_mem},
    {"make_mem", &PeerVerbs::make_mem},
    {"mem_handle", &PeerVerbs::mem_handle},
    {"close", &PeerVerbs::close_mem},
    {"free", &PeerVerbs::free_mem},
    {"read", &PeerVerbs::read},
    {"write", &PeerVerbs::write},
    {"make_pool", &PeerVerbs::make_pool},
    {"export_pool", &PeerVerbs::export_pool},
    {"pool_alloc", &PeerVerbs::pool_alloc},
    {"export_pointer", &PeerVerbs::export_pointer},
    {"pool_free", &PeerVerbs::pool_free},
    {"pool_destroy", &PeerVerbs::pool_destroy},
    {"pool_attr", &PeerVerbs::pool_attr},
};

namespace {

// A handle, or why there is none.
template <class Handle>
std::string tell(CUresult result, const Handle& handle) {
  return result == CUDA_SUCCESS ? to_hex(&handle, sizeof handle) : result_name(result);
}

}  // namespace

std::string PeerVerbs::answer(const std::string& line) {
  const size_t blank = line.find(' ');
  std::string verb = line.substr(0, blank);
  Question question{0, blank == std::string::npos ? "" : line.substr(blank + 1)};
  if (const size_t dot = verb.find('.'); dot != std::string::npos) {
    question.slot = std::min<size_t>(strtoul(verb.c_str() + dot + 1, nullptr, 10), kSlots - 1);
    verb.resize(dot);
  }
  if (verb == "exit") _exit(0);
  for (const Named& known : verbs_) {
    if (verb == known.name) return (this->*known.verb)(question);
  }
  return "unknown";
}

std::string PeerVerbs::init(const Question&) {
  CUresult e = cuInit(0);
  if (e == CUDA_SUCCESS) e = cuDeviceGet(&g.dev, 0);
  if (e == CUDA_SUCCESS) e = cuDevicePrimaryCtxRetain(&g.ctx, g.dev);
  if (e == CUDA_SUCCESS) e = cuCtxSetCurrent(g.ctx);
  return result_name(e);
}

std::string PeerVerbs::open_event(const Question& q) {
  CUipcEventHandle h;
  if (!from_hex(q.argument, &h, sizeof h)) return "no_handle";
  return result_name(cuIpcOpenEventHandle(&events_[q.slot], h));
}

std::string PeerVerbs::make_event(const Question& q) {
  const CUresult e = cuEventCreate(&events_[q.slot], static_cast<unsigned>(q.number()));
  return e == CUDA_SUCCESS ? event_handle(q) : result_name(e);
}

std::string PeerVerbs::event_handle(const Question& q) {
  CUipcEventHandle h;
  return tell(cuIpcGetEventHandle(&h, events_[q.slot]), h);
}

std::string PeerVerbs::query(const Question& q) { return result_name(cuEventQuery(events_[q.slot])); }
std::string PeerVerbs::sync(const Question& q) { return result_name(cuEventSynchronize(events_[q.slot])); }
std::string PeerVerbs::destroy(const Question& q) { return result_name(cuEventDestroy(events_[q.slot])); }
std::string PeerVerbs::record(const Question& q) { return result_name(cuEventRecord(events_[q.slot], nullptr)); }
std::string PeerVerbs::record_s(const Question& q) { return result_name(cuEventRecord(events_[q.slot], stream_)); }
std::string PeerVerbs::wait_s(const Question& q) { return result_name(cuStreamWaitEvent(stream_, events_[q.slot], 0)); }

std::string PeerVerbs::hold(const Question&) {
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

std::string PeerVerbs::open(const Question&) {
  if (word_ == nullptr) return "not_held";
  Cell{word_, word_dev_}.set(holds_);
  return result_name(CUDA_SUCCESS);
}

std::string PeerVerbs::idle(const Question&) { return result_name(cuStreamQuery(stream_)); }

std::string PeerVerbs::open_mem(const Question& q) {
  CUipcMemHandle h;
  if (!from_hex(q.argument, &h, sizeof h)) return "no_handle";
  return result_name(cuIpcOpenMemHandle(&memory_[q.slot], h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
}

CUresult PeerVerbs::fill(CUdeviceptr memory, size_t bytes) {
  std::vector<uint32_t> words(std::min<size_t>(bytes, 8192) / 4);
  for (size_t i = 0; i < words.size(); i++) words[i] = static_cast<uint32_t>(1000 + i);
  CUresult e = cuMemcpyHtoD(memory, words.data(), words.size() * 4);
  if (e == CUDA_SUCCESS) e = cuCtxSynchronize();
  return e;
}

std::string PeerVerbs::make_mem(const Question& q) {
  CUresult e = cuMemAlloc(&memory_[q.slot], q.number());
  if (e == CUDA_SUCCESS) e = fill(memory_[q.slot], q.number());
  return result_name(e);
}

std::string PeerVerbs::mem_handle(const Question& q) {
  CUipcMemHandle h;
  return tell(cuIpcGetMemHandle(&h, memory_[q.slot] + q.number()), h);
}

std::string PeerVerbs::close_mem(const Question& q) { return result_name(cuIpcCloseMemHandle(memory_[q.slot])); }
std::string PeerVerbs::free_mem(const Question& q) { return result_name(cuMemFree(memory_[q.slot])); }

std::string PeerVerbs::read(const Question& q) {
  uint32_t v = 0;
  const CUresult e = cuMemcpyDtoH(&v, memory_[q.slot] + q.number(), 4);
  return e == CUDA_SUCCESS ? std::to_string(v) : result_name(e);
}

std::string PeerVerbs::write(const Question& q) {
  CUresult e = cuMemsetD32(memory_[q.slot], static_cast<unsigned>(q.number()), 1);
  if (e == CUDA_SUCCESS) e = cuCtxSynchronize();
  return result_name(e);
}

std::string PeerVerbs::make_pool(const Question& q) {
  CUmemPoolProps p{};
  p.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.handleTypes = static_cast<CUmemAllocationHandleType>(q.number());
  p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  p.location.id = g.dev;
  return result_name(cuMemPoolCreate(&pool_, &p));
}

std::string PeerVerbs::export_pool(const Question&) {
  int fd = -1;
  const CUresult e = cuMemPoolExportToShareableHandle(&fd, pool_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  if (e != CUDA_SUCCESS) return result_name(e);
  const bool sent = send_descriptor(fd);
  close(fd);
  return sent ? result_name(e) : "not_sent";
}

std::string PeerVerbs::pool_alloc(const Question& q) {
  CUresult e = cuMemAllocFromPoolAsync(&memory_[q.slot], q.number(), pool_, nullptr);
  if (e == CUDA_SUCCESS) e = fill(memory_[q.slot], q.number());
  return result_name(e);
}

std::string PeerVerbs::export_pointer(const Question& q) {
  CUmemPoolPtrExportData d;
  return tell(cuMemPoolExportPointer(&d, memory_[q.slot]), d);
}

std::string PeerVerbs::pool_free(const Question& q) {
  CUresult e = cuMemFreeAsync(memory_[q.slot], nullptr);
  if (e == CUDA_SUCCESS) e = cuCtxSynchronize();
  return result_name(e);
}

std::string PeerVerbs::pool_destroy(const Question&) { return result_name(cuMemPoolDestroy(pool_)); }

std::string PeerVerbs::pool_attr(const Question& q) {
  cuuint64_t v = 0;
  const CUresult e = cuMemPoolGetAttribute(pool_, static_cast<CUmemPool_attribute>(q.number()), &v);
  return e == CUDA_SUCCESS ? std::to_string(v) : result_name(e);
}

}  // namespace weir::conformance
