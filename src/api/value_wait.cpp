// api/value_wait.cpp - one wait for a word, one write to it.
#include <weir/value_wait.hpp>

#include "api/check.hpp"
#include "api/operand.hpp"
#include "api/value_flags.hpp"

namespace weir {
namespace {

using detail::check;
using detail::device_address;
using detail::driver;

// The memory of an operation on a word, noted while it is queued.
template <class T>
[[nodiscard]] detail::operand operand_of(word_ref<T> word, stream_ref stream, const char* call, call_site at) {
  if (word.get() == detail::closed_handle<T>()) [[unlikely]] {
    detail::fail_closed_word(call, at);
  }
  return detail::operand{detail::region{word.get(), sizeof(T), word.owner()}, stream, call, at};
}

}  // namespace

void wait_value(stream_ref stream, word_ref<std::uint32_t> word, until condition, std::uint32_t value,
                value_wait_options options, call_site at) {
  constexpr const char* call = "cuStreamWaitValue32";
  CUstream_st* const handle = detail::usable(stream, call, at);
  const detail::operand memory = operand_of(word, stream, call, at);
  check(driver().cuStreamWaitValue32_v2(handle, device_address(word.get()), value,
                                        detail::wait_flags(condition, options)),
        call, stream, at);
  memory.queued(at);
}

void wait_value(stream_ref stream, word_ref<std::uint64_t> word, until condition, std::uint64_t value,
                value_wait_options options, call_site at) {
  constexpr const char* call = "cuStreamWaitValue64";
  CUstream_st* const handle = detail::usable(stream, call, at);
  const detail::operand memory = operand_of(word, stream, call, at);
  check(driver().cuStreamWaitValue64_v2(handle, device_address(word.get()), value,
                                        detail::wait_flags(condition, options)),
        call, stream, at);
  memory.queued(at);
}

void write_value(stream_ref stream, word_ref<std::uint32_t> word, std::uint32_t value, call_site at) {
  constexpr const char* call = "cuStreamWriteValue32";
  CUstream_st* const handle = detail::usable(stream, call, at);
  const detail::operand memory = operand_of(word, stream, call, at);
  check(driver().cuStreamWriteValue32_v2(handle, device_address(word.get()), value, abi::CU_STREAM_WRITE_VALUE_DEFAULT),
        call, stream, at);
  memory.queued(at);
}

void write_value(stream_ref stream, word_ref<std::uint64_t> word, std::uint64_t value, call_site at) {
  constexpr const char* call = "cuStreamWriteValue64";
  CUstream_st* const handle = detail::usable(stream, call, at);
  const detail::operand memory = operand_of(word, stream, call, at);
  check(driver().cuStreamWriteValue64_v2(handle, device_address(word.get()), value, abi::CU_STREAM_WRITE_VALUE_DEFAULT),
        call, stream, at);
  memory.queued(at);
}

}  // namespace weir
