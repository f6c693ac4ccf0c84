// compile/fission.cpp - statements of a kernel's own body, and of the uniform loops and conditions there.
// Longer than most: it is one walk over statements, and each case needs what the others know of the variables.
#include "compile/fission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <utility>
#include <vector>

#include "compile/waiting.hpp"

namespace weir::compile {
namespace {

struct not_understood {};

bool one_of(const token& t, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), t.text) != words.end();
}
bool arithmetic(const token& t) {
  return one_of(t, {"int", "unsigned", "signed", "long", "short", "char", "bool", "float", "double", "size_t", "int8_t",
                    "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "uint"});
}

struct variable {
  enum kind : unsigned char { uniform, again, stored } how;
  std::string name;
  std::string text;  // again: its declaration; stored: its array
  bool constant = false;
};

struct declarator {
  std::size_t name;
  token_range extents;  // [..]
  token_range value;    // what stands behind the =; else the whole initializer
  std::string pointers;
  bool assigned = false, initialized = false, reference = false;
};
struct declaration_text {
  std::string base;  // the specifiers
  bool constant = false, is_auto = false;
  std::vector<declarator> declarators;
};

class fissioner {
 public:
  fissioner(const token_list& list, const scan_result& found, const kernel_text& kernel,
            const std::function<std::string(std::size_t)>& dynamic)
      : t_{list.tokens}, found_{found}, k_{kernel}, dynamic_{dynamic} {}

  std::string run(const std::string& beginning) {
    refuse_early();
    const bool returns_before = marks_ended();
    std::string text =
        "{ const unsigned weir_nx = blockDim.x, weir_ny = blockDim.y, weir_nz = blockDim.z, weir_bx = blockIdx.x;"
        " if (weir_nx == 0 || weir_nx > 1024 || weir_ny == 0 || weir_ny > 1024 || weir_nz == 0 || weir_nz > 64 || "
        "weir_bx > 0x1ffff0)"
        " __builtin_unreachable(); blockDim.x = weir_nx; blockIdx.x = weir_bx; " +
        beginning;
    ended_ = returns_before;
    if (ended_)
      text += " unsigned char weir_ended[1024]; __builtin_memset(weir_ended, 0, weir_nx * weir_ny * weir_nz);";
    return text + sequence(k_.body) + " }";
  }

 private:
  [[nodiscard]] bool is(std::size_t i, std::string_view what) const { return i < t_.size() && t_[i].is(what); }

  [[nodiscard]] std::size_t past(std::size_t i, std::size_t end) const {
    int depth = 0;
    for (; i < end; ++i) {
      if (one_of(t_[i], {"(", "[", "{"})) ++depth;
      if (one_of(t_[i], {")", "]", "}"}) && --depth == 0) return i + 1;
    }
    throw not_understood{};
  }

  // The token behind the statement at i.
  [[nodiscard]] std::size_t past_statement(std::size_t i, std::size_t end) const {
    if (i >= end) throw not_understood{};
    if (t_[i].kind == token_kind::pragma) return past_statement(i + 1, end);
    if (is(i, "{")) return past(i, end);
    if (is(i, "if")) {
      std::size_t k = past_statement(past(is(i + 1, "constexpr") ? i + 2 : i + 1, end), end);
      return k < end && is(k, "else") ? past_statement(k + 1, end) : k;
    }
    if (one_of(t_[i], {"for", "while", "switch"})) return past_statement(past(i + 1, end), end);
    if (is(i, "do")) i = past_statement(i + 1, end);
    while (i < end && !is(i, ";")) i = one_of(t_[i], {"(", "[", "{"}) ? past(i, end) : i + 1;
    if (i >= end) throw not_understood{};
    return i + 1;
  }

  [[nodiscard]] bool contains(token_range r, std::string_view word) const {
    for (std::size_t i = r.begin; i < r.end; ++i)
      if (t_[i].identifier() && t_[i].is(word) && (i == 0 || !(is(i - 1, ".") || is(i - 1, "->")))) return true;
    return false;
  }
  [[nodiscard]] bool barrier(token_range r) const { return contains(r, "__syncthreads"); }

  void refuse_early() const {
    for (std::size_t i = k_.body.begin; i < k_.body.end; ++i) {
      const token& t = t_[i];
      if (one_of(t, {"goto", "asm", "__asm__", "volatile", "co_await"})) throw not_understood{};
      if (t.is("[") && i > 0 && !(t_[i - 1].identifier() || one_of(t_[i - 1], {"]", ")", ">"})))
        throw not_understood{};  // a lambda
      if (t.is("[") && i > 0 && one_of(t_[i - 1], {"return"})) throw not_understood{};
      if (!t.identifier() || t.is("__syncthreads")) continue;
      if (waits_by_itself(t.text, found_.groups) || (found_.waiting.contains(t.text) && !t.is(k_.name)))
        throw not_understood{};
    }
    if (found_.any_waits) throw not_understood{};
    for (const std::string& p : parameters())
      if (modified(p, true)) throw not_understood{};
  }

  [[nodiscard]] std::vector<std::string> parameters() const {
    std::vector<std::string> names;
    int depth = 0;
    for (std::size_t i = k_.parameters.begin; i < k_.parameters.end; ++i) {
      if (one_of(t_[i], {"(", "[", "{", "<"})) ++depth;
      if (one_of(t_[i], {")", "]", "}", ">"})) --depth;
      if (depth == 0 && t_[i].identifier() && (i + 1 == k_.parameters.end || one_of(t_[i + 1], {",", "=", "["})))
        names.emplace_back(t_[i].text);
    }
    return names;
  }

  // Does a thread that has ended pass a barrier that others wait at?
  [[nodiscard]] bool marks_ended() const {
    bool returned = false, result = false;
    for (std::size_t i = k_.body.begin; i < k_.body.end;) {
      const std::size_t next = past_statement(i, k_.body.end);
      returned = returned || contains({i, next}, "return");
      if (barrier({i, next})) result = returned;
      i = next;
    }
    return result;
  }

  // May the value behind this name change after its declaration, as far as can be seen? Where it is handed to a function as it
  // is, it may.
  [[nodiscard]] bool modified(std::string_view name, bool declared = false) const {
    for (std::size_t i = k_.body.begin; i < k_.body.end; ++i) {
      if (!t_[i].is(name) || (is(i - 1, ".") || is(i - 1, "->"))) continue;
      const bool declares = !declared && i > k_.body.begin &&
                            (t_[i - 1].identifier() || one_of(t_[i - 1], {"*", ">", ","})) && is(i + 1, "=");
      if (declares && (t_[i - 1].identifier() || is(i - 1, "*") || is(i - 1, ">") || is(i - 1, ","))) {
        declared = true;
        continue;
      }
      std::size_t last = i;  // a member of it is part of it
      while (is(last + 1, ".")) last += 2;
      const token& next = t_[last + 1];
      if (next.text.size() == 2 && next.text[1] == '=' && !one_of(next, {"==", "<=", ">=", "!="})) return true;
      if (next.is("=")) return true;
      if (one_of(next, {"<", ">"}) && t_[last + 2].is(next.text) && is(last + 3, "=")) return true;  // <<= as < < =
      if (one_of(next, {"<", ">"}) && one_of(t_[last + 2], {"<=", ">="}) && t_[last + 2].offset == next.end())
        return true;
      if (one_of(next, {"+", "-"}) && t_[last + 2].is(next.text) && t_[last + 2].offset == next.end()) return true;
      if (i >= k_.body.begin + 2 && one_of(t_[i - 1], {"+", "-"}) && t_[i - 2].is(t_[i - 1].text) &&
          t_[i - 2].end() == t_[i - 1].offset)
        return true;
      if (is(i - 1, "&") &&
          !(t_[i - 2].identifier() || t_[i - 2].kind == token_kind::number || one_of(t_[i - 2], {")", "]"})))
        return true;
      if (is(i - 1, "=") && i >= 3 && is(i - 3, "&")) return true;  // a reference to it
      if (one_of(t_[i - 1], {"(", ","}) && one_of(next, {")", ","}) && !after_keyword(i)) return true;
    }
    return false;
  }
  // Is the parenthesis before i a cast's, a condition's, or one that only groups?
  [[nodiscard]] bool after_keyword(std::size_t i) const {
    if (!is(i - 1, "(")) return false;
    const token& before = t_[i - 2];
    if (!before.identifier()) return !before.is(">") && !before.is("]") && !before.is(")");
    return one_of(before,
                  {"if", "while", "for", "switch", "return", "sizeof", "min", "max", "abs", "fabsf", "sqrtf", "expf"});
  }

  [[nodiscard]] const variable* seen(std::string_view name) const {
    const auto v =
        std::find_if(visible_.rbegin(), visible_.rend(), [&](const variable& each) { return each.name == name; });
    return v != visible_.rend() ? &*v : nullptr;
  }

  // Is an expression without side effects, and the same whenever it is computed? With `threads`, it may differ between
  // threads.
  [[nodiscard]] bool pure(token_range r, bool threads, std::string_view own = {}) const {
    for (std::size_t i = r.begin; i < r.end; ++i) {
      const token& t = t_[i];
      if (t.kind == token_kind::number) continue;
      if (t.kind != token_kind::identifier) {
        if (t.kind != token_kind::symbol || one_of(t, {"=", "[", "]", "{", "}", "->", ";"})) return false;
        if (t.text.size() == 2 && t.text[1] == '=' && !one_of(t, {"==", "<=", ">=", "!="})) return false;
        const bool operand_before =
            i > r.begin && (t_[i - 1].identifier() || t_[i - 1].kind == token_kind::number || is(i - 1, ")"));
        if (one_of(t, {"*", "&"}) && !operand_before) return false;
        if (one_of(t, {"+", "-"}) && i + 1 < r.end && t_[i + 1].is(t.text) && t_[i + 1].offset == t.end()) return false;
        continue;
      }
      if (is(i - 1, ".")) continue;  // a member of what was looked at
      if (t.is(own)) continue;
      if (one_of(t, {"blockIdx", "blockDim", "gridDim", "warpSize", "min", "max", "static_cast", "sizeof", "true",
                     "false", "const"}) ||
          arithmetic(t))
        continue;
      if (t.is("threadIdx")) {
        if (!threads) return false;
        continue;
      }
      if (is(i + 1, "(") || is(i + 1, "::") || is(i + 1, "<")) {
        // A function, or a comparison with a name: only the latter.
        if (!is(i + 1, "<")) return false;
      }
      if (const variable* v = seen(t.text); v != nullptr) {
        if (v->how == variable::stored || (v->how == variable::again && !threads)) return false;
        continue;
      }
      if (shared_.contains(t.text)) return false;
      for (const variable_text& v : found_.variables)
        if (v.name == t.text && v.memory != memory_kind::constant) return false;
    }
    return true;
  }

  [[nodiscard]] std::optional<declaration_text> declaration(token_range r) const {
    std::size_t i = r.begin;
    declaration_text d;
    bool type = false;
    while (i < r.end) {
      const token& t = t_[i];
      if (one_of(t, {"const", "constexpr"})) {
        d.constant = true;
        if (t.is("const")) d.base += "const ";
        ++i;
      } else if (one_of(t, {"static", "register", "extern", "typename", "struct", "class"})) {
        return std::nullopt;
      } else if (t.identifier() && (!type || arithmetic(t))) {
        if (one_of(t, {"return", "if", "for", "while", "do", "switch", "break", "continue", "delete", "new", "else",
                       "case", "default"}))
          return std::nullopt;
        d.is_auto = d.is_auto || t.is("auto");
        const bool builtin = arithmetic(t);
        d.base += std::string(t.text) + " ";
        ++i;
        while (!builtin && i + 1 < r.end && is(i, "::")) d.base += "::" + std::string(t_[i + 1].text) + " ", i += 2;
        if (!builtin && is(i, "<")) {
          int depth = 0;
          do {
            depth += is(i, "<") ? 1 : is(i, ">") ? -1 : 0;
            d.base += std::string(t_[i].text) + " ";
          } while (++i < r.end && depth > 0 && !one_of(t_[i], {";", "=", "{"}));
        }
        type = true;
      } else {
        break;
      }
    }
    if (!type) return std::nullopt;
    while (i < r.end) {
      declarator one{};
      while (i < r.end && one_of(t_[i], {"*", "&", "const", "__restrict__"})) {
        one.reference = one.reference || is(i, "&");
        if (!one_of(t_[i], {"const", "__restrict__"})) one.pointers += std::string(t_[i].text);
        ++i;
      }
      if (i >= r.end || !t_[i].identifier()) return std::nullopt;
      one.name = i++;
      one.extents.begin = i;
      while (is(i, "[")) i = past(i, r.end);
      one.extents.end = i;
      const std::size_t from = i;
      if (is(i, "=")) one.assigned = true, ++i;
      one.value.begin = i;
      if (!one.assigned && i < r.end && !one_of(t_[i], {"(", "{", ",", ";"})) return std::nullopt;
      int angle = 0;
      while (i < r.end && !is(i, ";") && !(is(i, ",") && angle <= 0))
        i = one_of(t_[i], {"(", "[", "{"}) ? past(i, r.end) : i + 1;
      one.value.end = i;
      one.initialized = i > from;
      d.declarators.push_back(one);
      if (i >= r.end) return std::nullopt;
      if (is(i, ";")) return i + 1 == r.end ? std::optional{d} : std::nullopt;
      ++i;
    }
    return std::nullopt;
  }

  // Statements one after the other in a scope of their own.
  std::string sequence(token_range r) {
    const std::size_t outer = visible_.size();
    std::string text, hoisted;
    std::vector<token_range> region;
    const auto flush = [&](std::size_t at) {
      text += hoisted + loop(region, {at, r.end});
      hoisted.clear(), region.clear();
    };
    for (std::size_t i = r.begin; i < r.end;) {
      const std::size_t next = past_statement(i, r.end);
      const token_range s{i, next};
      if (is(i, "__syncthreads")) {
        if (!(is(i + 1, "(") && is(i + 2, ")") && is(i + 3, ";"))) throw not_understood{};
        flush(next);
      } else if (barrier(s)) {
        flush(i);
        text += structure(s);
      } else if (contains(s, "__shared__") && !is(i, "{")) {
        hoisted += shared(s);
      } else if (one_of(t_[i], {"typedef", "using", "static_assert"})) {
        hoisted += plain(s) + " ";
      } else if (!known(s, hoisted)) {
        region.push_back(s);
      }
      i = next;
    }
    flush(r.end);
    visible_.resize(outer);
    return text;
  }

  // A loop or condition that is the same for all threads, or a block.
  std::string structure(token_range s) {
    std::size_t i = s.begin;
    std::string text;
    while (t_[i].kind == token_kind::pragma) ++i;  // unrolling a loop of loops is nobody's gain
    if (is(i, "{")) return " {" + sequence({i + 1, s.end - 1}) + " }";
    if (is(i, "if")) {
      const std::size_t open = is(i + 1, "constexpr") ? i + 2 : i + 1, close = past(open, s.end);
      if (!pure({open + 1, close - 1}, false)) throw not_understood{};
      const std::size_t then = past_statement(close, s.end);
      text = plain({i, close}) + body({close, then}, in_loop_);
      if (then < s.end) text += " else " + body({then + 1, s.end}, in_loop_);
      return text;
    }
    if (!is(i, "for")) throw not_understood{};
    const std::size_t close = past(i + 1, s.end);
    const std::size_t first = past_statement(i + 2, close), second = past_statement(first, close);
    const token_range initial{i + 2, first}, condition{first, second - 1}, step{second, close - 1};
    const std::optional<declaration_text> d = declaration(initial);
    if (!d || d->declarators.size() != 1 || d->is_auto || !arithmetic_base(d->base)) throw not_understood{};
    const declarator& v = d->declarators.front();
    const std::string name(t_[v.name].text);
    if (!v.assigned || !v.pointers.empty() || !pure(v.value, false) || !pure(condition, false, name) ||
        !counts(step, name))
      throw not_understood{};
    // Nothing but the step changes it.
    const token_range inner{close, s.end};
    for (std::size_t k = inner.begin; k < inner.end; ++k)
      if (t_[k].is(name) && changes(k)) throw not_understood{};
    visible_.push_back({variable::uniform, name, {}, false});
    text = plain({i, close}) + body(inner, true);
    visible_.pop_back();
    return text;
  }
  [[nodiscard]] static bool arithmetic_base(const std::string& base) {
    static constexpr std::string_view types[] = {"int",  "unsigned", "long",    "short",    "size_t",
                                                 "uint", "uint32_t", "int32_t", "uint64_t", "int64_t"};
    return std::any_of(std::begin(types), std::end(types),
                       [&](std::string_view t) { return base.starts_with(std::string(t) + " "); });
  }
  [[nodiscard]] bool changes(std::size_t k) const {
    const token& next = t_[k + 1];
    if (next.is("=") || (next.text.size() == 2 && next.text[1] == '=' && !one_of(next, {"==", "<=", ">=", "!="})))
      return true;
    if (one_of(next, {"+", "-"}) && t_[k + 2].is(next.text) && t_[k + 2].offset == next.end()) return true;
    if (one_of(next, {"<", ">"}) && (is(k + 3, "=") || one_of(t_[k + 2], {"<=", ">="})) &&
        t_[k + 2].offset == next.end())
      return true;
    if (one_of(t_[k - 1], {"+", "-"}) && t_[k - 2].is(t_[k - 1].text) && t_[k - 2].end() == t_[k - 1].offset)
      return true;
    if (is(k - 1, "&") && !(t_[k - 2].identifier() || one_of(t_[k - 2], {")", "]"}))) return true;
    return one_of(t_[k - 1], {"(", ","}) && one_of(next, {")", ","}) && !after_keyword(k);
  }
  // ++i, i += 2, i >>= 1, i = i / 2
  [[nodiscard]] bool counts(token_range step, std::string_view name) const {
    std::vector<token> rest;
    for (std::size_t i = step.begin; i < step.end; ++i)
      if (!t_[i].is(name)) rest.push_back(t_[i]);
    if (rest.empty() || rest.size() == static_cast<std::size_t>(step.end - step.begin)) return false;
    std::size_t i = step.begin;
    if (step.end - step.begin == 3 && one_of(rest[0], {"+", "-"}) && rest[1].is(rest[0].text)) return true;
    if (!t_[i].is(name)) return false;
    ++i;
    while (i < step.end && !(t_[i].text.back() == '=')) {
      if (!one_of(t_[i], {"<", ">"})) return false;
      ++i;
    }
    return i < step.end && pure({i + 1, step.end}, false, name);
  }
  std::string body(token_range s, bool in_loop) {
    const bool outer = std::exchange(in_loop_, in_loop);
    const std::string text = is(s.begin, "{") ? sequence({s.begin + 1, s.end - 1}) : sequence(s);
    in_loop_ = outer;
    return " {" + text + " }";
  }

  std::string shared(token_range s) {
    for (std::size_t i = s.begin; i < s.end; ++i)
      if (is(i, "extern")) {
        const std::string text = dynamic_(s.begin);
        if (text.empty()) throw not_understood{};
        return " " + text;
      }
    std::string text = " ";
    bool before = true;
    int depth = 0;
    for (std::size_t i = s.begin; i < s.end; ++i) {
      if (is(i, "static")) continue;
      if (is(i, "(") || is(i, "[")) ++depth;
      if (is(i, ")") || is(i, "]")) --depth;
      if (depth == 0 && t_[i].identifier() && one_of(t_[i + 1], {"[", ";", ","}))
        shared_.insert(std::string(t_[i].text));
      if (is(i, "__shared__"))
        text += std::exchange(before, false) ? "static __thread " : "";
      else
        text += std::string(t_[i].text) + " ";
    }
    return text;
  }

  // A declaration of variables that are the same for all threads, or that each can compute again.
  bool known(token_range s, std::string& hoisted) {
    const std::optional<declaration_text> d = declaration(s);
    if (!d) return false;
    bool uniform = true, again = true;
    const std::size_t before = visible_.size();
    for (const declarator& v : d->declarators) {
      const std::string name(t_[v.name].text);
      if (!v.assigned || v.reference || v.extents.begin != v.extents.end ||
          (!(d->constant && v.pointers.empty()) && modified(name)))
        uniform = again = false;
      if (again) uniform = uniform && pure(v.value, false), again = pure(v.value, true);
      if (!again) break;
      visible_.push_back({uniform ? variable::uniform : variable::again, name, {}, false});
    }
    visible_.resize(before);
    if (!again) return false;
    if (uniform) hoisted += " __attribute__((unused)) " + plain(s);
    for (const declarator& v : d->declarators)
      visible_.push_back({uniform ? variable::uniform : variable::again, std::string(t_[v.name].text),
                          uniform ? "" : "__attribute__((unused)) " + plain(s), false});
    return true;
  }

  // A region between barriers, as a loop over the threads. `rest` is what follows in its scope.
  std::string loop(const std::vector<token_range>& region, token_range rest) {
    if (region.empty()) return {};
    const std::string label = "weir_end_" + std::to_string(next_++);
    std::string arrays, inner;
    bool jumps = false;
    // What lives on behind the region is one of an array, which is made before the loop.
    const std::size_t before = visible_.size();
    for (const token_range s : region) {
      if (in_loop_ && !one_of(t_[s.begin], {"for", "while", "do", "switch"}) &&
          (contains(s, "break") || contains(s, "continue")))
        throw not_understood{};
      const std::optional<declaration_text> d = declaration(s);
      bool lives = false;
      if (d)
        for (const declarator& v : d->declarators) lives = lives || contains(rest, t_[v.name].text);
      inner += lives ? stored(*d, arrays) : plain(s, &label, &jumps);
      inner += " ";
    }
    std::string bound;
    std::set<std::string_view> wanted;
    for (const token_range s : region)
      for (std::size_t i = s.begin; i < s.end; ++i)
        if (t_[i].identifier()) wanted.insert(t_[i].text);
    // Those that are computed again may need each other, the later the earlier.
    std::vector<std::string> texts;
    for (std::size_t i = before; i-- > 0;) {
      const variable& v = visible_[i];
      if (!wanted.contains(v.name) || v.how == variable::uniform) continue;
      if (v.how == variable::stored) {
        bound += std::string(v.constant ? "const " : "") + "auto& " + v.name + " = " + v.text + "[weir_t]; ";
      } else if (std::find(texts.begin(), texts.end(), v.text) == texts.end()) {
        texts.push_back(v.text);
        for (std::size_t k = 0; k < i; ++k)
          if (v.text.find(visible_[k].name) != v.text.npos) wanted.insert(visible_[k].name);
      }
    }
    std::ranges::reverse(texts);
    for (const std::string& text : texts) bound += text + " ";
    return arrays +
           " for (unsigned weir_z = 0; weir_z < weir_nz; ++weir_z) for (unsigned weir_y = 0; weir_y < weir_ny; "
           "++weir_y) {"
           " const unsigned long weir_row = (unsigned long)(weir_z * weir_ny + weir_y) * weir_nx;"
           " for (unsigned weir_x = 0; weir_x < weir_nx; ++weir_x) {"
           " threadIdx.x = weir_x; threadIdx.y = weir_y; threadIdx.z = weir_z;"
           " __attribute__((unused)) const unsigned long weir_t = weir_row + weir_x; " +
           (ended_ ? "if (weir_ended[weir_t]) continue; " : "") + bound + "{ " + inner + "} " +
           (jumps ? label + ":; " : "") + "} }\n";
  }

  std::string stored(const declaration_text& d, std::string& arrays) {
    if (d.is_auto || visible_.size() > 64 || ++arrays_ > 16) throw not_understood{};
    std::string base = d.base, text;
    for (const declarator& v : d.declarators) {
      if (v.reference) throw not_understood{};
      std::string type = base + v.pointers;
      if (v.pointers.empty() && type.starts_with("const ")) type = type.substr(6);
      const std::string name(t_[v.name].text), array = "weir_of_" + name + "_" + std::to_string(next_++);
      arrays += fmt::format(" {} {}[1024]{}; static_assert(sizeof {} <= 131072, \"\");", type, array, plain(v.extents),
                            array);
      text += fmt::format("auto& {} = {}[weir_t]; ", name, array);
      const bool is_array = v.extents.begin != v.extents.end;
      if (is_array || (v.initialized && (!v.assigned || is(v.value.begin, "{")))) {
        if (v.initialized) {
          const std::string made = "weir_made_" + std::to_string(next_++);
          text += fmt::format("{} {}{}{}{}; __builtin_memcpy(&{}, &{}, sizeof {}); ", type, made, plain(v.extents),
                              v.assigned ? " = " : "", plain(v.value), name, made, name);
        }
      } else if (v.initialized) {
        text += name + " = " + plain(v.value) + "; ";
      }
      visible_.push_back({variable::stored, name, array, d.constant && v.pointers.empty()});
    }
    return text;
  }

  // The tokens as they stand. A return ends the thread.
  std::string plain(token_range r, const std::string* label = nullptr, bool* jumps = nullptr) const {
    std::string text;
    for (std::size_t i = r.begin; i < r.end; ++i) {
      const token& t = t_[i];
      if (t.kind == token_kind::pragma) continue;
      if (i > r.begin && t.offset != t_[i - 1].end()) text += ' ';
      if (t.is("return")) {
        if (label == nullptr || !is(i + 1, ";")) throw not_understood{};
        text += std::string("{ ") + (ended_ ? "weir_ended[weir_t] = 1; " : "") + "goto " + *label + "; }";
        *jumps = true;
      } else if (one_of(t, {"__func__", "__FUNCTION__", "__PRETTY_FUNCTION__"})) {
        text += "\"" + k_.name + "\"";
      } else {
        text += t.text;
      }
    }
    return text;
  }

  const std::vector<token>& t_;
  const scan_result& found_;
  const kernel_text& k_;
  const std::function<std::string(std::size_t)>& dynamic_;
  std::vector<variable> visible_;
  std::set<std::string, std::less<>> shared_;
  unsigned next_ = 0;
  unsigned arrays_ = 0;
  bool ended_ = false;
  bool in_loop_ = false;
};

}  // namespace

std::optional<std::string> fission(const token_list& list, const scan_result& found, const kernel_text& kernel,
                                   const std::function<std::string(std::size_t)>& dynamic,
                                   const std::string& beginning) {
  if (!kernel.waits || kernel.body.begin == kernel.body.end) return std::nullopt;
  try {
    return fissioner{list, found, kernel, dynamic}.run(beginning);
  } catch (const not_understood&) {
    return std::nullopt;
  }
}

}  // namespace weir::compile
