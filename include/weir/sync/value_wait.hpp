// SPDX-License-Identifier: Apache-2.0
// weir/sync/value_wait.hpp - streams that wait for a value in memory, and that write one.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/stream/stream.hpp>
#include <weir/sync/wait_word.hpp>

#include <cstdint>

namespace weir {

/// The condition under which a waiting stream continues. `word` is the content of the memory,
/// `value` the operand.
enum class until : unsigned char {
  /// word - value >= 0, with the difference as a signed number of 32 (64) bits. A counter may
  /// therefore wrap around: the word 0 satisfies the value 0xffffffff, and the word 0xffffffff does
  /// not satisfy the value 0. Word and value must differ by less than 2^31 (2^63).
  geq,
  /// word == value. If the word changes to another value before the device polls it, the stream
  /// stays blocked.
  eq,
  /// (word & value) != 0: at least one bit of the value is set.
  bit_and,
  /// ~(word | value) != 0: at least one bit is clear in both. Needs wait_word_features::nor.
  nor,
};

/// Options for wait_value().
struct value_wait_options {
  /// Makes writes of other devices (by RDMA), which arrived before the word changed, visible to the
  /// work after the wait. Devices without wait_word_features::flush throw `not_supported`.
  bool flush = false;
};

/// Makes later work of the stream wait until the word satisfies the condition. The word can be
/// changed by the host, by a write_value() of any stream, or by another device. The device polls
/// the word: no host thread is needed, and the call does not block. The later work sees everything
/// that the writer wrote before it wrote the word. If the word already satisfies the condition, the
/// stream is not blocked. If the word satisfies the condition only for a moment, the device may
/// miss that, and the stream stays blocked.
///
/// Nothing else releases the stream, not even destroying it: if the value is never written, the
/// program hangs where it waits for the stream. A device runs a limited number of streams at once,
/// so waiting streams may prevent the stream with the write from running. The host can always write
/// the word. A stream can always write it if the write was queued before the wait.
/// If the reference was made from an object of weir, such as a pinned_buffer or a wait_word, the
/// object records the stream. Its memory is then freed only after the wait has finished.
///
/// Throws: the driver's error. Its text names the stream and the word.
/// In a capture: becomes a node of the graph.
/// In a host function: throws `not_permitted`.
/// Driver: cuStreamWaitValue32.
WEIR_EXPORT void wait_value(stream_ref stream, wait_word_ref<std::uint32_t> word, until condition,
                            std::uint32_t value, value_wait_options options = {},
                            call_site at = call_site::current());
/// Like wait_value() for a 32-bit word, but waits for a 64-bit word. Needs
/// wait_word_features::bits_64.
///
/// In a capture: becomes a node of the graph.
/// In a host function: throws `not_permitted`.
/// Driver: cuStreamWaitValue64.
WEIR_EXPORT void wait_value(stream_ref stream, wait_word_ref<std::uint64_t> word, until condition,
                            std::uint64_t value, value_wait_options options = {},
                            call_site at = call_site::current());

/// Writes a 32-bit value after the work queued so far. A stream that waits for the value, or a host
/// thread that reads it with wait_word::load(), sees the results of that work. If the reference was
/// made from an object of weir, such as a pinned_buffer or a wait_word, the object records the
/// stream. Its memory is then freed only after the write has finished.
///
/// In a capture: becomes a node of the graph.
/// In a host function: throws `not_permitted`.
/// Driver: cuStreamWriteValue32.
WEIR_EXPORT void write_value(stream_ref stream, wait_word_ref<std::uint32_t> word,
                             std::uint32_t value, call_site at = call_site::current());
/// Writes a 64-bit value after the work queued so far. Like write_value() for a 32-bit word. Needs
/// wait_word_features::bits_64.
///
/// In a capture: becomes a node of the graph.
/// In a host function: throws `not_permitted`.
/// Driver: cuStreamWriteValue64.
WEIR_EXPORT void write_value(stream_ref stream, wait_word_ref<std::uint64_t> word,
                             std::uint64_t value, call_site at = call_site::current());

}  // namespace weir
