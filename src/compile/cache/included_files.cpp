// SPDX-License-Identifier: Apache-2.0
// compile/cache/included_files.cpp - the files that a source includes, as far as a cache has to
// know them.
#include "compile/cache/included_files.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <vector>

namespace weir::compile {
namespace {

constexpr std::string_view blanks = " \t\f\v\r";

std::string_view without_blanks(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(blanks);
  return first == std::string_view::npos ? std::string_view{} : text.substr(first);
}

class include_search {
 public:
  explicit include_search(const request& what) : what_{what}, paths_{what.include_paths} {}

  included_files run() {
    options();
    environment();
    scan(what_.source, "", "");
    for (const auto& [name, text] : what_.headers) scan(text, "", "");
    // Those that are found are scanned in turn.
    std::size_t next = 0;
    while (next < found_.files.size()) {
      const included_file file = found_.files[next++];
      scan(file.text, std::filesystem::path{file.path}.parent_path(), file.label);
    }
    return std::move(found_);
  }

 private:
  // The compiler's own options may name files and folders: those that are not understood are not
  // cached.
  void options() {
    constexpr std::string_view forms[] = {"--include-path=", "-I"};
    for (const std::string_view option : what_.extra) {
      const auto* const form =
          std::ranges::find_if(forms, [&](std::string_view f) { return option.starts_with(f); });
      if (form != std::end(forms) && option.size() > form->size())
        paths_.emplace_back(option.substr(form->size()));
      else if (option.starts_with("-I") || option.starts_with("-i") || option.starts_with("--i") ||
               option.starts_with('@') || option.find("pre-include") != std::string_view::npos)
        found_.is_complete = false;
    }
  }

  void environment() {
    for (const char* const name : {"CPATH", "CPLUS_INCLUDE_PATH"}) {
      const char* const value = std::getenv(name);
      std::string_view rest = value != nullptr ? value : "";
      while (!rest.empty()) {
        const std::string_view folder = rest.substr(0, rest.find(':'));
        if (!folder.empty()) paths_.emplace_back(folder);
        rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
      }
    }
  }

  // A comment between the words, or a line that goes on behind a backslash, hides an #include from
  // a search by lines: whoever writes that is not cached.
  void scan(std::string_view text, const std::filesystem::path& folder, const std::string& label) {
    if (text.find("__has_include") != std::string_view::npos) found_.is_complete = false;
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a mark of UTF-8
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      std::string_view line = without_blanks(text.substr(0, end));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      const bool is_digraph = line.starts_with("%:");
      if (!line.starts_with('#') && !is_digraph) {
        if (line.find("*/") != std::string_view::npos &&
            line.find("include") != std::string_view::npos) {
          found_.is_complete = false;
        }
        continue;
      }
      line = without_blanks(line.substr(is_digraph ? 2 : 1));
      const std::string_view word =
          line.substr(0, line.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"));
      const std::string_view behind = line.substr(word.size());
      if (behind.starts_with("/*") || behind.starts_with('\\')) {
        found_.is_complete = false;
        continue;
      }
      if (!line.starts_with("include")) continue;
      line = line.substr(std::string_view{"include"}.size());
      if (line.starts_with("_next")) line = line.substr(std::string_view{"_next"}.size());
      line = without_blanks(line);
      const char close = line.starts_with('"') ? '"' : line.starts_with('<') ? '>' : '\0';
      const std::size_t last = close == '\0' ? std::string_view::npos : line.find(close, 1);
      if (last == std::string_view::npos) {
        found_.is_complete = false;
        continue;
      }
      look_for(std::string{line.substr(1, last - 1)}, close == '"', folder, label);
    }
  }

  // In every place that a compiler might find it in: which it takes depends on the compiler.
  void look_for(const std::string& name, bool quoted, const std::filesystem::path& folder,
                const std::string& label) {
    if (quoted)
      add(folder.empty() ? std::filesystem::path{name} : folder / name, label + " \"" + name);
    if (name.starts_with('/')) add(name, name);
    for (std::size_t i = 0; i < paths_.size(); ++i)
      add(std::filesystem::path{paths_[i]} / name, std::to_string(i) + ' ' + name);
  }

  void add(const std::filesystem::path& path, const std::string& label) {
    std::error_code failed;
    if (!std::filesystem::is_regular_file(path, failed)) return;
    const std::string name = path.lexically_normal().string();
    const auto [seen, is_new] = labels_.try_emplace(name, label);
    if (!is_new) {
      if (seen->second != label && aliases_.insert(label).second)
        found_.aliases.push_back(label + " = " + seen->second);
      return;
    }
    std::ifstream file{path, std::ios::binary};
    std::string text{std::istreambuf_iterator<char>{file}, {}};
    if (!file) found_.is_complete = false;
    found_.files.push_back({name, label, std::move(text)});
  }

  const request& what_;
  std::vector<std::string> paths_;
  included_files found_;
  std::map<std::string, std::string> labels_;  // by the path of the file
  std::set<std::string> aliases_;              // further labels of files with a label
};

}  // namespace

included_files included_by(const request& what) { return include_search{what}.run(); }

}  // namespace weir::compile
