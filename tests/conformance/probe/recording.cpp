// SPDX-License-Identifier: Apache-2.0
// probe/recording.cpp - the lines of an earlier run, and the differences to them.
#include "probe/recording.hpp"

#include "probe/cases.hpp"
#include "probe/options.hpp"

#include <cstdio>
#include <fstream>
#include <utility>

namespace weir::conformance {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

Values compared_values(const std::vector<std::string>& words) {
  Values v;
  for (const std::string& w : words) {
    if (w.empty() || w[0] == '~') continue;
    const size_t e = w.find('=');
    v.push_back({w.substr(0, e), e == std::string::npos ? "(set)" : w.substr(e + 1)});
  }
  return v;
}

// Returns one line for each value that differs.
std::vector<std::string> differences(Values want, const Values& have) {
  std::map<std::string, std::string> got(have.begin(), have.end()),
      expected(want.begin(), want.end());
  if (!want.empty() && want.back().first == "crash" && !got.count("crash")) {
    want.pop_back();
    expected.erase("crash");
    for (const auto& [k, v] : have)
      if (!expected.count(k)) got.erase(k);
  }
  std::vector<std::string> lines;
  for (const auto& [k, v] : want) {
    const auto g = got.find(k);
    const std::string here = g == got.end() ? "(absent)" : g->second;
    if (here != v) lines.push_back(k + ": recorded " + v + ", here " + here);
  }
  for (const auto& [k, v] : have)
    if (!expected.count(k) && got.count(k)) lines.push_back(k + ": recorded (absent), here " + v);
  return lines;
}

}  // namespace

bool read_recording(const std::string& path, Recording* out) {
  std::ifstream in(path);
  if (!in) {
    fprintf(stderr, "cannot read %s\n", path.c_str());
    return false;
  }
  for (std::string line; std::getline(in, line);) {
    const size_t tab = line.find('\t');
    if (tab != std::string::npos && line[0] != '#')
      (*out)[line.substr(0, tab)] = split(line.substr(tab + 1), ' ');
  }
  return true;
}

bool is_complete(const std::vector<std::string>& words) {
  for (const std::string& w : words) {
    if (w == "timeout" || w == "watchdog=fired" || w == "spawn_failed" || w == "crash=SIGKILL")
      return false;
    for (const char* unfinished : {"skipped=", "setup=", "stopped_at=", "exception=", "crash=exit"})
      if (w.starts_with(unfinished)) return false;
  }
  return !words.empty();
}

int compare_with(const std::string& path, const Run& run) {
  Recording recording;
  if (!read_recording(path, &recording)) return 2;
  size_t same = 0, differ = 0, unknown = 0, alone = 0, values = 0, bad = 0;
  for (size_t i : run.selected) {
    const std::string& name = cases()[i].name;
    const auto recorded = recording.find(name);
    if (run.results[i].kv == std::vector<std::string>{kOneDevice}) {
      alone++;
      continue;
    }
    if (recorded == recording.end()) {
      unknown++;
      continue;
    }
    std::vector<std::string> words = run.results[i].kv;
    if (!run.results[i].outcome.empty()) words.push_back(run.results[i].outcome);
    const Values want = compared_values(recorded->second);
    const std::vector<std::string> lines = differences(want, compared_values(words));
    values += want.size();
    bad += lines.size();
    (lines.empty() ? same : differ)++;
    if (lines.empty()) continue;
    puts(name.c_str());
    for (const std::string& line : lines) printf("    %s\n", line.c_str());
  }
  printf(
      "# same %zu  differ %zu  not recorded %zu  without a second device %zu  (values: %zu, of "
      "which %zu differ)\n",
      same, differ, unknown, alone, values, bad);
  return differ ? 1 : 0;
}

}  // namespace weir::conformance
