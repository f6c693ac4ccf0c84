// SPDX-License-Identifier: Apache-2.0
// sequences/transcript.hpp - the calls of a sequence and their results, one line each.
#pragma once

#include "driver/abi.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace weir::sequences {

// Returns "SUCCESS", "INVALID_VALUE", ...: the enumerator without its prefix.
[[nodiscard]] std::string short_name(abi::CUresult result);

// FNV-1a.
[[nodiscard]] std::uint64_t hash_of(std::span<const std::uint8_t> bytes) noexcept;
[[nodiscard]] std::uint64_t hash_of(std::string_view text) noexcept;

// The text of one sequence. A line is "<thread> <call> = <result>", then the call's outputs. It
// lies in memory shared with the parent process, which reads how far a crashed driver came.
class transcript {
 public:
  // The size limit of one sequence; text beyond it is omitted, for every driver alike.
  static constexpr std::size_t capacity = std::size_t{1} << 18;
  explicit transcript(std::span<char> in) noexcept : buffer_{in} { buffer_[0] = '\0'; }

  // Sets the thread of the following lines, and whether null is its own default stream ("1" or
  // "1o").
  void thread(unsigned number, bool own_default) {
    thread_ = fmt::format("{}{}", number, own_default ? "o" : "");
  }

  // Adds a call whose answer is certain.
  void call(abi::CUresult result, std::string_view what, std::string_view outputs = {}) {
    add(fmt::format("{} {} = {}{}{}\n", thread_, what, short_name(result),
                    outputs.empty() ? "" : " ", outputs));
  }

  // Adds an observation made without a call.
  void note(std::string_view what) { add(fmt::format("{} {}\n", thread_, what)); }

  [[nodiscard]] std::string_view text() const noexcept { return {buffer_.data(), used_}; }

 private:
  void add(std::string_view line) noexcept {
    if (used_ + line.size() >= buffer_.size()) return;
    std::memcpy(buffer_.data() + used_, line.data(), line.size());
    used_ += line.size();
    buffer_[used_] = '\0';
  }

  std::span<char> buffer_;
  std::size_t used_ = 0;
  std::string thread_ = "0";
};

}  // namespace weir::sequences
