// api/value_wait.cpp - one wait for a word, one write to it.
#include <weir/value_wait.hpp>

#include "api/check.hpp"
#include "api/operand.hpp"
#include "api/value_flags.hpp"

namespace weir {
namespace {

using abi::CUdeviceptr;
using abi::CUstream;
using detail::driver;

// Has queue(stream, address) make the driver call, and the memory of the word remember it.
template <class T, class Queue>
void queue_on_word(stream_ref stream, word_ref<T> word, const char* call, call_site at, const Queue& queue) {
  const CUstream handle = detail::usable(stream, call, at);
  if (word.get() == detail::closed_handle<T>()) [[unlikely]] {
    detail::fail_closed_word(call, at);
  }
  const detail::operand memory{detail::region{word.get(), sizeof(T), word.owner()}, stream, call, at};
  detail::check(queue(handle, detail::device_address(word.get())), call, stream, at);
  memory.queued(at);
}

}  // namespace

void wait_value(stream_ref stream, word_ref<std::uint32_t> word, until condition, std::uint32_t value,
                value_wait_options options, call_site at) {
  queue_on_word(stream, word, "cuStreamWaitValue32", at, [&](CUstream handle, CUdeviceptr address) {
    return driver().cuStreamWaitValue32_v2(handle, address, value, detail::wait_flags(condition, options));
  });
}

void wait_value(stream_ref stream, word_ref<std::uint64_t> word, until condition, std::uint64_t value,
                value_wait_options options, call_site at) {
  queue_on_word(stream, word, "cuStreamWaitValue64", at, [&](CUstream handle, CUdeviceptr address) {
    return driver().cuStreamWaitValue64_v2(handle, address, value, detail::wait_flags(condition, options));
  });
}

void write_value(stream_ref stream, word_ref<std::uint32_t> word, std::uint32_t value, call_site at) {
  queue_on_word(stream, word, "cuStreamWriteValue32", at, [&](CUstream handle, CUdeviceptr address) {
    return driver().cuStreamWriteValue32_v2(handle, address, value, abi::CU_STREAM_WRITE_VALUE_DEFAULT);
  });
}

void write_value(stream_ref stream, word_ref<std::uint64_t> word, std::uint64_t value, call_site at) {
  queue_on_word(stream, word, "cuStreamWriteValue64", at, [&](CUstream handle, CUdeviceptr address) {
    return driver().cuStreamWriteValue64_v2(handle, address, value, abi::CU_STREAM_WRITE_VALUE_DEFAULT);
  });
}

}  // namespace weir
