// SPDX-License-Identifier: Apache-2.0
// tools/weir/graph/node_description.cpp - finds kinds and parameters in the labels of drivers.
#include "graph/node_description.hpp"

#include "text.hpp"

#include <weir/core/to_string.hpp>

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace weir::tool {
namespace {

// The words of drivers for kinds: the names of CUgraphNodeType without their prefix.
constexpr std::pair<std::string_view, node_kind> kind_words[] = {
    {"KERNEL", node_kind::kernel},
    {"MEMCPY", node_kind::copy},
    {"MEMSET", node_kind::fill},
    {"HOST", node_kind::host_function},
    {"GRAPH", node_kind::child_graph},
    {"EMPTY", node_kind::empty},
    {"EVENT_WAIT", node_kind::event_wait},
    {"EVENT_RECORD", node_kind::event_record},
    {"EXT_SEMAS_SIGNAL", node_kind::semaphore_signal},
    {"EXT_SEMAS_WAIT", node_kind::semaphore_wait},
    {"MEM_ALLOC", node_kind::allocation},
    {"MEM_FREE", node_kind::free},
    {"BATCH_MEM_OP", node_kind::value_batch},
    {"CONDITIONAL", node_kind::conditional},
};

constexpr std::string_view launch_begin = "<<<";

// Returns a number in decimal or, after "0x", in hexadecimal digits. Text after it is ignored.
std::optional<std::uint64_t> number_in(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  std::uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, hexadecimal ? 16 : 10);
  if (error != std::errc{}) return std::nullopt;
  return number;
}

// Returns the product, or the largest number if it is larger.
std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? ~std::uint64_t{0} : result;
}

// Returns a text such as "64 rows of 1 KiB".
std::string extent_text(std::uint64_t row_bytes, std::uint64_t rows) {
  return rows == 1 ? bytes_text(row_bytes)
                   : fmt::format("{} rows of {}", rows, bytes_text(row_bytes));
}

// Returns the last number of a summary such as "(HtoD,400)" or "(0,400)".
std::optional<std::uint64_t> bytes_in_summary(const driver_label& label) {
  for (const std::string_view word : label.words) {
    if (!word.starts_with('(') || !word.ends_with(')')) continue;
    if (const std::size_t comma = word.rfind(','); comma != std::string_view::npos)
      return number_in(word.substr(comma + 1));
  }
  return std::nullopt;
}

// Returns the letter of a side of a copy. `kinds` is the kind of memory that the program declared
// and, in parentheses, the actual kind, which decides. Memory of an allocation node, for example,
// is "HOST (DEVICE)" before its launch.
char memory_letter(std::string_view kinds) {
  if (kinds.starts_with("ARRAY")) return 'A';
  return kinds.find("(HOST") != std::string_view::npos ? 'H' : 'D';
}

const char* memory_text(char letter) {
  switch (letter) {
    case 'H': return "host";
    case 'D': return "device";
    case 'A': return "array";
    default: return nullptr;
  }
}

// Returns the letters of the kinds of memory of a copy, from a record or from "(HtoD,400)".
std::optional<std::pair<char, char>> direction_of(const driver_label& label) {
  std::vector<std::string_view> kinds;
  for (const auto& [name, value] : label.values) {
    if (name == "MemoryType") kinds.emplace_back(value);
  }
  if (kinds.size() == 2) return std::pair{memory_letter(kinds[0]), memory_letter(kinds[1])};
  for (const std::string_view word : label.words) {
    const std::string_view text = word.substr(word.starts_with('(') ? 1 : 0, 4);
    if (text.size() == 4 && text.substr(1, 2) == "to") return std::pair{text[0], text[3]};
  }
  return std::nullopt;
}

std::string copy_text(const driver_label& label) {
  std::string text = "copy";
  const bool runtime = label.value("WidthInBytes").empty();
  if (const auto width = number_in(label.value(runtime ? "Width" : "WidthInBytes"))) {
    const std::uint64_t rows = product(number_in(label.value("Height")).value_or(1),
                                       number_in(label.value("Depth")).value_or(1));
    text += " " + extent_text(*width, rows);
  } else if (const auto bytes = bytes_in_summary(label)) {
    text += " " + bytes_text(*bytes);
  }
  const auto direction = direction_of(label);
  if (!direction) return text;
  const char* const source = memory_text(direction->first);
  const char* const target = memory_text(direction->second);
  if (source != nullptr && target != nullptr) text += fmt::format(", {} to {}", source, target);
  return text;
}

std::string fill_text(const driver_label& label) {
  const auto width = number_in(label.value("width"));
  const auto height = number_in(label.value("height"));
  const auto element = number_in(label.value("elementSize"));
  if (width && height && element) return "fill " + extent_text(product(*width, *element), *height);
  const auto bytes = bytes_in_summary(label);
  return bytes ? "fill " + bytes_text(*bytes) : "fill";
}

// Returns a function's name as in the source code, without parameters.
std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain{
      ::abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free};
  return plain == nullptr ? symbol : plain.get();
}

// Removes an extent such as "16", "{16,10,4}" or "(16,10,4)" and the comma after it from the text.
// Returns the product of its numbers.
std::uint64_t take_extent(std::string_view& text) {
  const bool grouped = text.starts_with('{') || text.starts_with('(');
  const std::size_t end = std::min(text.find_first_of(grouped ? "})" : ",>"), text.size());
  std::string_view numbers = text.substr(0, end).substr(grouped && end != 0 ? 1 : 0);
  text.remove_prefix(std::min(text.size(), end + (grouped ? 2 : 1)));
  std::uint64_t total = 1;
  while (!numbers.empty()) {
    total = product(total, number_in(numbers).value_or(1));
    numbers.remove_prefix(
        std::min(numbers.size(), std::min(numbers.find(','), numbers.size() - 1) + 1));
  }
  return total;
}

std::string kernel_text(const driver_label& label) {
  std::string name;
  for (const std::string_view word : label.words) {
    const std::size_t launch = word.find(launch_begin);
    if (launch != std::string_view::npos) {
      if (launch != 0) name = word.substr(0, launch);
      std::string_view shape = word.substr(launch + launch_begin.size());
      const std::uint64_t blocks = take_extent(shape);
      const std::uint64_t threads = take_extent(shape);
      return fmt::format("kernel{}, {} x {} threads", name.empty() ? "" : " " + demangled(name),
                         blocks, threads);
    }
    if (name.empty() && word != "KERNEL" && word != "ID" && !number_in(word)) name = word;
  }
  return name.empty() ? "kernel" : "kernel " + demangled(name);
}

// Returns the value of a write or a wait. A driver writes 64 bits in decimal digits after "0x".
std::uint64_t batch_value(std::string_view operation, std::string_view value) {
  const bool decimal = operation.ends_with("64") && value.starts_with("0x") &&
                       value.find_first_not_of("0123456789", 2) == std::string_view::npos;
  return number_in(value.substr(decimal ? 2 : 0)).value_or(0);
}

// Returns a text such as "wait for value >= 7" for an operation, its value and its flags.
std::string operation_text(std::string_view operation, std::string_view value,
                           std::string_view flags) {
  const std::uint64_t number = batch_value(operation, value);
  if (operation.starts_with("WRITE")) return fmt::format("write value {}", number);
  static constexpr std::pair<std::string_view, std::string_view> signs[] = {
      {"GEQ", ">="}, {"EQ", "=="}, {"AND", "&"}, {"NOR", "nor"}};
  const auto sign =
      std::ranges::find(signs, flags, &std::pair<std::string_view, std::string_view>::first);
  return fmt::format("wait for value {}{}{}", sign == std::end(signs) ? "" : sign->second,
                     sign == std::end(signs) ? "" : " ", number);
}

// An operation has four fields: its name, the address, the value and flags.
std::string batch_text(const driver_label& label) {
  std::size_t waits = 0;
  std::size_t writes = 0;
  std::string last;
  for (std::size_t i = 0; i + 3 < label.words.size(); ++i) {
    const std::string_view operation = label.words[i];
    const bool is_wait = operation.starts_with("WAIT_VALUE");
    if (!is_wait && !operation.starts_with("WRITE_VALUE")) continue;
    ++(is_wait ? waits : writes);
    last = operation_text(operation, label.words[i + 2], label.words[i + 3]);
  }
  if (waits + writes == 0) return "values";
  if (waits + writes == 1) return last;
  std::string text = waits == 0 ? "" : plural(waits, "value wait");
  if (writes != 0) text += (waits == 0 ? "" : ", ") + plural(writes, "value write");
  return text;
}

std::string conditional_text(const driver_label& label, std::size_t bodies) {
  if (label.contains("IF")) return bodies == 2 ? "if, else" : "if";
  if (label.contains("WHILE")) return "while";
  if (label.contains("SWITCH")) return "switch of " + plural(bodies, "case");
  return "conditional";
}

// Returns the words of a label without its number.
std::string all_words(const driver_label& label) {
  const bool numbered = !label.words.empty() && number_in(label.words.front());
  return fmt::format("{}",
                     fmt::join(label.words.begin() + (numbered ? 1 : 0), label.words.end(), " "));
}

}  // namespace

std::optional<node_kind> kind_of(const driver_label& label, std::string_view shape) {
  if (shape == "octagon") return node_kind::kernel;
  for (const std::string& word : label.words) {
    const auto known =
        std::ranges::find(kind_words, word, &std::pair<std::string_view, node_kind>::first);
    if (known != std::end(kind_words)) return known->second;
  }
  return std::nullopt;
}

void node_descriptions::add_allocation(const driver_label& label) {
  const auto address = number_in(label.value("dptr"));
  const auto bytes = number_in(label.value("bytesize"));
  if (address && bytes) allocated_[*address] = *bytes;
}

std::string node_descriptions::free_text(const driver_label& label) const {
  const auto address = number_in(label.value("dptr"));
  const auto known = address ? allocated_.find(*address) : allocated_.end();
  return known == allocated_.end() ? "free" : "free " + bytes_text(known->second);
}

std::string node_descriptions::event_text(const driver_label& label, std::string_view name) {
  if (!name.empty()) return fmt::format("event \"{}\"", name);
  const std::string_view handle = label.value("event");
  if (handle.empty()) return "event";
  const auto number = events_.try_emplace(std::string{handle}, events_.size() + 1).first->second;
  return fmt::format("event {}", number);
}

std::string node_descriptions::describe(std::optional<node_kind> kind, const driver_label& label,
                                        std::string_view event, std::size_t parts) {
  if (!kind) return all_words(label);
  switch (*kind) {
    case node_kind::kernel: return kernel_text(label);
    case node_kind::copy: return copy_text(label);
    case node_kind::fill: return fill_text(label);
    case node_kind::event_record: return "record " + event_text(label, event);
    case node_kind::event_wait: return "wait for " + event_text(label, event);
    case node_kind::semaphore_signal: return "signal semaphores";
    case node_kind::semaphore_wait: return "wait for semaphores";
    case node_kind::free: return free_text(label);
    case node_kind::value_batch: return batch_text(label);
    case node_kind::conditional: return conditional_text(label, parts);
    case node_kind::empty: return {};
    case node_kind::allocation: {
      const auto bytes = number_in(label.value("bytesize"));
      return bytes ? "allocate " + bytes_text(*bytes) : "allocate";
    }
    case node_kind::host_function:
    case node_kind::child_graph: break;
  }
  return to_string(*kind);
}

std::string body_title(const driver_label& label, std::size_t body) {
  if (label.contains("IF")) return body == 0 ? "if not 0" : "else";
  if (label.contains("WHILE")) return "while not 0";
  return label.contains("SWITCH") ? fmt::format("case {}", body) : "";
}

}  // namespace weir::tool
