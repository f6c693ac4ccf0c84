// SPDX-License-Identifier: Apache-2.0
// kernel/image/ptx_text.cpp - telling PTX from text that only begins like it.
#include "embedded/kernel/image/ptx_text.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace weir::embedded::kernel {

namespace {

// What instructions begin with, in order. Their modifiers follow behind dots.
constexpr std::string_view instructions[] = {
    "abs",          "activemask",    "add",       "addc",       "alloca",
    "and",          "applypriority", "atom",      "bar",        "barrier",
    "bfe",          "bfi",           "bfind",     "bmsk",       "bra",
    "brev",         "brkpt",         "brx",       "call",       "clusterlaunchcontrol",
    "clz",          "cnot",          "copysign",  "cos",        "cp",
    "createpolicy", "cvt",           "cvta",      "discard",    "div",
    "dp2a",         "dp4a",          "elect",     "ex2",        "exit",
    "fence",        "fma",           "fns",       "getctarank", "griddepcontrol",
    "isspacep",     "istypep",       "ld",        "ldmatrix",   "ldu",
    "lg2",          "lop3",          "mad",       "mad24",      "madc",
    "mapa",         "match",         "max",       "mbarrier",   "membar",
    "min",          "mma",           "mov",       "movmatrix",  "mul",
    "mul24",        "multimem",      "nanosleep", "neg",        "not",
    "or",           "pmevent",       "popc",      "prefetch",   "prefetchu",
    "prmt",         "rcp",           "red",       "redux",      "rem",
    "ret",          "rsqrt",         "sad",       "selp",       "set",
    "setmaxnreg",   "setp",          "shf",       "shfl",       "shl",
    "shr",          "sin",           "slct",      "sqrt",       "st",
    "stackrestore", "stacksave",     "stmatrix",  "sub",        "subc",
    "suld",         "suq",           "sured",     "sust",       "szext",
    "tanh",         "tcgen05",       "tensormap", "testp",      "tex",
    "tld4",         "trap",          "txq",       "vabsdiff",   "vabsdiff2",
    "vabsdiff4",    "vadd",          "vadd2",     "vadd4",      "vavrg2",
    "vavrg4",       "vmad",          "vmax",      "vmax2",      "vmax4",
    "vmin",         "vmin2",         "vmin4",     "vote",       "vset",
    "vset2",        "vset4",         "vshl",      "vshr",       "vsub",
    "vsub2",        "vsub4",         "wgmma",     "wmma",       "xor",
};
static_assert(std::ranges::is_sorted(instructions));

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}

class reader {
 public:
  explicit reader(std::string_view text) : rest_{text} {}

  // Whether there is more, behind white space and comments.
  bool skip() {
    while (!rest_.empty()) {
      if (std::isspace(static_cast<unsigned char>(rest_[0])) != 0) {
        take(1);
      } else if (rest_.starts_with("//")) {
        take(std::min(rest_.find('\n'), rest_.size()));
      } else if (rest_.starts_with("/*")) {
        const std::size_t end = rest_.find("*/", 2);
        take(end == std::string_view::npos ? rest_.size() : end + 2);
      } else {
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] char next() const { return rest_.empty() ? '\0' : rest_[0]; }
  void take(std::size_t count) {
    line_ += static_cast<int>(
        std::count(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(count), '\n'));
    rest_.remove_prefix(count);
  }
  std::string_view word() {
    std::size_t length = 0;
    while (length < rest_.size() && is_word(rest_[length])) ++length;
    const std::string_view found = rest_.substr(0, length);
    take(length);
    return found;
  }
  // Behind the end of a statement; false where the text ends before.
  bool to_semicolon() {
    int open = 0;
    while (skip()) {
      const char c = next();
      if (c == '"') {
        const std::size_t end = rest_.find('"', 1);
        if (end == std::string_view::npos) return false;
        take(end);
      }
      open += c == '{' || c == '(' ? 1 : c == '}' || c == ')' ? -1 : 0;
      if (open < 0) return false;
      take(1);
      if (c == ';' && open == 0) return true;
    }
    return false;
  }
  // Up to the body of a function or the end of a declaration, outside of functions.
  bool to_body_or_semicolon() {
    while (skip()) {
      const char c = next();
      if (c == '{') return true;
      if (c == '=') return to_semicolon();
      if (c == '}') return false;
      take(1);
      if (c == ';') return true;
    }
    return false;
  }
  void to_end_of_line() { take(std::min(rest_.find('\n'), rest_.size())); }
  [[nodiscard]] int line() const { return line_; }

 private:
  std::string_view rest_;
  int line_ = 1;
};

// One statement in a function: a directive, a label or an instruction.
bool pass_statement(reader& in) {
  if (in.next() == '.') {
    in.take(1);
    const std::string_view directive = in.word();
    if (directive == "loc" || directive == "pragma" || directive == "file")
      return in.to_end_of_line(), true;
    return in.to_semicolon();
  }
  if (in.next() == '@') {
    in.take(1);
    if (in.next() == '!') in.take(1);
    in.word();
    if (!in.skip()) return false;
  }
  const std::string_view name = in.word();
  if (!in.skip()) return false;
  if (in.next() == ':') return in.take(1), !name.empty();
  return std::ranges::binary_search(instructions, name) && in.to_semicolon();
}

bool pass_function(reader& in) {
  int depth = 0;
  do {
    if (in.next() == '{') {
      ++depth;
      in.take(1);
    } else if (in.next() == '}') {
      --depth;
      in.take(1);
    } else if (!pass_statement(in)) {
      return false;
    }
  } while (depth > 0 && in.skip());
  return depth == 0;
}

bool pass_directive(reader& in) {
  if (in.next() != '.') return false;
  in.take(1);
  const std::string_view directive = in.word();
  if (directive == "version" || directive == "target" || directive == "address_size" ||
      directive == "file" || directive == "loc" || directive == "pragma") {
    in.to_end_of_line();
    return true;
  }
  if (directive == "section") {
    while (in.skip() && in.next() != '{') in.take(1);
    while (in.skip() && in.next() != '}') in.take(1);
    if (in.next() != '}') return false;
    in.take(1);
    return true;
  }
  if (!in.to_body_or_semicolon()) return false;
  return in.next() != '{' || pass_function(in);
}

}  // namespace

bool is_ptx(const char* text, std::string& diagnostic) {
  reader in{text};
  while (in.skip()) {
    if (!pass_directive(in)) {
      diagnostic = "this begins as PTX and is none: line " + std::to_string(in.line());
      return false;
    }
  }
  return true;
}

}  // namespace weir::embedded::kernel
