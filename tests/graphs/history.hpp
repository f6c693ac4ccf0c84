// graphs/history.hpp - work that was submitted and the order that it has, held against what was
// seen of it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace weir::graphs {

// What a vertex does. Host functions are known by their label. Sets and copies write the word of
// their slot: a number, or what another slot's word holds.
struct work {
  enum class kind { nothing, host, set, copy };
  kind what = kind::nothing;
  int slot = 0;  // of a host function: its label
  std::uint32_t value = 0;
  int source = 0;

  [[nodiscard]] bool writes() const noexcept { return what == kind::set || what == kind::copy; }
};

// A host function that ran, and what it found in the words.
struct observation {
  int label;
  std::vector<std::uint32_t> words;
};

// All words are 0 at first.
class history {
 public:
  using vertex = int;
  static constexpr vertex none = -1;

  // Something that comes after others, of which some may be none.
  vertex add(const work& what, std::span<const vertex> before);

  // How what was seen, in that order, and the words at the end differ from what may be; empty where
  // they do not.
  [[nodiscard]] std::string check(const std::vector<observation>& log,
                                  std::span<const std::uint32_t> at_end) const;

  [[nodiscard]] std::size_t size() const noexcept { return vertices_.size(); }
  void clear();

 private:
  struct entry {
    work what;
    std::vector<bool> after;  // which vertices come before it
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
