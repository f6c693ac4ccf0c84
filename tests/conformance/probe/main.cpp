// SPDX-License-Identifier: Apache-2.0
// probe/main.cpp - records the answers of a CUDA driver for every rule of streams, events, capture,
// graphs and memory. See README.md for the format and rules.md for the rules.
#include "probe/driver.hpp"
#include "probe/groups.hpp"
#include "probe/process/child.hpp"
#include "probe/process/ipc_peer.hpp"
#include "probe/record.hpp"
#include "probe/recording.hpp"

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <set>

namespace weir::conformance {
namespace {

bool names_are_unique() {
  std::set<std::string> names;
  for (const Case& c : cases()) {
    if (names.insert(c.name).second) continue;
    fprintf(stderr, "two cases are named %s\n", c.name.c_str());
    return false;
  }
  return true;
}

int list_cases(const Options& options) {
  for (const Case& c : cases())
    if (options.selects(c.name)) puts(c.name.c_str());
  return 0;
}

int list_groups(const Options& options) {
  std::vector<std::pair<std::string, int>> count;
  int all = 0;
  for (const Case& c : cases()) {
    if (!options.selects(c.name)) continue;
    const std::string prefix = group_of(c.name);
    auto group = count.begin();
    while (group != count.end() && group->first != prefix) ++group;
    if (group == count.end()) group = count.insert(count.end(), {prefix, 0});
    group->second++;
    all++;
  }
  for (const auto& [name, n] : count) printf("%s\t%d\n", name.c_str(), n);
  printf("all\t%d\n", all);
  return 0;
}

// Prints values as they are recorded; no time limit, no isolation.
int run_in_process(const Options& options) {
  child_environment(false);
  protocol_to(STDOUT_FILENO);
  std::string why;
  if (!load_library(&why)) {
    fprintf(stderr, "probe: %s\n", why.c_str());
    return 2;
  }
  bool set_up = false;
  for (const Case& c : cases()) {
    if (!options.selects(c.name)) continue;
    if (!(c.flags & RAW) && !set_up) {
      try {
        child_setup();
      } catch (const Abort& a) {
        fprintf(stderr, "setup: %s\n", a.what.c_str());
        return 3;
      }
      child_warm_up();
      set_up = true;
    }
    prepare_case(c);
    printf("%s\n", c.name.c_str());
    fflush(stdout);
    run_case(c, set_up, kWatchdogLimit);
    if (set_up) printf("healthy=%d\n", is_reusable() ? 1 : 0);
    fflush(stdout);
  }
  _exit(0);
}

int record(const Options& options) {
  Recording earlier;
  if (!options.resume.empty() && !read_recording(options.resume, &earlier)) return 2;
  FILE* out = options.compare.empty() ? stdout : nullptr;
  if (!options.out.empty() && !(out = fopen(options.out.c_str(), "w"))) {
    fprintf(stderr, "cannot write %s\n", options.out.c_str());
    return 2;
  }
  if (!dlopen(library_name().c_str(), RTLD_LAZY | RTLD_LOCAL)) {
    fprintf(stderr, "probe: %s\n", dlerror());
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  Run run(options, out);
  for (size_t i : run.selected) {
    const std::string& name = cases()[i].name;
    const auto line = earlier.find(name);
    bool again = line == earlier.end() || !is_complete(line->second);
    for (const std::string& part : options.again)
      again = again || name.find(part) != std::string::npos;
    if (again) continue;
    run.results[i].kv = line->second;
    run.results[i].done = true;
  }
  run.all();
  run.summary();
  if (out && out != stdout) fclose(out);
  return options.compare.empty() ? 0 : compare_with(options.compare, run);
}

int probe_main(int argc, char** argv) {
  Options options;
  int status = 0;
  if (!parse(argc, argv, &options, &status)) return status;
  make_cases();
  switch (options.mode) {
    case Options::Mode::child: return child_main(options.cases, options.watchdog_limit);
    case Options::Mode::keeper: return device_keeper_main();
    case Options::Mode::ipc_peer: return ipc_peer_main();
    case Options::Mode::list: return names_are_unique() ? list_cases(options) : 2;
    case Options::Mode::groups: return list_groups(options);
    case Options::Mode::in_process: return run_in_process(options);
    case Options::Mode::record: return names_are_unique() ? record(options) : 2;
  }
  return 2;
}

}  // namespace
}  // namespace weir::conformance

int main(int argc, char** argv) { return weir::conformance::probe_main(argc, argv); }
