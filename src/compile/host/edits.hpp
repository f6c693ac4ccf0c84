// SPDX-License-Identifier: Apache-2.0
// compile/host/edits.hpp - changes to a text, made all at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir::compile {

// Positions are those of the text as it was. Edits do not overlap; of several at one position the
// first added is first.
class edits {
 public:
  void insert(std::size_t at, std::string text) { list_.push_back({at, 0, std::move(text)}); }
  void replace(std::size_t at, std::size_t length, std::string text) {
    list_.push_back({at, length, std::move(text)});
  }

  // With blanks, so that what follows keeps its column.
  void blank(std::size_t at, std::size_t length) { replace(at, length, std::string(length, ' ')); }

  [[nodiscard]] std::string apply(std::string_view text) {
    std::stable_sort(list_.begin(), list_.end(),
                     [](const edit& a, const edit& b) { return a.at < b.at; });
    std::string result;
    result.reserve(text.size() + text.size() / 8);
    std::size_t at = 0;
    for (const edit& e : list_) {
      if (e.at < at) continue;
      result += text.substr(at, e.at - at);
      result += e.text;
      at = e.at + e.length;
    }
    result += text.substr(at);
    return result;
  }

 private:
  struct edit {
    std::size_t at, length;
    std::string text;
  };
  std::vector<edit> list_;
};

}  // namespace weir::compile
