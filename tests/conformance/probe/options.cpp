// SPDX-License-Identifier: Apache-2.0
// probe/options.cpp - parses the command line.
#include "probe/options.hpp"

#include "probe/images.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>

namespace weir::conformance {
namespace {

void usage() {
  puts(
      "probe [options]   records what the CUDA driver does, one line a case\n"
      "  --list            the names of the selected cases\n"
      "  --groups          the groups and how many cases each has\n"
      "  --filter=A,B      only cases whose name contains A or B\n"
      "  --skip=P,Q        not the cases whose name begins with P or Q (--skip=kernel. where there "
      "is no GPU)\n"
      "  --case=NAME       only this case\n"
      "  --out=FILE        write the lines to FILE, not to stdout\n"
      "  --compare=FILE    print how the run differs from the lines in FILE, not the lines; 1 if "
      "it differs\n"
      "  --resume=FILE     take the lines of the cases that FILE has whole, run only the others\n"
      "  --again=A,B       with --resume: run the cases whose name contains A or B all the same\n"
      "  --jobs=N          N children at a time (1: the default, and the one to record with): one "
      "for the groups,\n"
      "                    the others for the cases that have a process of their own; kernel. runs "
      "last, alone\n"
      "  --no-device       the processes share no device: all N take groups, and a late case is "
      "not repeated\n"
      "  --timeout=S       seconds a case may take (10); three times that where contexts are made "
      "or destroyed\n"
      "  --budget=S        seconds the whole run may take; later cases print skipped=budget (290)\n"
      "  --images=DIR      load the images in DIR (*.image) where cases load PTX\n"
      "  --inline          run the selected cases in this process, for a debugger\n"
      "  --no-keeper       do not hold the device open beside the run\n"
      "  --verbose         say on stderr when a child is restarted, and which cases were slow\n"
      "The library is libcuda.so.1, or the file named by WEIR_LIBCUDA.");
}

bool any_of(const std::vector<std::string>& parts, auto&& matches) {
  return std::any_of(parts.begin(), parts.end(), matches);
}

}  // namespace

bool Options::selects(const std::string& name) const {
  if (!exact.empty() && name != exact) return false;
  const auto contained = [&](const std::string& part) {
    return name.find(part) != std::string::npos;
  };
  const auto begins = [&](const std::string& prefix) { return name.starts_with(prefix); };
  return (filter.empty() || any_of(filter, contained)) && !any_of(skip, begins);
}

bool parse(int argc, char** argv, Options* options, int* status) {
  Options& o = *options;
  using Mode = Options::Mode;
  // An option whose name ends in '=' takes a value.
  const std::vector<std::pair<std::string, std::function<void(const char*)>>> known = {
      {"--list", [&](const char*) { o.mode = Mode::list; }},
      {"--groups", [&](const char*) { o.mode = Mode::groups; }},
      {"--inline", [&](const char*) { o.mode = Mode::in_process; }},
      {"--filter=", [&](const char* v) { o.filter = split(v); }},
      {"--skip=", [&](const char* v) { o.skip = split(v); }},
      {"--case=", [&](const char* v) { o.exact = v; }},
      {"--out=", [&](const char* v) { o.out = v; }},
      {"--compare=", [&](const char* v) { o.compare = v; }},
      {"--resume=", [&](const char* v) { o.resume = v; }},
      {"--again=", [&](const char* v) { o.again = split(v); }},
      {"--images=", [&](const char* v) { set_images(v); }},
      {"--jobs=", [&](const char* v) { o.jobs = std::max(1, atoi(v)); }},
      {"--timeout=", [&](const char* v) { o.case_limit = std::max(1.0, atof(v)); }},
      {"--budget=", [&](const char* v) { o.budget = atof(v); }},
      {"--no-device", [&](const char*) { o.device = o.keeper = false; }},
      {"--no-keeper", [&](const char*) { o.keeper = false; }},
      {"--verbose", [&](const char*) { o.verbose = true; }},
      // These options are for the probe's own child processes.
      {"--keeper", [&](const char*) { o.mode = Mode::keeper; }},
      {"--ipc-peer", [&](const char*) { o.mode = Mode::ipc_peer; }},
      {"--patience=", [&](const char* v) { o.watchdog_limit = atof(v); }},
      {"--child=",
       [&](const char* v) {
         o.mode = Mode::child;
         for (const std::string& index : split(v))
           o.cases.push_back(strtoul(index.c_str(), nullptr, 10));
       }},
  };
  for (int i = 1; i < argc; i++) {
    const std::string a = argv[i];
    const auto option = std::find_if(known.begin(), known.end(), [&](const auto& k) {
      return k.first.ends_with('=') ? a.starts_with(k.first) : a == k.first;
    });
    if (option == known.end()) {
      usage();
      *status = a == "--help" || a == "-h" ? 0 : 2;
      return false;
    }
    option->second(argv[i] + option->first.size());
  }
  return true;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace weir::conformance
