// SPDX-License-Identifier: Apache-2.0
// harness/report.cpp - prints and writes outcomes.
#include "harness/report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace bench {
namespace {

std::string number(double value) {
  const double magnitude = std::abs(value);
  return fmt::format("{:.{}f}", value,
                     magnitude >= 100  ? 0
                     : magnitude >= 10 ? 1
                     : magnitude >= 2  ? 2
                                       : 3);
}

std::string budget_text(const outcome& o) {
  if (!o.has_budget()) return "-";
  return fmt::format("{} {:g}", o.what->better == better::less ? "<=" : ">=", o.budget);
}

std::string within_budget_text(const outcome& o) {
  const std::optional<bool> is_within_budget = o.is_within_budget();
  return !is_within_budget ? "-" : *is_within_budget ? "yes" : "NO";
}

template <class T>
nlohmann::ordered_json json_or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json{};
}

nlohmann::ordered_json json_of(const outcome& o) {
  nlohmann::ordered_json json{
      {"name", o.what->name},
      {"value", json_or_null(o.value)},
      {"unit", o.what->unit},
      {"budget", o.has_budget() ? nlohmann::ordered_json(o.budget) : nlohmann::ordered_json{}},
      {"better", o.what->better == better::less ? "less" : "more"},
      {"met", json_or_null(o.is_within_budget())},
      {"device", o.device},
  };
  if (!o.value) json["note"] = o.reason;
  return json;
}

}  // namespace

bool outcome::has_budget() const { return !std::isnan(budget); }

std::optional<bool> outcome::is_within_budget() const {
  if (!value || !has_budget()) return std::nullopt;
  return what->better == better::less ? *value <= budget : *value >= budget;
}

void print_head() {
  fmt::print("{:<34}{:>10} {:<22}{:>10}  {:<5}{}\n", "name", "value", "unit", "budget", "met",
             "device");
}

void print_line(const outcome& o) {
  fmt::print("{:<34}{:>10} {:<22}{:>10}  {:<5}{}\n", o.what->name, o.value ? number(*o.value) : "-",
             o.what->unit, budget_text(o), within_budget_text(o), o.value ? o.device : o.reason);
  std::fflush(stdout);
}

void write_json(const std::string& path, const std::vector<outcome>& outcomes) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const outcome& o : outcomes) list.push_back(json_of(o));
  std::ofstream file{path};
  file << list.dump(2) << '\n';
  file.close();
  if (!file) throw std::runtime_error{"cannot write '" + path + "'"};
}

}  // namespace bench
