// SPDX-License-Identifier: Apache-2.0
// compile/host/rewriter.cpp - CUDA's words become those of g++ and clang.
#include "compile/host/rewriter.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "compile/host/edits.hpp"
#include "compile/host/fission.hpp"
#include "compile/host/table.hpp"

namespace weir::compile {
namespace {

class rewriter {
 public:
  rewriter(std::string_view source, const token_list& list, const scan_result& found,
           const rewrite_options& options)
      : source_{source},
        list_{list},
        t_{list.tokens},
        found_{found},
        options_{options},
        table_{list, found} {}

  rewritten run() {
    rewritten result;
    words();
    for (const dynamic_shared& d : found_.dynamic) dynamic(d);
    for (const kernel_text& k : found_.kernels) {
      const std::string text = block(k);
      const std::string beside = table_.add(k, text.empty() ? text : block_name(k)) + text;
      result.has_blocks = result.has_blocks || !text.empty();
      if (!beside.empty()) edits_.insert(t_[k.all.end - 1].end(), beside);
    }
    for (const variable_text& v : found_.variables) table_.add(v);
    for (const std::string& expression : options_.name_expressions)
      result.expressions.push_back(table_.add_expression(expression));
    result.text = edits_.apply(source_);
    if (options_.table) result.text += table_.text();
    result.kernels = table_.kernel_names();
    return result;
  }

 private:
  [[nodiscard]] static std::string block_name(const kernel_text& k) {
    return "weir_block_" + std::to_string(k.all.begin);
  }

  // The kernel as a function that runs all threads of a block, on lines of their own: of a system's
  // header, so that nothing is warned of twice.
  [[nodiscard]] std::string block(const kernel_text& k) const {
    if (!options_.fission || options_.not_blocks.contains(block_name(k))) return {};
    std::string beginning;
    for (const dynamic_shared& d : found_.dynamic)
      if (!d.in_function && !names(k.parameters, d.name) && names(k.body, d.name))
        beginning += reference(d);
    const auto text = fission(
        list_, found_, k,
        [this](std::size_t token) {
          for (const dynamic_shared& d : found_.dynamic)
            if (d.all.begin == token) return reference(d);
          return std::string{};
        },
        beginning);
    if (!text) return {};
    const token& last = t_[k.all.end - 1];
    return "\n# 1 \"" + block_name(k) + "\" 3\n" + table_.template_head(k) +
           "static __attribute__((unused)) void " + block_name(k) + "(" + text->parameters + ") " +
           text->body + "\n# " + std::to_string(last.line) + " \"" + list_.files[last.file] +
           "\"\n";
  }

  [[nodiscard]] bool is(std::size_t i, std::string_view what) const {
    return i < t_.size() && t_[i].is(what);
  }
  void put(std::size_t i, std::string text) {
    edits_.replace(t_[i].offset, t_[i].text.size(), std::move(text));
  }
  void drop(std::size_t i) { edits_.blank(t_[i].offset, t_[i].text.size()); }

  void words() {
    std::size_t next_dynamic = 0;
    for (std::size_t i = 0; i < t_.size(); ++i) {
      // The declarations of dynamic shared memory are replaced as a whole.
      while (next_dynamic < found_.dynamic.size() && i >= found_.dynamic[next_dynamic].all.end)
        ++next_dynamic;
      if (next_dynamic < found_.dynamic.size() && i >= found_.dynamic[next_dynamic].all.begin)
        continue;
      const token& t = t_[i];
      if (t.kind == token_kind::pragma) {
        pragma(t);
      } else if (!t.identifier() || t.text.size() < 5) {
        continue;
      } else if (t.is("__global__") || t.is("__host__") || t.is("__device__") ||
                 t.is("__constant__") || t.is("__managed__") || t.is("__grid_constant__")) {
        drop(i);
      } else if (t.is("__launch_bounds__") || t.is("__cluster_dims__") || t.is("__maxnreg__")) {
        drop(i);
        if (is(i + 1, "(")) i = drop_parentheses(i + 1);
      } else if (t.is("__shared__")) {
        const bool after = i > 0 && is(i - 1, "static"), before = is(i + 1, "static");
        if (before)
          drop(i), put(++i, "static __thread");
        else
          put(i, after ? "__thread" : "static __thread");
      } else if (t.is("__forceinline__") && !in_attribute(i)) {
        put(i, inline_already(i) ? "__attribute__((always_inline))"
                                 : "inline __attribute__((always_inline))");
      } else if (t.is("__noinline__") && !in_attribute(i)) {
        put(i, "__attribute__((noinline))");
      } else if (found_.any_spins && t.text.starts_with("atomic") && t.text.ends_with("_block")) {
        // Threads that spin are interrupted anywhere: what is done on one thread of the host is
        // then done in several steps.
        put(i, std::string{t.text.substr(0, t.text.size() - std::string_view{"_block"}.size())});
      }
    }
    std::size_t last = t_.size();
    for (const variable_text& v : found_.variables) {
      if (v.function_pointer || v.is_constexpr) continue;
      if (v.specifier != std::exchange(last, v.specifier)) initialized(v);
      // To clang a class's value that is nowhere given is none that the compiler knows.
      if (options_.clang && !v.initialized) edits_.insert(t_[v.end].offset, "{}");
    }
  }

  // Does another word of the declaration at i say inline? Twice is an error.
  [[nodiscard]] bool inline_already(std::size_t i) const {
    const auto says = [this](std::size_t k) {
      return is(k, "inline") || is(k, "__inline__") || is(k, "__inline") || is(k, "constexpr");
    };
    for (std::size_t k = i;
         k-- > 0 && !(is(k, ";") || is(k, "{") || is(k, "}")) && t_[k].kind != token_kind::pragma;)
      if (says(k) || is(k, "__forceinline__")) return true;
    for (std::size_t k = i + 1; k < t_.size() && !(is(k, ";") || is(k, "{") || is(k, "(")); ++k)
      if (says(k)) return true;
    return false;
  }

  [[nodiscard]] bool in_attribute(std::size_t i) const {
    return i > 0 && (is(i - 1, "(") || is(i - 1, ",")) && (is(i + 1, ")") || is(i + 1, ","));
  }

  std::size_t drop_parentheses(std::size_t i) {
    int depth = 0;
    for (; i < t_.size(); ++i) {
      drop(i);
      if (is(i, "(")) ++depth;
      if (is(i, ")") && --depth == 0) break;
    }
    return i;
  }

  // A variable of the device has no constructor that runs.
  void initialized(const variable_text& v) {
    edits_.insert(t_[v.specifier].end(), options_.clang
                                             ? " __attribute__((require_constant_initialization))"
                                             : " __constinit");
  }

  // #pragma unroll N is GCC's with its name before it; without a number, and with one that is a
  // name, the compiler decides.
  void pragma(const token& t) {
    std::string_view rest = t.text.substr(1);
    const auto word = [&rest] {
      const std::size_t from = std::min(rest.find_first_not_of(" \t("), rest.size());
      const std::size_t end = std::min(rest.find_first_of(" \t()", from), rest.size());
      const std::string_view w = rest.substr(from, end - from);
      rest.remove_prefix(end);
      return w;
    };
    if (word() != "pragma" || word() != "unroll") return;
    const std::string_view count = word();
    unsigned n = 0;
    const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), n);
    const bool number =
        error == std::errc{} && end == count.data() + count.size() && n > 0 && n < 65535;
    if (!number)
      edits_.replace(t.offset, t.text.size(), "");
    else if (!options_.clang)
      edits_.replace(t.offset, t.text.size(), "#pragma GCC unroll " + std::to_string(n));
  }

  // extern __shared__ T x[]; is a reference to the block's memory. At the scope of a namespace it
  // is made in each function that names it.
  void dynamic(const dynamic_shared& d) {
    const std::size_t from = t_[d.all.begin].offset, length = t_[d.all.end - 1].end() - from;
    std::string text = reference(d);
    if (d.in_function)
      return edits_.replace(from, length, with_lines(std::move(text), from, length));
    edits_.replace(from, length, with_lines("", from, length));
    for (const function_text& f : found_.functions) {
      if (f.body.begin == 0 || names(f.parameters, d.name) || !names(f.body, d.name)) continue;
      edits_.insert(t_[f.body.begin - 1].end(), text);
    }
  }
  std::string reference(const dynamic_shared& d) const {
    std::string type;
    for (std::size_t i = d.type.begin; i < d.type.end; ++i) {
      if (is(i, "extern") || is(i, "__shared__")) continue;
      if (is(i, "__attribute__") ||
          is(i, "alignas")) {  // the memory is aligned as anything may ask
        int depth = 0;
        do {
          ++i;
          depth += is(i, "(") ? 1 : is(i, ")") ? -1 : 0;
        } while (depth > 0 && i < d.type.end);
        continue;
      }
      type += std::string(t_[i].text) + " ";
    }
    const std::string extents = join({d.extents.begin, d.extents.end});
    return "__attribute__((unused)) " + type + "(&" + d.name + ")" + extents + " = *(" + type +
           "(*)" + extents + ")weir_dynamic;";
  }
  [[nodiscard]] bool names(token_range range, std::string_view name) const {
    for (std::size_t i = range.begin; i < range.end; ++i)
      if (is(i, name) && (i == 0 || !(is(i - 1, ".") || is(i - 1, "->") || is(i - 1, "::"))))
        return true;
    return false;
  }
  [[nodiscard]] std::string join(token_range range) const {
    std::string text;
    for (std::size_t i = range.begin; i < range.end; ++i) text += std::string(t_[i].text) + " ";
    return text;
  }
  // As many lines as what it replaces.
  [[nodiscard]] std::string with_lines(std::string text, std::size_t from,
                                       std::size_t length) const {
    const std::string_view old = source_.substr(from, length);
    text.append(static_cast<std::size_t>(std::count(old.begin(), old.end(), '\n')), '\n');
    return text;
  }

  std::string_view source_;
  const token_list& list_;
  const std::vector<token>& t_;
  const scan_result& found_;
  const rewrite_options& options_;
  module_table table_;
  edits edits_;
};

}  // namespace

rewritten rewrite(std::string_view source, const token_list& list, const scan_result& found,
                  const rewrite_options& options) {
  return rewriter{source, list, found, options}.run();
}

}  // namespace weir::compile
