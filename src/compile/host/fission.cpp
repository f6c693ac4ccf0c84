// SPDX-License-Identifier: Apache-2.0
// compile/host/fission.cpp - statements of a kernel's own body, and of the uniform loops and
// conditions there.
#include "compile/host/fission.hpp"

#include <algorithm>
#include <utility>

#include "compile/host/fission_variables.hpp"
#include "compile/host/waiting.hpp"

namespace weir::compile {
namespace {

class fissioner {
 public:
  fissioner(const token_list& list, const scan_result& found, const kernel_text& kernel,
            const std::function<std::string(std::size_t)>& dynamic)
      : t_{list}, found_{found}, k_{kernel}, dynamic_{dynamic}, variables_{list, found, kernel} {}

  fissioned run(const std::string& beginning) {
    refuse_early();
    ended_ = marks_ended();
    const std::string body = sequence(k_.body);
    std::string text =
        "{ const unsigned weir_nx = blockDim.x, weir_ny = blockDim.y, weir_nz = blockDim.z, "
        "weir_bx = blockIdx.x;"
        " if (weir_nx == 0 || weir_nx > 1024 || weir_ny == 0 || weir_ny > 1024 || weir_nz == 0 || "
        "weir_nz > 64 || "
        "weir_bx > 0x1ffff0)"
        " __builtin_unreachable(); blockDim.x = weir_nx; blockIdx.x = weir_bx; ";
    text += variables_.assertions() + variables_.beginning() + " { " + beginning;
    if (ended_)
      text +=
          " unsigned char weir_ended[1024]; __builtin_memset(weir_ended, 0, weir_nx * weir_ny * "
          "weir_nz);";
    return {variables_.parameters(), text + body + " } }"};
  }

 private:
  [[nodiscard]] bool is(std::size_t i, std::string_view what) const { return t_.is(i, what); }
  [[nodiscard]] bool barrier(token_range r) const { return t_.contains(r, "__syncthreads"); }

  void refuse_early() const {
    for (std::size_t i = k_.body.begin; i < k_.body.end; ++i) {
      const token &t = t_[i], &before = t_[i - 1];
      if (one_of(t, {"goto", "asm", "__asm__", "volatile", "co_await"})) throw not_understood{};
      if (t.is("[") &&
          (before.identifier() ? before.is("return") : !one_of(before, {"]", ")", ">", "&", "&&"})))
        throw not_understood{};  // a lambda
      // A variable of all threads would be another one where the kernel runs thread by thread.
      if (t.is("static") && !one_of(before, {"const", "constexpr", "__shared__"}) &&
          !one_of(t_[i + 1], {"const", "constexpr", "__shared__"}))
        throw not_understood{};
      if (!t.identifier() || t.is("__syncthreads")) continue;
      if (waits_by_itself(t.text, found_.groups) || found_.waiting.contains(t.text))
        throw not_understood{};
    }
    if (found_.any_waits || k_.spins) throw not_understood{};
  }

  // Does a thread that has ended pass a barrier that others wait at?
  [[nodiscard]] bool marks_ended() const {
    bool returned = false, result = false;
    for (std::size_t i = k_.body.begin; i < k_.body.end;) {
      const std::size_t next = t_.past_statement(i, k_.body.end);
      returned = returned || t_.contains({i, next}, "return");
      if (barrier({i, next})) result = returned;
      i = next;
    }
    return result;
  }

  // Statements one after the other in a scope of their own.
  std::string sequence(token_range r) {
    const std::size_t outer = variables_.mark();
    std::string text, hoisted;
    statements region;
    const auto flush = [&](std::size_t at) {
      text += hoisted + loop(region, {at, r.end});
      hoisted.clear(), region.clear();
    };
    for (std::size_t i = r.begin; i < r.end;) {
      const std::size_t next = t_.past_statement(i, r.end);
      const token_range s{i, next};
      if (is(i, "__syncthreads")) {
        if (!(is(i + 1, "(") && is(i + 2, ")") && is(i + 3, ";"))) throw not_understood{};
        flush(next);
      } else if (barrier(s)) {
        flush(i);
        if (t_.contains(s, "return"))
          variables_.may_have_left();  // in an earlier turn of a loop, too
        text += structure(s);
      } else if (in_loop_ && t_.leaves_loop(s)) {
        flush(i);
        text += one_of(t_[i], {"break", "continue"}) ? " " + variables_.plain(s) : structure(s);
      } else if (t_.contains(s, "__shared__") && t_.begins_declaration(s)) {
        hoisted += shared(s);
      } else if (one_of(t_[i], {"typedef", "using", "static_assert"}) || local_type(s)) {
        hoisted += " " + variables_.plain(s) + " ";
      } else if (!variables_.known(s, region, hoisted)) {
        region.push_back(s);
      }
      i = next;
    }
    flush(r.end);
    variables_.leave(outer);
    return text;
  }

  // struct x { .. };
  [[nodiscard]] bool local_type(token_range s) const {
    return one_of(t_[s.begin], {"struct", "class", "union"}) && s.end - s.begin > 3 &&
           is(s.end - 2, "}") && t_.contains(s, t_[s.begin + 1].text);
  }

  std::string shared(token_range s) {
    if (!t_.contains(s, "extern")) return variables_.shared(s, in_loop_);
    const std::string text = dynamic_(s.begin);
    if (text.empty()) throw not_understood{};
    return " " + text;
  }

  // A loop or condition that is the same for all threads, or a block.
  std::string structure(token_range s) {
    std::size_t i = s.begin;
    while (t_[i].kind == token_kind::pragma) ++i;  // unrolling a loop of loops is nobody's gain
    if (is(i, "{")) return " {" + sequence({i + 1, s.end - 1}) + " }";
    if (is(i, "for")) return counted({i, s.end});
    if (!is(i, "if")) throw not_understood{};
    const std::size_t open = is(i + 1, "constexpr") ? i + 2 : i + 1, close = t_.past(open, s.end);
    if (!variables_.same({open + 1, close - 1})) throw not_understood{};
    const std::size_t then = t_.past_statement(close, s.end);
    std::string text = " " + variables_.plain({i, close}) + body({close, then}, in_loop_);
    if (then < s.end) text += " else " + body({then + 1, s.end}, in_loop_);
    return text;
  }

  // for (int i = ..; .. ; ++i), which nothing but the step changes.
  std::string counted(token_range s) {
    const std::size_t close = t_.past(s.begin + 1, s.end);
    const std::size_t first = t_.past_statement(s.begin + 2, close),
                      second = t_.past_statement(first, close);
    const token_range initial{s.begin + 2, first}, condition{first, second - 1},
        step{second, close - 1};
    const std::optional<declaration_text> d = declaration_of(t_, initial);
    if (!d || d->declarators.size() != 1 || !d->is_arithmetic) throw not_understood{};
    const declarator& v = d->declarators.front();
    const std::string name(t_[v.name].text);
    if (!v.assigned || !v.pointers.empty() || v.reference || !variables_.same(v.value) ||
        !variables_.same(condition, name) || !counts(step, name))
      throw not_understood{};
    const std::size_t outer = variables_.mark();
    variables_.add_uniform(name);
    const std::string copy = "weir_same_" + std::to_string(next_++);
    std::string text = " " + variables_.plain({s.begin, close}) + " { const auto " + copy + " = " +
                       name + "; { __attribute__((unused)) const auto " + name + " = " + copy +
                       ";" + body({close, s.end}, true) + " } }";
    variables_.leave(outer);
    return text;
  }
  // ++i, i += 2, i >>= 1, i = i / 2
  [[nodiscard]] bool counts(token_range step, std::string_view name) {
    if (step.end - step.begin < 3) return false;
    std::size_t i = step.begin;
    if (step.end - step.begin == 3)
      for (const std::size_t at : {i, i + 2}) {
        const token& sign = t_[at == i ? i + 1 : i];
        if (t_[at].is(name) && one_of(sign, {"+", "-"}) &&
            t_[at == i ? i + 2 : i + 1].is(sign.text))
          return true;
      }
    if (!t_[i].is(name)) return false;
    ++i;
    while (i < step.end && t_[i].text.back() != '=') {
      if (!one_of(t_[i], {"<", ">"})) return false;
      ++i;
    }
    return i < step.end && variables_.same({i + 1, step.end}, name);
  }
  std::string body(token_range s, bool in_loop) {
    const bool outer = std::exchange(in_loop_, in_loop);
    const std::string text = is(s.begin, "{") ? sequence({s.begin + 1, s.end - 1}) : sequence(s);
    in_loop_ = outer;
    return " {" + text + " }";
  }

  // A region between barriers, as a loop over the threads. `rest` is what follows in its scope.
  std::string loop(const statements& region, token_range rest) {
    if (region.empty()) return {};
    for (const token_range s : region)
      if (t_.contains(s, "return")) variables_.may_have_left();
    const std::string label = "weir_end_" + std::to_string(next_++);
    const std::string leaving =
        std::string("{ ") + (ended_ ? "weir_ended[weir_t] = 1; " : "") + "goto " + label + "; }";
    std::string arrays, inner;
    bool jumps = false;
    // What lives on behind the region is one of an array, which is made before the loop.
    const std::size_t before = variables_.mark();
    for (const token_range s : region) {
      const std::optional<declaration_text> d = declaration_of(t_, s);
      if (d ? lives(*d, rest) : may_live(s, rest))
        inner += d ? variables_.stored(*d, arrays) : throw not_understood{};
      else
        inner += variables_.plain(s, leaving);
      jumps = jumps || t_.contains(s, "return");
      inner += " ";
    }
    if (!arrays.empty()) arrays += variables_.room();
    return arrays +
           " for (unsigned weir_z = 0; weir_z < weir_nz; ++weir_z) for (unsigned weir_y = 0; "
           "weir_y < weir_ny; "
           "++weir_y) {"
           " const unsigned long weir_row = (unsigned long)(weir_z * weir_ny + weir_y) * weir_nx;"
           " for (unsigned weir_x = 0; weir_x < weir_nx; ++weir_x) {"
           " threadIdx.x = weir_x; threadIdx.y = weir_y; threadIdx.z = weir_z;"
           " __attribute__((unused)) const unsigned long weir_t = weir_row + weir_x; " +
           (ended_ ? "if (weir_ended[weir_t]) continue; " : "") + variables_.bound(region, before) +
           "{ " + inner + "} " + (jumps ? label + ":; " : "") + "} }\n";
  }
  [[nodiscard]] bool lives(const declaration_text& d, token_range rest) const {
    return std::any_of(d.declarators.begin(), d.declarators.end(),
                       [&](const declarator& v) { return t_.contains(rest, t_[v.name].text); });
  }
  // Of a declaration that is not understood.
  [[nodiscard]] bool may_live(token_range s, token_range rest) const {
    if (!t_.begins_declaration(s)) return false;
    for (std::size_t i = s.begin; i < s.end; ++i)
      if (t_[i].identifier() && t_.may_declare(s, t_[i].text) && t_.contains(rest, t_[i].text))
        return true;
    return false;
  }

  body_tokens t_;
  const scan_result& found_;
  const kernel_text& k_;
  const std::function<std::string(std::size_t)>& dynamic_;
  fission_variables variables_;
  unsigned next_ = 0;
  bool ended_ = false;
  bool in_loop_ = false;
};

}  // namespace

std::optional<fissioned> fission(const token_list& list, const scan_result& found,
                                 const kernel_text& kernel,
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
