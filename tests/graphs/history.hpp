// SPDX-License-Identifier: Apache-2.0
// graphs/history.hpp - submitted work and its order, compared with what was observed.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace weir::graphs {

// The work of a vertex. Host functions are identified by their label. Memsets and copies write the
// word of their slot: a number, or another slot's word.
struct work {
  enum class kind { nothing, host, set, copy };
  kind what = kind::nothing;
  int slot = 0;  // for a host function: its label
  std::uint32_t value = 0;
  int source = 0;

  [[nodiscard]] bool writes() const noexcept { return what == kind::set || what == kind::copy; }
};

// A host function that ran, and the words that it read.
struct observation {
  int label;
  std::vector<std::uint32_t> words;
};

// All words are initially 0.
class history {
 public:
  using vertex = int;
  static constexpr vertex none = -1;

  // Adds a vertex behind others, some of which may be none.
  vertex add(const work& what, std::span<const vertex> before);

  // Returns how the ordered observations and the final words differ from what is allowed; empty if
  // they do not.
  [[nodiscard]] std::string check(const std::vector<observation>& log,
                                  std::span<const std::uint32_t> at_end) const;

  [[nodiscard]] std::size_t size() const noexcept { return vertices_.size(); }
  void clear();

 private:
  struct entry {
    work what;
    std::vector<bool> after;  // the vertices that come before it
  };
  [[nodiscard]] bool comes_before(vertex one, vertex other) const;
  [[nodiscard]] std::vector<std::uint32_t> may_hold(int slot, vertex reader) const;
  [[nodiscard]] std::string check_words(vertex reader, std::span<const std::uint32_t> words) const;
  [[nodiscard]] std::string check_order(const std::vector<observation>& log, std::size_t at,
                                        vertex v) const;

  std::vector<entry> vertices_;
  std::map<int, std::vector<vertex>> hosts_;    // by label
  std::map<int, std::vector<vertex>> writers_;  // by slot
};

}  // namespace weir::graphs
