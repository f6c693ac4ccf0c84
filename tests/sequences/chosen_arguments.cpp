// SPDX-License-Identifier: Apache-2.0
// sequences/chosen_arguments.cpp - the arguments of calls: existing objects, and invalid ones.
#include "sequences/chosen_arguments.hpp"

namespace weir::sequences {
namespace {

constexpr std::uintptr_t garbage = 0x1234;

template <class Object>
Object* pick(world& w, std::vector<Object>& objects) {
  const std::vector<std::size_t> live = live_indices(objects);
  if (live.empty()) return nullptr;
  return &objects[live[w.d.below(static_cast<unsigned>(live.size()))]];
}

chosen_stream special_stream(world& w) {
  const unsigned token = w.d.below(3);
  return {reinterpret_cast<CUstream>(std::uintptr_t{token}), token == 0   ? "null"
                                                             : token == 1 ? "legacy"
                                                                          : "own"};
}

// Returns a handle that no GPU driver checks: of a destroyed object, of another type, or a number.
template <class Handle, class Object, class Other>
std::pair<Handle, std::string> wild_handle(world& w, const std::vector<Object>& same,
                                           const std::vector<Other>& other) {
  const unsigned choice = w.d.below(3);
  if (choice == 0 && !same.empty()) {
    const Object& one = same[w.d.below(static_cast<unsigned>(same.size()))];
    return {one.handle, one.name};
  }
  if (choice == 1 && !other.empty()) {
    const Other& one = other[w.d.below(static_cast<unsigned>(other.size()))];
    return {reinterpret_cast<Handle>(one.handle), one.name};
  }
  return {reinterpret_cast<Handle>(garbage + w.d.below(8)), "garbage"};
}

}  // namespace

chosen_stream made_stream(world& w) {
  const stream_object* const one = pick(w, w.streams);
  if (one == nullptr) return special_stream(w);
  return {one->handle, one->name, static_cast<int>(one - w.streams.data())};
}

chosen_stream any_stream(world& w) {
  const unsigned choice = w.d.below(16);
  if (w.wild() && choice == 15) {
    auto [handle, name] = wild_handle<CUstream>(w, w.streams, w.events);
    return {handle, std::move(name)};
  }
  return choice < 3 ? special_stream(w) : made_stream(w);
}

chosen_event any_event(world& w) {
  const unsigned choice = w.d.below(24);
  if (w.wild() && choice == 23) {
    auto [handle, name] = wild_handle<CUevent>(w, w.events, w.streams);
    return {handle, std::move(name)};
  }
  const event_object* const one = choice == 0 ? nullptr : pick(w, w.events);
  if (one == nullptr) return {nullptr, "null"};
  return {one->handle, one->name, static_cast<int>(one - w.events.data())};
}

bool can_wait(const world& w, const chosen_stream& s, const chosen_event& e) {
  if (w.wild() || e.number < 0) return true;
  const event_object& event = w.events[static_cast<std::size_t>(e.number)];
  const int context =
      s.number >= 0 ? w.streams[static_cast<std::size_t>(s.number)].context : current_context(w);
  return event.context == context;
}

CUcontext any_context(world& w) {
  const unsigned choice = w.d.below(8);
  if (w.wild() && choice == 7) return reinterpret_cast<CUcontext>(garbage);
  return choice == 0 ? nullptr : w.p.contexts[choice % process::context_count];
}

CUmemoryPool any_pool(world& w) {
  const unsigned choice = w.d.below(16);
  if (choice == 0) return nullptr;
  if (w.wild() && choice == 15) return wild_handle<CUmemoryPool>(w, w.pools, w.streams).first;
  if (const pool_object* const one = pick(w, w.pools); one != nullptr && choice < 12)
    return one->handle;
  CUmemoryPool fallback = nullptr;
  (void)w.driver().cuDeviceGetDefaultMemPool(&fallback, w.p.device);
  return fallback;
}

block* any_block(world& w, const block* but) {
  block* const one = pick(w, w.blocks);
  return one == but && !w.wild() ? nullptr : one;  // overlapping copies are undefined
}

chosen_range any_range(world& w, block& in) {
  const std::size_t offset = w.d.one_of<std::size_t>({0, 0, 0, 1, 2, 4, 8, 64, 100, 256}) % in.size;
  const std::size_t left = in.size - offset;
  std::size_t length = w.d.one_of<std::size_t>(
      {0, 1, 2, 3, 4, 8, 16, 64, 100, 255, 256, 1000, 4096, left, left, left});
  if (length > left) length = left;
  // Only device memory is checked against its size; the driver does not know the size of other
  // memory.
  if (in.kind == memory::device && w.d.one_in(24))
    length = left + w.d.one_of<std::size_t>({1, 8, 4096});
  return {&in, in.address + offset, length};
}

CUdeviceptr invalid_address(world& w) {
  const CUdeviceptr number = w.d.one_of<CUdeviceptr>({0, garbage});
  if (!w.wild() || w.blocks.empty() || w.d.below(2) == 0) return number;
  const block& one = w.blocks[w.d.below(static_cast<unsigned>(w.blocks.size()))];
  // Memory with a pending free is valid for calls, but not for work submitted behind the free.
  return one.live || !sync_all(w) ? number : one.address;
}

bool is_unowned_address(const world& w, CUdeviceptr address) {
  const std::string name = where(w, address);
  return name == "null" || name == "elsewhere";
}

std::string text_of(const world& w, const chosen_range& range) { return where(w, range.address); }

void order_after_last_use(world& w, block& used, const chosen_stream& by) {
  if (w.wild()) {
    auto status = CU_STREAM_CAPTURE_STATUS_NONE;
    (void)w.driver().cuStreamIsCapturing(by.handle, &status);
    used.in_graph = used.in_graph || status != CU_STREAM_CAPTURE_STATUS_NONE;
    return;
  }
  if (used.last == no_pending_work || used.last == by.number) return;
  const driver_table& d = w.driver();
  const stream_object& before = w.streams[static_cast<std::size_t>(used.last)];
  CUevent edge = nullptr;
  if (by.number >= 0 && w.d.below(2) == 0 &&
      d.cuEventCreate(&edge, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS) {
    CUresult result = d.cuEventRecord(edge, before.handle);
    if (result == CUDA_SUCCESS) result = d.cuStreamWaitEvent(by.handle, edge, 0);
    (void)d.cuEventDestroy_v2(edge);
    if (result == CUDA_SUCCESS)
      return w.text.note(fmt::format("{} waits for {}", by.name, before.name));
  }
  w.text.call(d.cuStreamSynchronize(before.handle), fmt::format("wait for {}", before.name));
  for (block& one : w.blocks) {
    if (one.last == used.last && &one != &used) one.last = no_pending_work;
  }
  used.last = no_pending_work;
}

void record_use(world& w, block& used, const chosen_stream& by) {
  if (by.number >= 0)
    used.last = by.number;
  else
    sync_all(w);
}

bool sync_all(world& w) {
  bool all = true;
  for (std::size_t i = 0; i < w.p.contexts.size(); ++i) {
    const CUresult result = w.driver().cuCtxSynchronize_v2(w.p.contexts[i]);
    if (result == CUDA_SUCCESS) continue;
    w.text.call(result, fmt::format("wait for c{}", i));
    all = false;
  }
  for (block& one : w.blocks) one.last = no_pending_work;
  return all;
}

bool can_free(world& w, block& one) {
  if (w.wild()) return !one.in_graph && sync_all(w);
  order_after_last_use(w, one, {});
  return true;
}

}  // namespace weir::sequences
