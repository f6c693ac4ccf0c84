// SPDX-License-Identifier: Apache-2.0
// api/stream/stream_attributes.cpp - attributes of streams; one driver call each.
#include <weir/core/error.hpp>
#include <weir/device/context.hpp>
#include <weir/stream/stream_attributes.hpp>

#include "api/core/check.hpp"
#include "api/device/primary_context.hpp"
#include "api/stream/stream_state.hpp"

#include <algorithm>
#include <new>

namespace weir {
namespace {

using abi::CUstreamAttrValue;
using detail::driver;

constexpr const char* get_call = "cuStreamGetAttribute";
constexpr const char* set_attribute_call = "cuStreamSetAttribute";

// The texts for an attribute: its name in stream_settings, and a hint about the values that a
// driver accepts.
struct attribute_texts {
  abi::CUstreamAttrID attribute_id;
  const char* name;
  const char* limits;
};
constexpr attribute_texts texts_by_attribute[] = {
    {abi::CU_LAUNCH_ATTRIBUTE_PRIORITY, "attribute priority", ""},
    {abi::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, "attribute sync_policy",
     "the policy is not supported; use automatic, spin, yield or block"},
    {abi::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, "attribute access_window",
     "the window is invalid; use a hit ratio from 0 to 1, a miss property other than "
     "persisting, and at most device_attribute::max_access_window_bytes"},
    {abi::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, "attribute sync_domain",
     "the domain is not supported; use standard or remote"},
    {abi::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, "attribute sync_domain_map",
     "a domain number is too large; use numbers below "
     "device_attribute::sync_domain_count"},
};

void check_attribute(abi::CUresult answer, const char* call, stream_ref stream,
                     abi::CUstreamAttrID attribute_id, call_site at) {
  if (answer == abi::CUDA_SUCCESS) return;
  const attribute_texts* const texts =
      std::ranges::find(texts_by_attribute, attribute_id, &attribute_texts::attribute_id);
  const char* const limits = answer == abi::CUDA_ERROR_INVALID_VALUE ? texts->limits : "";
  detail::throw_for_part(answer, call, stream, {texts->name, limits}, at);
}

CUstreamAttrValue get_attribute(stream_ref stream, abi::CUstreamAttrID attribute_id, call_site at) {
  CUstreamAttrValue value{};
  check_attribute(driver().cuStreamGetAttribute(detail::require_open(stream, get_call, at),
                                                attribute_id, &value),
                  get_call, stream, attribute_id, at);
  return value;
}

void set_value(stream_ref stream, abi::CUstreamAttrID attribute_id, const CUstreamAttrValue& value,
               call_site at) {
  check_attribute(driver().cuStreamSetAttribute(
                      detail::require_open(stream, set_attribute_call, at), attribute_id, &value),
                  set_attribute_call, stream, attribute_id, at);
}

// The old values of changed attributes, to be restored if a later change fails.
class attribute_rollback {
 public:
  explicit attribute_rollback(stream_ref stream) noexcept : stream_{stream} {}

  // Stores the old value of an attribute that was changed.
  void add(abi::CUstreamAttrID attribute_id, const CUstreamAttrValue& previous) noexcept {
    changes_[count_++] = {attribute_id, previous};
  }

  // Restores all changed attributes in reverse order. Allocates no memory, because a lack of memory
  // may be the first failure.
  void restore() noexcept {
    for (int i = count_; i-- > 0;) {
      change& c = changes_[i];
      c.answer = driver().cuStreamSetAttribute(stream_.get(), c.attribute_id, &c.previous);
      const bool priority = c.attribute_id == abi::CU_LAUNCH_ATTRIBUTE_PRIORITY;
      if (priority && c.answer == abi::CUDA_SUCCESS)
        detail::remember_priority(stream_.get(), c.previous.priority);
    }
  }

  // Attaches the failures of restore() to the first failure, if there is memory for it.
  void attach_failures(error& first, call_site at) const noexcept {
    try {
      for (int i = count_; i-- > 0;) {
        try {
          check_attribute(changes_[i].answer, set_attribute_call, stream_, changes_[i].attribute_id,
                          at);
        } catch (const error& second) {
          first.attach(second);
        }
      }
    } catch (const std::bad_alloc&) {
    }
  }
  // Reports the failures of restore() if the first failure is not a weir::error.
  void report_failures() const noexcept {
    for (int i = count_; i-- > 0;)
      detail::report_if_failed(changes_[i].answer, set_attribute_call, stream_);
  }

 private:
  struct change {
    abi::CUstreamAttrID attribute_id = abi::CU_LAUNCH_ATTRIBUTE_PRIORITY;
    CUstreamAttrValue previous{};
    abi::CUresult answer = abi::CUDA_SUCCESS;
  };
  stream_ref stream_;
  change changes_[5];
  int count_ = 0;
};

}  // namespace

int stream_attributes::priority(call_site at) const {
  return get_attribute(stream_, abi::CU_LAUNCH_ATTRIBUTE_PRIORITY, at).priority;
}

void stream_attributes::set_priority(int priority, call_site at) const {
  detail::require_open(stream_, set_attribute_call, at);
  const context_ref context = stream_.context(at);
  detail::check_priority(context.device(at), context.get(), priority, set_attribute_call, at);
  set_value(stream_, abi::CU_LAUNCH_ATTRIBUTE_PRIORITY, {.priority = priority}, at);
  detail::remember_priority(stream_.get(), priority);
}

weir::sync_policy stream_attributes::sync_policy(call_site at) const {
  return static_cast<weir::sync_policy>(
      get_attribute(stream_, abi::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, at).syncPolicy);
}

void stream_attributes::set_sync_policy(weir::sync_policy policy, call_site at) const {
  set_value(stream_, abi::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
            {.syncPolicy = static_cast<abi::CUsynchronizationPolicy>(policy)}, at);
}

weir::access_window stream_attributes::access_window(call_site at) const {
  const abi::CUaccessPolicyWindow window =
      get_attribute(stream_, abi::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, at).accessPolicyWindow;
  return {window.base_ptr, window.num_bytes, window.hitRatio,
          static_cast<cache_hint>(window.hitProp), static_cast<cache_hint>(window.missProp)};
}

void stream_attributes::set_access_window(const weir::access_window& window, call_site at) const {
  set_value(stream_, abi::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
            {.accessPolicyWindow = {window.base, window.bytes, window.hit_ratio,
                                    static_cast<abi::CUaccessProperty>(window.hit),
                                    static_cast<abi::CUaccessProperty>(window.miss)}},
            at);
}

weir::sync_domain stream_attributes::sync_domain(call_site at) const {
  return static_cast<weir::sync_domain>(
      get_attribute(stream_, abi::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, at).memSyncDomain);
}

void stream_attributes::set_sync_domain(weir::sync_domain domain, call_site at) const {
  set_value(stream_, abi::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
            {.memSyncDomain = static_cast<abi::CUlaunchMemSyncDomain>(domain)}, at);
}

weir::sync_domain_map stream_attributes::sync_domain_map(call_site at) const {
  const abi::CUlaunchMemSyncDomainMap map =
      get_attribute(stream_, abi::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, at).memSyncDomainMap;
  return {map.default_, map.remote};
}

void stream_attributes::set_sync_domain_map(weir::sync_domain_map map, call_site at) const {
  set_value(stream_, abi::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
            {.memSyncDomainMap = {map.standard, map.remote}}, at);
}

void stream_attributes::set(const stream_settings& settings, call_site at) const {
  attribute_rollback rollback{stream_};
  const auto change = [&](abi::CUstreamAttrID attribute_id, const auto& setting, auto setter) {
    if (!setting) return;
    const CUstreamAttrValue previous = get_attribute(stream_, attribute_id, at);
    (this->*setter)(*setting, at);
    rollback.add(attribute_id, previous);
  };
  try {
    change(abi::CU_LAUNCH_ATTRIBUTE_PRIORITY, settings.priority, &stream_attributes::set_priority);
    change(abi::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, settings.access_window,
           &stream_attributes::set_access_window);
    change(abi::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, settings.sync_domain,
           &stream_attributes::set_sync_domain);
    change(abi::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, settings.sync_domain_map,
           &stream_attributes::set_sync_domain_map);
    // The policy is set last, so that it need not be restored: a driver cannot restore a policy
    // that was never set.
    change(abi::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, settings.sync_policy,
           &stream_attributes::set_sync_policy);
  } catch (error& first) {
    rollback.restore();
    rollback.attach_failures(first, at);
    throw;
  } catch (...) {
    rollback.restore();
    rollback.report_failures();
    throw;
  }
}

void stream_attributes::copy_from(stream_ref source, call_site at) const {
  constexpr const char* call = "cuStreamCopyAttributes";
  CUstream_st* const target = detail::require_open(stream_, call, at);
  // The copy does not report the copied priority, so the priority of the source is queried.
  const bool is_owned = detail::find_stream_properties(target).has_value();
  const int priority = is_owned ? stream_attributes{source}.priority(at) : 0;
  detail::check(driver().cuStreamCopyAttributes(target, detail::require_open(source, call, at)),
                call, stream_, at);
  if (is_owned) detail::remember_priority(target, priority);
}

stream make_stream(device gpu, const stream_options& options, const stream_settings& settings,
                   call_site at) {
  stream result{gpu, options, at};
  stream_attributes{result}.set(settings, at);
  return result;
}

stream make_stream(context_ref context, const stream_options& options,
                   const stream_settings& settings, call_site at) {
  stream result{context, options, at};
  stream_attributes{result}.set(settings, at);
  return result;
}

}  // namespace weir
