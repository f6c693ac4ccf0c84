// SPDX-License-Identifier: Apache-2.0
// compile/cache/cache.cpp - what was compiled once, kept on disk.
#include "compile/cache/cache.hpp"

#include "compile/cache/included_files.hpp"
#include "compile/cache/product_file.hpp"
#include "compile/cache/sha256.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weir::compile {
namespace {

namespace fs = std::filesystem;

// Changes with what the files hold.
constexpr std::string_view format = "weir product 3";
// The names of its files: whoever names a folder of other files keeps those.
constexpr std::string_view unfinished = ".weir-new-";  // what is being written begins so
constexpr std::string_view finished = ".weir";         // the others end so

std::string path_of(const std::string& folder, const std::string& key) {
  return fs::path{folder} / (key + std::string{finished});
}

// Every part with its length, so that no two lists of parts read the same.
class key_maker {
 public:
  void add(std::string_view part) {
    const std::uint64_t size = part.size();
    hash_.update({reinterpret_cast<const char*>(&size), sizeof(size)});
    hash_.update(part);
  }
  void add(std::uint64_t number) { add({reinterpret_cast<const char*>(&number), sizeof(number)}); }
  void add(const std::vector<std::string>& parts) {
    add(parts.size());
    for (const std::string& part : parts) add(part);
  }
  [[nodiscard]] std::string finish() { return hash_.finish(); }

 private:
  sha256 hash_;
};

class open_file {
 public:
  explicit open_file(int descriptor) noexcept : descriptor_{descriptor} {}
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  ~open_file() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  [[nodiscard]] int get() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

std::optional<std::string> read_all(int file, std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t done = 0; done < size;) {
    const ssize_t got = ::read(file, text.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    done += static_cast<std::size_t>(got);
  }
  return text;
}

bool write_all(int file, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t done = ::write(file, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

}  // namespace

namespace {

// Returns true if the image may contain the name of the source file, or of the folder in which an
// included file was found.
bool depends_on_name(const request& what, const included_files& includes) {
  if (what.debug || what.line_info) return true;
  // Also __BASE_FILE__, __FILE_NAME__ and __builtin_FILE.
  const auto mentions_name = [](std::string_view text) {
    return text.find("FILE_") != text.npos || text.find("_FILE") != text.npos ||
           text.find("assert") != text.npos || text.find("source_location") != text.npos;
  };
  return mentions_name(what.source) || std::ranges::any_of(what.defines, mentions_name) ||
         std::ranges::any_of(what.extra, mentions_name) ||
         std::ranges::any_of(what.headers,
                             [&](const auto& header) { return mentions_name(header.second); }) ||
         std::ranges::any_of(includes.files,
                             [&](const included_file& file) { return mentions_name(file.text); });
}

}  // namespace

namespace {

// Adds what a result depends on in any folder.
void add_request(key_maker& key, const request& what, std::string_view compiler,
                 const included_files& includes) {
  key.add(format);
  key.add(compiler);
  key.add(what.source);
  key.add(what.defines);
  key.add(what.include_paths.size());
  key.add(what.headers.size());
  for (const auto& [name, text] : what.headers) {
    key.add(name);
    key.add(text);
  }
  key.add(what.standard);
  key.add((what.debug ? 1u : 0u) | (what.fast_math ? 2u : 0u) | (what.line_info ? 4u : 0u));
  key.add(what.max_registers);
  key.add(what.architecture);
  key.add(what.name_expressions);
  key.add(what.extra);
  key.add(includes.files.size());
  for (const included_file& file : includes.files) {
    key.add(file.label);
    key.add(file.text);
  }
  key.add(includes.aliases);
}

}  // namespace

std::optional<cache_keys> keys_of(const request& what, std::string_view compiler) {
  const included_files includes = included_by(what);
  if (!includes.is_complete) return std::nullopt;
  key_maker here;
  add_request(here, what, compiler, includes);
  here.add(what.name);
  here.add(what.include_paths);
  for (const included_file& file : includes.files) here.add(file.path);
  cache_keys keys{{}, here.finish()};
  if (depends_on_name(what, includes)) {
    keys.any_folder = keys.this_folder;
  } else {
    key_maker anywhere;
    add_request(anywhere, what, compiler, includes);
    keys.any_folder = anywhere.finish();
  }
  return keys;
}

disk_cache::disk_cache(std::string folder, std::uint64_t limit)
    : folder_{std::move(folder)}, limit_{limit} {}

std::optional<disk_cache> disk_cache::of_environment() {
  const auto variable = [](const char* name) -> std::string_view {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  const std::string_view asked = variable("WEIR_CACHE");
  if (asked == "0" || asked == "off") return std::nullopt;
  if (!asked.empty()) return disk_cache{std::string{asked}};
  // The XDG specification has relative paths ignored.
  if (const std::string_view xdg = variable("XDG_CACHE_HOME"); xdg.starts_with('/')) {
    return disk_cache{fs::path{xdg} / "weir"};
  }
  if (const std::string_view home = variable("HOME"); !home.empty()) {
    return disk_cache{fs::path{home} / ".cache" / "weir"};
  }
  return std::nullopt;
}

std::optional<product> disk_cache::find(const std::string& key) const {
  const std::string path = path_of(folder_, key);
  // Without waiting, should it be a pipe.
  const open_file file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  struct stat facts {};
  if (file.get() < 0 || ::fstat(file.get(), &facts) != 0) return std::nullopt;
  // It will be run: nobody else may have written it.
  if (!S_ISREG(facts.st_mode) || facts.st_uid != ::geteuid() ||
      (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return std::nullopt;
  }
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  const std::optional<std::string> text =
      size <= limit_ ? read_all(file.get(), size) : std::nullopt;
  std::optional<product> found = text ? product_from(*text, key) : std::nullopt;
  if (found) {
    ::futimens(file.get(), nullptr);  // used last just now
  } else {
    ::unlink(path.c_str());
  }
  return found;
}

void disk_cache::put(const std::string& key, const product& what) const noexcept {
  try {
    std::error_code failed;
    if (fs::create_directories(folder_, failed))
      fs::permissions(folder_, fs::perms::owner_all, failed);
    std::string name = (fs::path{folder_} / unfinished).string() + "XXXXXX";
    const open_file file{::mkostemp(name.data(), O_CLOEXEC)};
    if (file.get() < 0) return;
    const bool written = write_all(file.get(), text_of(what, key));
    if (!written || ::rename(name.c_str(), path_of(folder_, key).c_str()) != 0) {
      ::unlink(name.c_str());
      return;
    }
    evict();
  } catch (...) {  // it is compiled again the next time
  }
}

void disk_cache::evict() const {
  struct entry {
    fs::file_time_type used;
    std::uint64_t bytes;
    fs::path path;
  };
  std::vector<entry> entries;
  std::uint64_t total = 0;
  std::error_code failed;
  // What a process that ended has left unfinished.
  const fs::file_time_type long_ago = fs::file_time_type::clock::now() - std::chrono::hours{1};
  for (const fs::directory_entry& file : fs::directory_iterator{folder_, failed}) {
    std::error_code gone;
    const entry found{file.last_write_time(gone), file.file_size(gone), file.path()};
    if (gone) continue;
    const std::string name = file.path().filename();
    if (name.starts_with(unfinished)) {
      if (found.used < long_ago) fs::remove(found.path, gone);
      continue;
    }
    if (!name.ends_with(finished)) continue;
    total += found.bytes;
    entries.push_back(found);
  }
  if (total <= limit_) return;
  std::ranges::sort(entries, {}, &entry::used);
  for (const entry& oldest : entries) {
    if (total <= limit_ / 10 * 9) return;
    std::error_code gone;
    fs::remove(oldest.path, gone);
    total -= oldest.bytes;
  }
}

product cached(const request& what, std::string_view compiler,
               const std::function<product()>& make) {
  const std::optional<disk_cache> cache = disk_cache::of_environment();
  const std::optional<cache_keys> keys = cache ? keys_of(what, compiler) : std::nullopt;
  if (!keys) return make();
  for (const std::string& key : {keys->any_folder, keys->this_folder}) {
    if (std::optional<product> found = cache->find(key)) return *std::move(found);
  }
  product made = make();
  // Warnings name files with their folders.
  cache->put(made.log.empty() ? keys->any_folder : keys->this_folder, made);
  return made;
}

}  // namespace weir::compile
