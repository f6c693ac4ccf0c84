// SPDX-License-Identifier: Apache-2.0
// api/graph/graph_dot.cpp - a graph in the DOT format of the driver, with what weir stores about
// its nodes.
#include <weir/core/to_string.hpp>
#include <weir/graph/graph.hpp>

#include "api/core/atomic_file.hpp"
#include "api/core/check.hpp"
#include "api/graph/dot_attributes.hpp"
#include "api/graph/graph_checks.hpp"
#include "api/profiler/names.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <string>

namespace weir {

using detail::check;
using detail::driver;
using detail::require_open;
using detail::subject;

namespace {

constexpr const char* dot_call = "cuGraphDebugDotPrint";

// A file without a name in memory, to which the driver writes its description. It disappears when
// it is closed, even if the process crashes.
class anonymous_file {
 public:
  explicit anonymous_file(graph_ref g, call_site at)
      : descriptor_{::memfd_create("weir graph", MFD_CLOEXEC)} {
    if (descriptor_ < 0) {
      detail::throw_error(
          errc::operating_system, "memfd_create", to_string(g),
          "no temporary file for the description could be created; free memory or file "
          "descriptors",
          at);
    }
  }
  anonymous_file(const anonymous_file&) = delete;
  anonymous_file& operator=(const anonymous_file&) = delete;
  ~anonymous_file() { ::close(descriptor_); }

  [[nodiscard]] std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }
  [[nodiscard]] std::string text() const {
    struct ::stat status = {};
    if (::fstat(descriptor_, &status) != 0) return {};
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t have = 0;
    while (have < text.size()) {
      const ssize_t more =
          ::pread(descriptor_, text.data() + have, text.size() - have, static_cast<off_t>(have));
      if (more <= 0) break;
      have += static_cast<std::size_t>(more);
    }
    text.resize(have);
    return text;
  }

 private:
  int descriptor_;
};

std::string driver_dot(graph_ref g, unsigned flags, call_site at) {
  const anonymous_file file{g, at};
  check(driver().cuGraphDebugDotPrint(g.get(), file.path().c_str(), flags), dot_call,
        subject::graph(g.get()), at);
  return file.text();
}

}  // namespace

std::string graph_ref::dot(dot_detail details, call_site at) const {
  CUgraph_st* const handle = require_open(*this, dot_call, at);
  std::string text = driver_dot(*this, static_cast<unsigned>(details), at);
  const detail::dot_attributes attributes = detail::attributes_of_nodes(handle);
  if (attributes.empty() && detail::name_count.load(std::memory_order_relaxed) == 0) return text;
  constexpr unsigned handles = static_cast<unsigned>(dot_detail::handles) |
                               static_cast<unsigned>(dot_detail::event_parameters);
  const std::string statements =
      detail::attribute_statements(text, driver_dot(*this, handles, at), attributes);
  if (const std::size_t end = text.rfind('}'); end != std::string::npos)
    text.insert(end, statements);
  return text;
}

void graph_ref::write_dot(const std::string& path, dot_detail details, call_site at) const {
  detail::write_text_file(path, dot(details, at), "weir::graph_ref::write_dot",
                          subject::graph(handle_), at);
}

}  // namespace weir
