// api/graph/graph_dot.cpp - the driver's own description of a graph.
#include <weir/graph/graph.hpp>
#include <weir/core/to_string.hpp>

#include "api/core/check.hpp"
#include "api/graph/graph_use.hpp"
#include "api/core/whole_file.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <string>

namespace weir {

using detail::check;
using detail::driver;
using detail::subject;
using detail::usable;

namespace {

// A file without a name: nothing is left of it, whatever happens.
class nameless_file {
 public:
  explicit nameless_file(graph_ref g, call_site at) : descriptor_{::memfd_create("weir graph", MFD_CLOEXEC)} {
    if (descriptor_ < 0) {
      detail::fail(errc::operating_system, "memfd_create", to_string(g), "there is no file for the description", at);
    }
  }
  nameless_file(const nameless_file&) = delete;
  nameless_file& operator=(const nameless_file&) = delete;
  ~nameless_file() { ::close(descriptor_); }

  [[nodiscard]] std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }
  [[nodiscard]] std::string text() const {
    struct ::stat facts = {};
    if (::fstat(descriptor_, &facts) != 0) return {};
    std::string text(static_cast<std::size_t>(facts.st_size), '\0');
    std::size_t have = 0;
    while (have < text.size()) {
      const ssize_t more = ::pread(descriptor_, text.data() + have, text.size() - have, static_cast<off_t>(have));
      if (more <= 0) break;
      have += static_cast<std::size_t>(more);
    }
    text.resize(have);
    return text;
  }

 private:
  int descriptor_;
};

}  // namespace

std::string graph_ref::dot(dot_detail tell, call_site at) const {
  constexpr const char* call = "cuGraphDebugDotPrint";
  CUgraph_st* const handle = usable(*this, call, at);
  const nameless_file file{*this, at};
  check(driver().cuGraphDebugDotPrint(handle, file.path().c_str(), static_cast<unsigned>(tell)), call,
        subject::graph(handle), at);
  return file.text();
}

void graph_ref::write_dot(const std::string& path, dot_detail tell, call_site at) const {
  detail::write_text(path, dot(tell, at), "weir::graph_ref::write_dot", subject::graph(handle_), at);
}

}  // namespace weir
