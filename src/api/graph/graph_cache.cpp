// SPDX-License-Identifier: Apache-2.0
// api/graph/graph_cache.cpp - captures work at its first use and replays it afterwards.
#include <weir/graph/graph_cache.hpp>

#include "api/capture/capture_begin.hpp"
#include "api/capture/capture_checks.hpp"
#include "api/capture/capture_registry.hpp"
#include "api/core/check.hpp"
#include "api/deferred/release_when_idle.hpp"
#include "api/device/context_id.hpp"
#include "api/graph/cache_table.hpp"
#include "api/graph/graph_checks.hpp"

#include <utility>

namespace weir {
namespace {

constexpr const char* run_call = "weir::graph_cache::run";

// Returns true if weir or the driver returns this code for a call that is forbidden in a capture
// but may be allowed outside.
bool is_refusal_in_capture(errc code) noexcept {
  switch (code) {
    case errc::stream_capture_unsupported:
    case errc::stream_capture_invalidated:
    case errc::stream_capture_merge:
    case errc::stream_capture_unmatched:
    case errc::stream_capture_isolation:
    case errc::stream_capture_implicit:
    case errc::stream_capture_wrong_thread:
    case errc::captured_event: return true;
    default: return false;
  }
}

// The result of make_exec().
struct exec_result {
  detail::keep_alive_ref exec;
  cache_use use = cache_use::captured;
};
// Updates the entry's executable to match the graph. If it has none, the update fails, or a launch
// uses it, instantiates a new executable.
exec_result make_exec(detail::cache_table::claim& claim, const graph& source,
                      const instantiate_options& options, call_site at) {
  exec_result result;
  if (detail::cached_exec* const previous = claim.exec(); previous != nullptr) {
    result.use = cache_use::reinstantiated;
    if (!claim.is_exec_in_use()) {
      try {
        if (previous->value.update(source, at)) return {claim.share(), cache_use::updated};
      } catch (const error&) {
        claim.drop_exec();  // after an unexpected error, it is not launched again
      }
    }
  }
  result.exec = detail::keep_alive_ref{*new detail::cached_exec{source.instantiate(options, at)}};
  return result;
}

}  // namespace

void cache_scope::keep_share(detail::keep_alive_ref owner, call_site at) {
  if (uses_ != nullptr) {
    uses_->keep(std::move(owner));
    return;
  }
  graph_ref graph = graph_;
  if (graph.get() == nullptr) {
    const detail::stream_capture_info part = detail::query_capture(stream_.get(), at);
    if (part.status != abi::CU_STREAM_CAPTURE_STATUS_ACTIVE) {
      detail::throw_error(errc::stream_capture_invalidated, "weir::cache_scope::keep", stream_, at);
    }
    graph = graph_ref{part.graph};
  }
  detail::keep_in_graph(graph.get(), std::move(owner), at);
}

namespace detail {

graph_cache_base::graph_cache_base(const graph_cache_options& options, call_site at)
    : capture_{options.capture}, instantiate_{options.instantiate} {
  constexpr const char* call = "weir::graph_cache";
  // Invalid options are refused here. Otherwise every instantiation would fail, and every body
  // would run without a graph.
  if (options.capacity == 0)
    throw_error(errc::invalid_value, call, "", "the capacity is 0; use at least 1", at);
  require_valid_mode(options.capture.mode, call, {}, at);
  require_valid_options(options.instantiate, call, {}, at);
  instantiate_.upload_in.reset();
  table_ = new cache_table{options.capacity};
}

graph_cache_base::~graph_cache_base() { delete table_; }

graph_cache_base& graph_cache_base::operator=(graph_cache_base&& other) noexcept {
  graph_cache_base replaced{std::move(other)};
  std::swap(capture_, replaced.capture_);
  std::swap(instantiate_, replaced.instantiate_);
  std::swap(table_, replaced.table_);
  return *this;
}

cache_table& graph_cache_base::table(call_site at) const {
  if (table_ == nullptr) [[unlikely]] {
    throw_error(errc::closed, "weir::graph_cache", {}, at);
  }
  return *table_;
}

void graph_cache_base::invalidate(const cache_key& key) { table({}).invalidate(key); }
void graph_cache_base::erase(const cache_key& key) { table({}).erase(key); }
void graph_cache_base::clear() noexcept {
  if (table_ != nullptr) table_->clear();
}
graph_cache_counts graph_cache_base::counts() const noexcept {
  return table_ != nullptr ? table_->counts() : graph_cache_counts{};
}
std::optional<error> graph_cache_base::last_failure() const {
  return table_ != nullptr ? table_->last_failure() : std::nullopt;
}

cache_use graph_cache_base::run(stream_ref stream, const cache_key& key, unsigned long long version,
                                cache_body body, call_site at) {
  CUstream const handle = require_open(stream, run_call, at);
  cache_table& executables = table(at);
  const stream_context identity = stream_context_of(handle, at);
  // No query is needed for a stream of weir while no capture through weir is open. Other code may
  // capture a stream that weir does not own.
  if (any_capture_active() || !identity.owned) [[unlikely]] {
    if (capture_status_of(stream, at) != capture_status::none) return run_in_capture(stream, body);
  }
  const keep_alive_ref found = executables.find_ready(key, identity.context, version);
  if (!found) [[unlikely]] {
    return capture_and_run(stream, key, identity.context, version, body, at);
  }
  static_cast<const cached_exec*>(found.get())->value.launch(stream, at);
  return cache_use::replayed;
}

cache_use graph_cache_base::run_in_capture(stream_ref stream, cache_body body) {
  cache_scope scope{stream, graph_ref{nullptr},
                    nullptr};  // keep() queries the driver for the graph
  body.call(body.function, scope);
  table_->record_use(cache_use::recorded);
  return cache_use::recorded;
}

cache_use graph_cache_base::run_eagerly(stream_ref stream, cache_body body, call_site at) {
  table_->record_use(cache_use::eager);
  keep_until_idle kept{stream, at};
  cache_scope scope{stream, graph_ref{nullptr}, &kept};
  body.call(body.function, scope);
  return cache_use::eager;
}

cache_use graph_cache_base::capture_and_run(stream_ref stream, const cache_key& key,
                                            unsigned long long context, unsigned long long version,
                                            cache_body body, call_site at) {
  if (capture_status_of(stream, at) != capture_status::none)
    return run_in_capture(stream, body);  // the capture was started directly through the driver
  if (is_legacy(stream.get())) return run_eagerly(stream, body, at);  // it cannot be captured
  cache_table::lookup_result found = table_->find_or_claim(key, context, version);
  cache_use use = cache_use::replayed;
  if (found.claimed != nullptr) {
    cache_table::claim claim{*table_, *found.claimed};
    bool body_runs = false;
    try {
      const graph recorded = [&] {
        scoped_capture running{stream, capture_, at};
        cache_scope scope{stream, running.in_progress(), nullptr};
        body_runs = true;
        body.call(body.function, scope);
        body_runs = false;
        return running.finish();
      }();
      exec_result result = make_exec(claim, recorded, instantiate_, at);
      use = result.use;
      found.ready = claim.store_exec(std::move(result.exec), version, use);
    } catch (const error& e) {
      // No work was queued so far, so the body can run again without a graph. An error of the body
      // itself permits that only if it is a refusal in a capture. A failed begin or end of the
      // capture, or a failed instantiation, permits it, too. The exception is a stream that the
      // body left unjoined: running the body again would hide that mistake.
      const bool can_run_eagerly = body_runs ? is_refusal_in_capture(e.result())
                                             : e.result() != errc::stream_capture_unjoined;
      if (!can_run_eagerly) throw;
      claim.record_failure(version, e);
    }
  }
  if (!found.ready) return run_eagerly(stream, body, at);
  static_cast<const cached_exec*>(found.ready.get())->value.launch(stream, at);
  return use;
}

}  // namespace detail
}  // namespace weir
