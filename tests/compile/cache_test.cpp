// SPDX-License-Identifier: Apache-2.0
// cache_test.cpp - the on-disk cache of compiled programs.
#include "compile/cache/cache.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"

namespace weir::compile {
namespace {

namespace fs = std::filesystem;

product some_product(std::size_t bytes = 100, unsigned char fill = 7) {
  product made;
  made.image.assign(bytes, std::byte{fill});
  made.log = "a warning";
  made.lowered_names = {{"scale<float>", "_Z5scaleIfE"}, {"", ""}};
  return made;
}

void expect_same(const std::optional<product>& found, const product& expected) {
  ASSERT_TRUE(found);
  EXPECT_EQ(found->image, expected.image);
  EXPECT_EQ(found->log, expected.log);
  EXPECT_EQ(found->lowered_names, expected.lowered_names);
}

class Cache : public ::testing::Test {
 protected:
  test::temporary_folder folder;
  disk_cache cache{folder.path() / "made" / "when needed"};
};

TEST_F(Cache, AnEntryIsFoundByItsKey) {
  EXPECT_FALSE(cache.find("key"));
  cache.put("key", some_product());
  expect_same(cache.find("key"), some_product());
  EXPECT_FALSE(cache.find("other"));
  cache.put("key", some_product(0));
  expect_same(cache.find("key"), some_product(0));
}

TEST_F(Cache, FilesOfTheCacheArePrivate) {
  cache.put("key", some_product());
  EXPECT_EQ(fs::status(cache.folder()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(fs::path{cache.folder()} / "key.weir").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  fs::permissions(fs::path{cache.folder()} / "key.weir", fs::perms::group_write,
                  fs::perm_options::add);
  EXPECT_FALSE(cache.find("key")) << "somebody else may have written it";
}

// The entry is truncated at any byte, extended, has any bit flipped, or belongs to another key.
TEST_F(Cache, ADamagedEntryIsNotFound) {
  const fs::path path = fs::path{cache.folder()} / "key.weir";
  cache.put("key", some_product());
  std::ifstream in{path, std::ios::binary};
  const std::string good{std::istreambuf_iterator<char>{in}, {}};
  const auto expect_nothing_in = [&](const std::string& text) {
    std::ofstream{path, std::ios::binary} << text;
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_FALSE(cache.find("key"));
    EXPECT_FALSE(fs::exists(path)) << "it would be read again";
  };
  for (std::size_t size = 0; size < good.size(); ++size) expect_nothing_in(good.substr(0, size));
  expect_nothing_in(good + '\0');
  for (std::size_t bit = 0; bit < 8 * good.size(); bit += 5) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
    expect_nothing_in(bad);
  }
  cache.put("other", some_product());
  fs::rename(fs::path{cache.folder()} / "other.weir", path);
  EXPECT_FALSE(cache.find("key"));
}

TEST_F(Cache, TheOldestEntriesAreEvicted) {
  const disk_cache small{folder.path(), 10000};
  for (const char* const key : {"a", "b", "c"}) {
    small.put(key, some_product(3000));
    // Sets an older time than any later entry, whatever the resolution of the file system's clock.
    const fs::path path = folder.path() / (std::string{key} + ".weir");
    fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours{'d' - *key});
  }
  EXPECT_TRUE(small.find("a"));  // used last
  small.put("d", some_product(3000));
  EXPECT_TRUE(small.find("a"));
  EXPECT_FALSE(small.find("b"));
  EXPECT_TRUE(small.find("d"));
}

// The cache folder may also contain other programs' files.
TEST_F(Cache, ForeignFilesAreNotRemoved) {
  const disk_cache small{folder.path(), 10000};
  const fs::path letter = folder.path() / "letter.txt", draft = folder.path() / ".new-draft";
  for (const fs::path& file : {letter, draft}) {
    std::ofstream{file} << std::string(20000, 'x');
    fs::last_write_time(file, fs::last_write_time(file) - std::chrono::hours{48});
  }
  small.put("a", some_product(6000));
  small.put("b", some_product(6000));
  EXPECT_TRUE(fs::exists(letter));
  EXPECT_TRUE(fs::exists(draft));
  EXPECT_NE(small.find("a").has_value(), small.find("b").has_value());
}

// The file could be a pipe without a writer, or larger than memory.
TEST_F(Cache, AnInvalidFileIsRejectedQuickly) {
  cache.put("key", some_product());
  const fs::path path = fs::path{cache.folder()} / "key.weir";
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(cache.find("key"));
  fs::remove(path);
  std::ofstream{path} << "x";
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  fs::resize_file(path, std::uintmax_t{1} << 42);
  EXPECT_FALSE(cache.find("key"));
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_FALSE(cache.find("key"));
}

TEST_F(Cache, AbandonedTemporaryFilesAreRemoved) {
  std::ofstream{folder.path() / ".weir-new-abandoned"} << "half";
  std::ofstream{folder.path() / ".weir-new-under way"} << "half";
  const fs::path abandoned = folder.path() / ".weir-new-abandoned";
  fs::last_write_time(abandoned, fs::last_write_time(abandoned) - std::chrono::hours{2});
  disk_cache{folder.path()}.put("key", some_product());
  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_TRUE(fs::exists(folder.path() / ".weir-new-under way"));
}

TEST_F(Cache, ACacheWithoutAFolderIsEmpty) {
  std::ofstream{folder.path() / "file"} << "no folder";
  const disk_cache nowhere{folder.path() / "file" / "below"};
  nowhere.put("key", some_product());
  EXPECT_FALSE(nowhere.find("key"));
}

// A reader finds a complete entry or none, whatever other threads write.
TEST_F(Cache, ThreadsReadWholeEntriesOnly) {
  std::vector<std::thread> threads;
  for (unsigned char t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        cache.put("key", some_product(10000, t));
        const std::optional<product> found = cache.find("key");
        if (!found) continue;
        EXPECT_EQ(std::ranges::count(found->image, found->image[0]), 10000);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(cache.find("key"));
}

TEST_F(Cache, ProcessesReadWholeEntriesOnly) {
  std::vector<pid_t> children;
  for (unsigned char c = 0; c < 4; ++c) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool whole = true;
      for (int i = 0; i < 50; ++i) {
        cache.put("key", some_product(10000, c));
        const std::optional<product> found = cache.find("key");
        whole = whole && (!found || std::ranges::count(found->image, found->image[0]) == 10000);
      }
      ::_exit(whole ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_TRUE(cache.find("key"));
}

std::optional<std::string> key_here(const request& what, std::string_view compiler) {
  const std::optional<cache_keys> keys = keys_of(what, compiler);
  return keys ? std::optional{keys->this_folder} : std::nullopt;
}

TEST(CacheKey, TheKeyDependsOnAllInputs) {
  request what;
  what.source = "int a;";
  std::set<std::string> keys{*key_here(what, "compiler")};
  EXPECT_EQ(key_here(what, "compiler"), *keys.begin());
  EXPECT_NE(key_here(what, "another"), *keys.begin());
  void (*const changes[])(request&) = {
      [](request& r) { r.source = "int b;"; },
      [](request& r) { r.name = "b.cu"; },
      [](request& r) {
        r.defines = {"A", "B"};
      },
      [](request& r) { r.defines = {"AB"}; },
      [](request& r) { r.include_paths = {"AB"}; },
      [](request& r) {
        r.headers = {{"h", "text"}};
      },
      [](request& r) {
        r.headers = {{"h", "texts"}};
      },
      [](request& r) { r.standard = "c++20"; },
      [](request& r) { r.debug = true; },
      [](request& r) { r.fast_math = true; },
      [](request& r) { r.line_info = true; },
      [](request& r) { r.max_registers = 32; },
      [](request& r) { r.architecture = "sm_90"; },
      [](request& r) { r.name_expressions = {"f<int>"}; },
      [](request& r) { r.extra = {"f<int>"}; },
  };
  for (const auto change : changes) {
    change(what);
    EXPECT_TRUE(keys.insert(*key_here(what, "compiler")).second) << "change " << keys.size();
  }
}

TEST(CacheKey, TheKeyDependsOnIncludedFiles) {
  const test::temporary_folder folder;
  request what;
  what.source = "#include \"a.h\"\n";
  what.include_paths = {folder.path()};
  const auto without = key_here(what, "");
  std::ofstream{folder.path() / "a.h"} << "1";
  const auto one = key_here(what, "");
  std::ofstream{folder.path() / "a.h"} << "2";
  EXPECT_NE(without, one);
  EXPECT_NE(one, key_here(what, ""));
  what.source = "#include NAME\n";
  EXPECT_FALSE(key_here(what, ""));
}

// A source with its header in two folders.
request in_folder(const test::temporary_folder& folder, const char* header) {
  std::ofstream{folder.path() / "a.h"} << header;
  request what;
  what.source = "#include \"a.h\"\n";
  what.name = folder.path() / "source.cu";
  what.include_paths = {folder.path()};
  return what;
}

TEST(CacheKey, AKeyForAnyFolderDependsOnNoFolder) {
  const test::temporary_folder first;
  const test::temporary_folder second;
  const cache_keys keys = *keys_of(in_folder(first, "int a;"), "");
  const cache_keys moved = *keys_of(in_folder(second, "int a;"), "");
  EXPECT_EQ(keys.any_folder, moved.any_folder);
  EXPECT_NE(keys.this_folder, moved.this_folder);
  EXPECT_NE(keys.any_folder, keys_of(in_folder(second, "int b;"), "")->any_folder);
}

TEST(CacheKey, AResultThatContainsFileNamesIsForItsFolderOnly) {
  const test::temporary_folder folder;
  for (const char* const header :
       {"const char* file = __FILE__;", "void f() { assert(false); }", "std::source_location l;"}) {
    const cache_keys keys = *keys_of(in_folder(folder, header), "");
    EXPECT_EQ(keys.any_folder, keys.this_folder) << header;
  }
  request what = in_folder(folder, "int a;");
  what.line_info = true;
  EXPECT_EQ(keys_of(what, "")->any_folder, keys_of(what, "")->this_folder);
}

// The files are named in each way that the compiler accepts.
TEST(CacheKey, TheKeyDependsOnFilesNamedByOptionsAndEnvironment) {
  const test::temporary_folder folder;
  const auto changes_with_the_file = [&](const request& what) {
    std::ofstream{folder.path() / "a.h"} << "1";
    const auto one = key_here(what, "");
    std::ofstream{folder.path() / "a.h"} << "2";
    return one != key_here(what, "");
  };
  request what;
  what.source = "\xEF\xBB\xBF#include \"a.h\"\n";
  EXPECT_FALSE(changes_with_the_file(what));
  ::setenv("CPLUS_INCLUDE_PATH", ("/nowhere:" + folder.path().string()).c_str(), 1);
  EXPECT_TRUE(changes_with_the_file(what));
  ::unsetenv("CPLUS_INCLUDE_PATH");
  what.extra = {"-I" + folder.path().string()};
  EXPECT_TRUE(changes_with_the_file(what));
  what.extra = {"--include-path=" + folder.path().string()};
  EXPECT_TRUE(changes_with_the_file(what));
  for (const char* const option :
       {"-I", "-include", "-isystem", "-iquote", "@options", "--pre-include=a.h"}) {
    what.extra = {option, folder.path()};
    EXPECT_FALSE(key_here(what, "")) << option;
  }
  what.extra = {};
  what.source = "#include <" + (folder.path() / "a.h").string() + ">\n";
  EXPECT_TRUE(changes_with_the_file(what));
}

// The environment belongs to the process, so this test changes and restores it.
TEST(CacheEnvironment, TheEnvironmentNamesTheCacheFolder) {
  const test::temporary_folder folder;
  const std::string path = folder.path();
  const auto saved = [](const char* name) -> std::optional<std::string> {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>{value};
  };
  const auto set = [](const char* name, const std::optional<std::string>& value) {
    value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
  };
  const auto cache = saved("WEIR_CACHE");
  const auto xdg = saved("XDG_CACHE_HOME");

  set("WEIR_CACHE", path);
  set("XDG_CACHE_HOME", path + "/xdg");
  EXPECT_EQ(disk_cache::of_environment()->folder(), path);
  set("WEIR_CACHE", std::nullopt);
  EXPECT_EQ(disk_cache::of_environment()->folder(), path + "/xdg/weir");
  set("XDG_CACHE_HOME", "relative");
  if (std::getenv("HOME") != nullptr) {
    EXPECT_EQ(disk_cache::of_environment()->folder(),
              std::string{std::getenv("HOME")} + "/.cache/weir");
  }

  request what;
  what.source = "int a;";
  int compiled = 0;
  const auto ask = [&] {
    return cached(what, "compiler", [&] {
      ++compiled;
      return some_product();
    });
  };
  set("WEIR_CACHE", path);
  expect_same(ask(), some_product());
  expect_same(ask(), some_product());
  EXPECT_EQ(compiled, 1);
  for (const char* const off : {"0", "off"}) {
    set("WEIR_CACHE", off);
    EXPECT_FALSE(disk_cache::of_environment());
    expect_same(ask(), some_product());
  }
  EXPECT_EQ(compiled, 3);
  set("WEIR_CACHE", cache);
  set("XDG_CACHE_HOME", xdg);
}

}  // namespace
}  // namespace weir::compile
