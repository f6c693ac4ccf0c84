// weir/sync/value_wait.hpp - streams that wait for a value in memory, and that write one.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/stream/stream.hpp>
#include <weir/sync/wait_word.hpp>

#include <cstdint>

namespace weir {

// When a stream that waits for a word goes on, where `word` is what the memory holds and `value`
// what it is compared with.
enum class until : unsigned char {
  // Signed word - value >= 0: the word is at most half of all values ahead. So a counter may run
  // over: after 0xffffffff
  // comes 0, which is "at least" 0xffffffff, and 0xffffffff is not at least 0. Counts that stay
  // within 2^31 (2^63) of
  // each other compare as expected.
  geq,
  // word == value. A word that has gone past it holds the stream.
  eq,
  // (word & value) != 0: a bit of the value is set.
  bit_and,
  // ~(word | value) != 0: a bit is clear in both. wait_word_features::nor.
  nor,
};

struct value_wait_options {
  // Make writes of other devices (by RDMA) that arrived before the word changed visible to the work
  // behind the wait. Devices without wait_word_features::flush refuse it (not_supported).
  bool flush = false;
};

// Later work of the stream starts when the word satisfies the condition: changed by the host, by a
// write_value() of any stream, by another device. The device looks at the word; no thread of the
// host is needed, and none waits in this call. The work behind sees what was written before the
// word. A word that already satisfies it holds nothing; one that changes back before the device
// looks may hold it again. Nothing else lets the stream go on, not even destroying it: a program
// that never writes the value hangs where it waits for the stream. A device runs only so many
// streams at once, so streams that wait may keep the one from running that writes; the host, or a
// stream whose work was queued before, writes without fail. Memory of weir's that the word lies in
// remembers this use. In a capture: becomes a node. In a host function: refused. What fails names
// the stream and the word. cuStreamWaitValue32, cuStreamWaitValue64.
WEIR_EXPORT void wait_value(stream_ref stream, wait_word_ref<std::uint32_t> word, until condition,
                            std::uint32_t value, value_wait_options options = {},
                            call_site at = call_site::current());
WEIR_EXPORT void wait_value(stream_ref stream, wait_word_ref<std::uint64_t> word, until condition,
                            std::uint64_t value, value_wait_options options = {},
                            call_site at = call_site::current());

// Writes the value when the work queued before is done. Whoever sees it, a stream that waits or the
// host by load(), sees what that work wrote. Memory and captures as above. cuStreamWriteValue32,
// cuStreamWriteValue64.
WEIR_EXPORT void write_value(stream_ref stream, wait_word_ref<std::uint32_t> word,
                             std::uint32_t value, call_site at = call_site::current());
WEIR_EXPORT void write_value(stream_ref stream, wait_word_ref<std::uint64_t> word,
                             std::uint64_t value, call_site at = call_site::current());

}  // namespace weir
