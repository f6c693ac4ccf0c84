// api/graph/graph_cache.cpp - work that is captured at its first use, and replayed from then on.
#include <weir/graph/graph_cache.hpp>

#include "api/graph/cache_table.hpp"
#include "api/capture/capture_registry.hpp"
#include "api/capture/captures.hpp"
#include "api/core/check.hpp"
#include "api/device/context_number.hpp"
#include "api/deferred/kept_until_done.hpp"

#include <utility>

namespace weir {
namespace {

constexpr const char* this_call = "weir::graph_cache::run";

// Is that what weir or the driver answers to what cannot be captured, and works otherwise?
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

// Makes what the entry has into what the graph describes, or makes it anew.
struct made_exec {
  detail::owner_share exec;
  cache_use how = cache_use::captured;
};
made_exec make_exec(detail::cache_table::claim& claim, const graph& source, const instantiate_options& options,
                    call_site at) {
  made_exec made;
  if (detail::cached_exec* const before = claim.exec(); before != nullptr) {
    made.how = cache_use::remade;
    if (!claim.is_exec_in_use()) {
      try {
        if (before->held.update(source, at)) return {claim.share(), cache_use::updated};
      } catch (const error&) {  // a new one may do
        claim.drop_exec();
      }
    }
  }
  made.exec = detail::owner_share{*new detail::cached_exec{source.instantiate(options, at)}};
  return made;
}

}  // namespace

void cache_scope::keep_share(detail::owner_share owner, call_site at) {
  if (kept_ != nullptr) {
    kept_->keep(std::move(owner));
    return;
  }
  graph_ref graph = graph_;
  if (graph.get() == nullptr) {
    const detail::capture_part part = detail::capture_part_of(stream_.get(), at);
    if (part.status != abi::CU_STREAM_CAPTURE_STATUS_ACTIVE) {
      detail::fail(errc::stream_capture_invalidated, "weir::cache_scope::keep", stream_, at);
    }
    graph = graph_ref{part.graph};
  }
  graph.keep(std::move(owner), at);
}

namespace detail {

any_graph_cache::any_graph_cache(const graph_cache_options& options, call_site at)
    : capture_{options.capture}, instantiate_{options.instantiate} {
  constexpr const char* call = "weir::graph_cache";
  // An attempt to make an executable would refuse these too, and bodies would run without one for good.
  if (options.capacity == 0) fail(errc::invalid_value, call, "", "a cache has room for one key at least", at);
  if (!is_one(options.capture.mode)) {
    fail(errc::invalid_value, call, "", "the mode is none of capture_mode", at);
  }
  if (options.instantiate.auto_free_on_launch && options.instantiate.device_launch) {
    fail(errc::invalid_value, call, "", "a graph that the device launches cannot free on launch; choose one of the two",
         at);
  }
  instantiate_.upload_in.reset();
  table_ = new cache_table{options.capacity};
}

any_graph_cache::~any_graph_cache() { delete table_; }

void any_graph_cache::invalidate(const cache_key& key) { table_->invalidate(key); }
void any_graph_cache::erase(const cache_key& key) { table_->erase(key); }
void any_graph_cache::clear() noexcept { table_->clear(); }
graph_cache_counts any_graph_cache::counts() const noexcept { return table_->counts(); }
std::optional<error> any_graph_cache::last_failure() const { return table_->last_failure(); }

cache_use any_graph_cache::run(stream_ref stream, const cache_key& key, unsigned long long version, cache_body body,
                               call_site at) {
  CUstream const handle = usable(stream, this_call, at);
  const stream_place place = stream_place_of(handle, at);
  if (captures_open() || !place.owned) [[unlikely]] {
    if (capture_status_of(stream, at) != capture_status::none) return run_in_capture(stream, body);
  }
  const owner_share found = table_->find_ready(key, place.context, version);
  if (!found) [[unlikely]] {
    return run_anew(stream, key, place.context, version, body, at);
  }
  static_cast<const cached_exec*>(found.get())->held.launch(stream, at);
  return cache_use::replayed;
}

cache_use any_graph_cache::run_in_capture(stream_ref stream, cache_body body) {
  cache_scope scope{stream, graph_ref{nullptr}, nullptr};
  body.call(body.function, scope);
  table_->count(cache_use::recorded);
  return cache_use::recorded;
}

cache_use any_graph_cache::run_as_it_is(stream_ref stream, cache_body body, call_site at) {
  table_->count(cache_use::eager);
  kept_until_done kept{stream, at};
  cache_scope scope{stream, graph_ref{nullptr}, &kept};
  body.call(body.function, scope);
  return cache_use::eager;
}

cache_use any_graph_cache::run_anew(stream_ref stream, const cache_key& key, unsigned long long context,
                                    unsigned long long version, cache_body body, call_site at) {
  if (capture_status_of(stream, at) != capture_status::none) return run_in_capture(stream, body);  // begun past weir
  if (is_legacy(stream.get())) return run_as_it_is(stream, body, at);
  cache_table::found found = table_->find_or_claim(key, context, version);
  cache_use how = cache_use::replayed;
  if (found.mine != nullptr) {
    cache_table::claim claim{*table_, *found.mine};
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
      made_exec made = make_exec(claim, recorded, instantiate_, at);
      how = made.how;
      found.ready = claim.made(std::move(made.exec), version, how);
    } catch (const error& e) {
      // Nothing has been queued so far.
      const bool works_as_it_is =
          body_runs ? is_refusal_in_capture(e.result()) : e.result() != errc::stream_capture_unjoined;
      if (!works_as_it_is) throw;
      claim.broke(version, e);
    }
  }
  if (!found.ready) return run_as_it_is(stream, body, at);
  static_cast<const cached_exec*>(found.ready.get())->held.launch(stream, at);
  return how;
}

}  // namespace detail
}  // namespace weir
