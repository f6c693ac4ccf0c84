// SPDX-License-Identifier: Apache-2.0
// compile/host/host_compiler.cpp - asks the host's compiler twice: to preprocess, and to compile
// what the scanner made of it.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "compile/cache/image_file.hpp"
#include "compile/host/headers_folder.hpp"
#include "compile/host/host_identity.hpp"
#include "compile/host/private_folder.hpp"
#include "compile/host/process.hpp"
#include "compile/host/rewriter.hpp"
#include "compile/host/scanner.hpp"
#include "compile/host/token.hpp"
#include "compile/host/unsupported.hpp"
#include "compile/request.hpp"

namespace weir::compile {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view users_headers = "weir-headers/";  // of the request's own headers
constexpr std::string_view device_folder = "weir-device";
constexpr std::string_view defines_file = "weir-defines.h";

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  if (what.empty() || what == by) return text;
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

bool balanced(const token_list& list) {
  int braces = 0, others = 0;
  for (const token& t : list.tokens) {
    braces += t.is("{") ? 1 : t.is("}") ? -1 : 0;
    others += t.is("(") || t.is("[") ? 1 : t.is(")") || t.is("]") ? -1 : 0;
    if (braces < 0) return false;
  }
  return braces == 0 && others == 0;
}

// A path that stays inside the folder it is appended to.
fs::path inside(const fs::path& name) {
  fs::path result;
  for (const fs::path& part : name.relative_path())
    if (part != ".." && part != ".") result /= part;
  return result;
}

class compilation {
 public:
  explicit compilation(const request& what) : what_{what}, compiler_{host_compiler()} {
    name_ = what.name.empty() ? "program.cu" : what.name;
    file_ = inside(name_).string();
    if (file_.empty()) file_ = name_ = "program.cu";
    if (file_.starts_with('-')) file_.insert(0, "./");  // no option of the compiler's
  }

  product run() {
    folder_.write(file_, what_.source);
    for (const auto& [name, text] : what_.headers) write_header(name, text);
    fs::create_directory_symlink(headers_folder(), folder_.path() / device_folder);
    folder_.write(defines_file, defines());
    folder_.write("weir.map", "{ global: weir_module; local: *; };\n");

    preprocess();
    preprocessed_ = true;
    const std::string source = with_users_names(read("unit.i"));
    const token_list tokens = tokens_of(source);
    refuse(unsupported(tokens));
    const scan_result found = scan(tokens);
    clang_ = source.find("struct weir_compiler_is_clang") != source.npos;
    // A kernel that became loops may fail to compile where it would not as it stands: then it stays
    // as it is.
    const bool whole =
        balanced(tokens);  // else what is missing is told where the user's source ends
    rewrite_options options{clang_, what_.name_expressions, whole, whole && !what_.debug, {}};
    const std::string before = log_;
    for (;;) {
      const rewritten unit = rewrite(source, tokens, found, options);
      folder_.write("unit.ii", unit.text);
      try {
        build();
        return finish(unit);
      } catch (const failure&) {
        if (!unit.has_blocks) throw;
        const std::set<std::string> failed =
            failed_blocks(std::string_view{log_}.substr(before.size()));
        options.fission = !failed.empty() && options.not_blocks.empty();
        options.not_blocks = failed;
        log_ = before;
      }
    }
  }

 private:
  // As the compiler will look for it: below the folder, under its very name.
  void write_header(const std::string& name, const std::string& text) {
    const fs::path file = inside(name);
    if (file.empty() || name.starts_with('/') || std::ranges::count(fs::path{name}, "..") != 0)
      throw failure(
          obstacle::source,
          "header \"" + name +
              "\" cannot be passed as text; use a relative path without \"..\" as its name",
          {}, compiler_);
    folder_.write(fs::path(users_headers) / file, text);
  }

  [[nodiscard]] std::string read(const char* name) const {
    std::ifstream file(folder_.path() / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  // What both calls need: the language and everything that predefined macros depend on.
  [[nodiscard]] std::vector<std::string> command() const {
    std::string standard = what_.standard.empty() ? "c++17" : what_.standard;
    if (standard.ends_with("++98"))
      throw failure(obstacle::source,
                    "the standard " + standard + " is too old for kernels; use c++14 or later", {},
                    compiler_);
    if (standard == "c++03" || standard == "c++11") standard = "c++14";  // the table's own
    std::vector<std::string> c{compiler_, "-std=" + standard, what_.debug ? "-O0" : "-O3"};
    c.push_back("-march=" + (what_.architecture.empty() || what_.architecture.starts_with("sm_") ||
                                     what_.architecture.starts_with("compute_")
                                 ? std::string("native")
                                 : what_.architecture));
    c.insert(c.end(), {"-fPIC", "-fno-exceptions", "-fno-rtti", "-fno-builtin-printf", "-pipe"});
    c.insert(c.end(), what_.extra.begin(), what_.extra.end());
    return c;
  }

  // What the user defines, for what comes behind the prelude: its own names may be the same.
  [[nodiscard]] std::string defines() const {
    std::string text;
    for (const std::string& define : what_.defines) {
      const std::size_t name = define.find('=');
      const std::string value = name == define.npos ? "1" : define.substr(name + 1);
      text += "#define " + define.substr(0, name) + " " + value.substr(0, value.find('\n')) + "\n";
    }
    return text + "#include <assert.h>\n";  // once more, with the user's NDEBUG
  }

  void preprocess() {
    std::vector<std::string> c = command();
    c.insert(c.end(), {"-E", "-x", "c++", "-U_FORTIFY_SOURCE", "-include", "weir/prelude.h",
                       "-include", std::string(defines_file), "-I", std::string(users_headers)});
    for (const std::string& path : what_.include_paths)
      if (!path.empty()) c.insert(c.end(), {"-I", fs::absolute(path).string()});
    c.insert(c.end(), {"-isystem", std::string(device_folder)});
    if (what_.debug) c.emplace_back("-D__WEIR_DEBUG__=1");
    if (what_.fast_math) c.emplace_back("-D__USE_FAST_MATH__=1");
    c.insert(c.end(), {file_, "-o", "unit.i"});
    ask(c, "unit.i");
  }

  void build() {
    std::vector<std::string> c = command();
    c.insert(c.end(), {"-x", "c++-cpp-output", "-fvisibility=hidden", "-fno-semantic-interposition",
                       "-ftls-model=local-dynamic", "-ffp-contract=fast", "-fno-math-errno",
                       "-fno-trapping-math", "-fno-strict-aliasing",
                       "-fno-delete-null-pointer-checks", "-fno-threadsafe-statics",
                       "-fno-stack-protector", "-Wno-attributes", "-Wno-unknown-pragmas"});
    if (!clang_) c.emplace_back("-fno-gnu-unique");
#if defined(__x86_64__)
    constexpr bool is_x86 = true;
#else
    constexpr bool is_x86 = false;
#endif
    // No frame reaches beyond the page that ends a stack.
    if (is_x86 || !clang_) c.emplace_back("-fstack-clash-protection");
    // Clang 14 keeps values in the registers 16 to 31 across the call that finds thread-local
    // variables, which may change them.
    if (is_x86 && clang_) c.emplace_back("-mno-avx512f");
    if (what_.debug)
      c.emplace_back("-g");
    else if (what_.line_info)
      c.emplace_back("-g1");
    // Not -ffast-math: linking with it changes how the whole process rounds, and kernels may still
    // ask for NaN.
    if (what_.fast_math)
      c.insert(c.end(), {"-fno-signed-zeros", "-fassociative-math", "-freciprocal-math"});
    c.emplace_back("unit.ii");
    const std::vector<std::string> link{"-shared",
                                        "-Wl,--version-script=weir.map",
                                        "-Wl,--as-needed",
                                        "-Wl,--no-undefined",
                                        "-Wl,--build-id=none",
                                        "-lm",
                                        "-o",
                                        "image.so"};
    if (!what_.debug) {
      c.insert(c.end(), link.begin(), link.end());
      return ask(c, "image.so");
    }
    // The check's functions are the image's own: its library must not be linked.
    c.insert(c.end(),
             {"-fsanitize=alignment", "-fno-sanitize-recover=alignment", "-c", "-o", "unit.o"});
    ask(c, "unit.o");
    std::vector<std::string> l{compiler_, "unit.o"};
    l.insert(l.end(), link.begin(), link.end());
    ask(l, "image.so");
  }

  void ask(const std::vector<std::string>& c, const char* output) {
    process_result r = run_process(c, folder_.path());
    if (r.status < 0)
      throw failure(obstacle::no_compiler, "cannot start " + compiler_ + ": " + r.output, {},
                    compiler_);
    log_ += preprocessed_ ? std::move(r.output) : with_users_paths(std::move(r.output));
    if (r.status != 0 || !fs::exists(folder_.path() / output))
      throw failure(obstacle::source, headline(), log_, compiler_);
  }

  void refuse(const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    for (const std::string& line : lines) log_ += line + "\n";
    throw failure(obstacle::source, lines.front(), log_, compiler_);
  }

  // The kernels' loops in which there are errors. None where there are others.
  [[nodiscard]] static std::set<std::string> failed_blocks(std::string_view log) {
    std::set<std::string> failed;
    while (!log.empty()) {
      const std::string_view line = log.substr(0, log.find('\n'));
      log.remove_prefix(std::min(line.size() + 1, log.size()));
      const bool of_block = line.starts_with("weir_block_");
      if (of_block)
        failed.emplace(line.substr(0, line.find(':')));
      else if (line.find(": error: ") != line.npos)
        return {};
    }
    return failed;
  }

  // The first error, else that it failed.
  [[nodiscard]] std::string headline() const {
    std::string_view rest = log_, other;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      if (line.find("error: ") == line.npos && line.find("undefined reference") == line.npos)
        continue;
      if (!line.starts_with("weir_") && !line.starts_with("weir-")) return std::string(line);
      if (other.empty()) other = line;  // what comes of an error of the user's
    }
    if (!other.empty()) return std::string(other);
    return compiler_ + " failed on " + name_ +
           (log_.empty() ? " without an error message; check that it is a C++ compiler and accepts "
                           "every option"
                         : "");
  }

  [[nodiscard]] std::string with_users_paths(std::string log) const {
    log = replaced(std::move(log), users_headers, "");
    return file_ == name_ ? log : replaced(std::move(log), file_ + ":", name_ + ":");
  }

  // The names in line markers as the user knows them.
  [[nodiscard]] std::string with_users_names(std::string source) const {
    source = replaced(std::move(source), " \"" + std::string(users_headers), " \"");
    return file_ == name_ ? source
                          : replaced(std::move(source), " \"" + file_ + "\"", " \"" + name_ + "\"");
  }

  product finish(const rewritten& unit) {
    const std::string bytes = read("image.so");
    product result;
    result.log = log_;
    const auto* const begin = reinterpret_cast<const std::byte*>(bytes.data());
    result.image.assign(begin, begin + bytes.size());
    const std::map<unsigned, std::string> names = names_of(result.image);
    const auto name = [&](unsigned number) {
      const auto found = names.find(number);
      return found == names.end() ? std::string{} : found->second;
    };
    std::vector<std::string> kernels;
    std::transform(unit.kernels.begin(), unit.kernels.end(), std::back_inserter(kernels), name);
    write_shared_sizes(result.image, kernels);
    for (std::size_t i = 0; i < unit.expressions.size(); ++i)
      result.lowered_names.emplace_back(what_.name_expressions[i], name(unit.expressions[i]));
    return result;
  }

  const request& what_;
  std::string compiler_, name_, file_, log_;
  private_folder folder_;
  bool clang_ = false;
  bool preprocessed_ = false;  // messages have the user's names from then on
};

}  // namespace

product for_host(const request& what) {
  try {
    return compilation{what}.run();
  } catch (const std::filesystem::filesystem_error& error) {
    throw failure(obstacle::machine,
                  std::string{"the compiler needs files below TMPDIR or /tmp: "} + error.what(), {},
                  {});
  }
}

}  // namespace weir::compile
