// SPDX-License-Identifier: Apache-2.0
// compile/cache/cache.hpp - what was compiled once, kept on disk.
#pragma once

#include "compile/request.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace weir::compile {

// The keys under which a result may be stored. They are equal if the result contains names of files
// with their folders, by __FILE__, assert or line numbers.
struct cache_keys {
  std::string any_folder;   // the result does not depend on the folders of the source and its files
  std::string this_folder;  // the result has warnings, which name files with their folders
};

// Returns the keys for a request and the identity of a compiler. Returns nothing if only a
// preprocessor could find the included files.
[[nodiscard]] std::optional<cache_keys> keys_of(const request& what, std::string_view compiler);

// A folder with a file for each product, under its key. Several processes may use one: a file is
// written under another name and renamed when it is whole, and one that is not what it was when it
// was written is made anew. Files of other users are not read. What cannot be read or written is as
// if it were not there.
class disk_cache {
 public:
  static constexpr std::uint64_t usual_limit = std::uint64_t{512} << 20;

  // With more than `limit` bytes in it, those go that were not used for longest, down to nine
  // tenths of it.
  explicit disk_cache(std::string folder, std::uint64_t limit = usual_limit);

  // The one of the environment: WEIR_CACHE names the folder, 0 or off is none; else
  // $XDG_CACHE_HOME/weir, else
  // ~/.cache/weir.
  [[nodiscard]] static std::optional<disk_cache> of_environment();

  [[nodiscard]] std::optional<product> find(const std::string& key) const;
  void put(const std::string& key, const product& what) const noexcept;

  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }

 private:
  void evict() const;

  std::string folder_;
  std::uint64_t limit_;
};

// From the cache of the environment if it is there, else make(), which is put there.
[[nodiscard]] product cached(const request& what, std::string_view compiler,
                             const std::function<product()>& make);

}  // namespace weir::compile
