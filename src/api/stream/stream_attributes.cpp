// api/stream/stream_attributes.cpp - the attributes of streams, one driver call each.
#include <weir/core/error.hpp>
#include <weir/device/context.hpp>
#include <weir/stream/stream_attributes.hpp>

#include "api/core/check.hpp"
#include "api/core/error_part.hpp"
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

// Their names in stream_settings, and what a driver lets them be.
struct attribute_texts {
  abi::CUstreamAttrID which;
  const char* name;
  const char* limits;
};
constexpr attribute_texts words[] = {
    {abi::CU_LAUNCH_ATTRIBUTE_PRIORITY, "attribute priority", ""},
    {abi::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, "attribute sync_policy",
     "it can be set to automatic, spin, yield or block"},
    {abi::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, "attribute access_window",
     "its hit ratio is from 0 to 1, what misses cannot persist, and it is no larger than "
     "device_attribute::max_access_window_bytes"},
    {abi::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, "attribute sync_domain",
     "it can be standard or remote"},
    {abi::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, "attribute sync_domain_map",
     "its numbers are less than device_attribute::sync_domain_count"},
};

detail::error_part attribute(abi::CUstreamAttrID which, abi::CUresult answer) {
  const attribute_texts* const of = std::ranges::find(words, which, &attribute_texts::which);
  return {of->name, answer == abi::CUDA_ERROR_INVALID_VALUE ? of->limits : ""};
}

void check_attribute(abi::CUresult answer, const char* call, stream_ref stream,
                     abi::CUstreamAttrID which, call_site at) {
  detail::check_part(answer, call, stream, at, [=] { return attribute(which, answer); });
}

CUstreamAttrValue get(stream_ref stream, abi::CUstreamAttrID which, call_site at) {
  CUstreamAttrValue value{};
  check_attribute(
      driver().cuStreamGetAttribute(detail::require_open(stream, get_call, at), which, &value),
      get_call, stream, which, at);
  return value;
}

void put(stream_ref stream, abi::CUstreamAttrID which, const CUstreamAttrValue& value,
         call_site at) {
  check_attribute(driver().cuStreamSetAttribute(
                      detail::require_open(stream, set_attribute_call, at), which, &value),
                  set_attribute_call, stream, which, at);
}

CUstreamAttrValue value_of(const access_window& window) noexcept {
  CUstreamAttrValue value{};
  value.accessPolicyWindow = {window.base, window.bytes, window.hit_ratio,
                              static_cast<abi::CUaccessProperty>(window.hit),
                              static_cast<abi::CUaccessProperty>(window.miss)};
  return value;
}

// What was set, to be set back if what comes after fails.
class attribute_rollback {
 public:
  explicit attribute_rollback(stream_ref stream) noexcept : stream_{stream} {}

  // Before the attribute changes, and when it has.
  void remember(abi::CUstreamAttrID which, call_site at) {
    changes_[count_] = {which, get(stream_, which, at)};
  }
  void changed() noexcept { ++count_; }

  // Sets all back, in reverse, which takes no memory: it may be what lacks.
  void restore() noexcept {
    for (int i = count_; i-- > 0;) {
      change& c = changes_[i];
      c.answer = driver().cuStreamSetAttribute(stream_.get(), c.which, &c.before);
      const bool priority = c.which == abi::CU_LAUNCH_ATTRIBUTE_PRIORITY;
      if (priority && c.answer == abi::CUDA_SUCCESS)
        detail::remember_priority(stream_.get(), c.before.priority);
    }
  }

  // What could not be set back stays as it is, and is attached to what failed first, where there is
  // memory to say so.
  void attach_failures(error& first, call_site at) const noexcept {
    try {
      for (int i = count_; i-- > 0;) {
        try {
          check_attribute(changes_[i].answer, set_attribute_call, stream_, changes_[i].which, at);
        } catch (const error& second) {
          first.attach(second);
        }
      }
    } catch (const std::bad_alloc&) {
    }
  }
  // The same where what failed first cannot carry it.
  void report_failures() const noexcept {
    for (int i = count_; i-- > 0;)
      detail::report_if_failed(changes_[i].answer, set_attribute_call, stream_);
  }

 private:
  struct change {
    abi::CUstreamAttrID which = abi::CU_LAUNCH_ATTRIBUTE_PRIORITY;
    CUstreamAttrValue before{};
    abi::CUresult answer = abi::CUDA_SUCCESS;
  };
  stream_ref stream_;
  change changes_[5];
  int count_ = 0;
};

}  // namespace

int stream_attributes::priority(call_site at) const {
  return get(stream_, abi::CU_LAUNCH_ATTRIBUTE_PRIORITY, at).priority;
}

void stream_attributes::set_priority(int priority, call_site at) const {
  detail::require_open(stream_, set_attribute_call, at);
  const context_ref context = stream_.context(at);
  detail::check_priority(context.device(at), context.get(), priority, set_attribute_call, at);
  CUstreamAttrValue value{};
  value.priority = priority;
  put(stream_, abi::CU_LAUNCH_ATTRIBUTE_PRIORITY, value, at);
  detail::remember_priority(stream_.get(), priority);
}

weir::sync_policy stream_attributes::sync_policy(call_site at) const {
  return static_cast<weir::sync_policy>(static_cast<int>(
      get(stream_, abi::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, at).syncPolicy));
}

void stream_attributes::set_sync_policy(weir::sync_policy policy, call_site at) const {
  CUstreamAttrValue value{};
  value.syncPolicy = static_cast<abi::CUsynchronizationPolicy>(static_cast<int>(policy));
  put(stream_, abi::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, value, at);
}

weir::access_window stream_attributes::access_window(call_site at) const {
  const abi::CUaccessPolicyWindow window =
      get(stream_, abi::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, at).accessPolicyWindow;
  return {window.base_ptr, window.num_bytes, window.hitRatio,
          static_cast<cache_hint>(static_cast<int>(window.hitProp)),
          static_cast<cache_hint>(static_cast<int>(window.missProp))};
}

void stream_attributes::set_access_window(const weir::access_window& window, call_site at) const {
  put(stream_, abi::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, value_of(window), at);
}

weir::sync_domain stream_attributes::sync_domain(call_site at) const {
  return static_cast<weir::sync_domain>(
      static_cast<int>(get(stream_, abi::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, at).memSyncDomain));
}

void stream_attributes::set_sync_domain(weir::sync_domain domain, call_site at) const {
  CUstreamAttrValue value{};
  value.memSyncDomain = static_cast<abi::CUlaunchMemSyncDomain>(static_cast<int>(domain));
  put(stream_, abi::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, value, at);
}

weir::sync_domain_map stream_attributes::sync_domain_map(call_site at) const {
  const abi::CUlaunchMemSyncDomainMap map =
      get(stream_, abi::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, at).memSyncDomainMap;
  return {map.default_, map.remote};
}

void stream_attributes::set_sync_domain_map(weir::sync_domain_map map, call_site at) const {
  CUstreamAttrValue value{};
  value.memSyncDomainMap = {map.standard, map.remote};
  put(stream_, abi::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, value, at);
}

void stream_attributes::set(const stream_settings& settings, call_site at) const {
  attribute_rollback before{stream_};
  const auto change = [&](abi::CUstreamAttrID which, const auto& wanted, auto setter) {
    if (!wanted) return;
    before.remember(which, at);
    (this->*setter)(*wanted, at);
    before.changed();
  };
  try {
    change(abi::CU_LAUNCH_ATTRIBUTE_PRIORITY, settings.priority, &stream_attributes::set_priority);
    change(abi::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, settings.access_window,
           &stream_attributes::set_access_window);
    change(abi::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, settings.sync_domain,
           &stream_attributes::set_sync_domain);
    change(abi::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, settings.sync_domain_map,
           &stream_attributes::set_sync_domain_map);
    // The last one is never set back: a policy that nobody has set yet could not be.
    change(abi::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, settings.sync_policy,
           &stream_attributes::set_sync_policy);
  } catch (error& first) {
    before.restore();
    before.attach_failures(first, at);
    throw;
  } catch (...) {
    before.restore();
    before.report_failures();
    throw;
  }
}

void stream_attributes::copy_from(stream_ref other, call_site at) const {
  constexpr const char* call = "cuStreamCopyAttributes";
  CUstream_st* const to = detail::require_open(stream_, call, at);
  // The driver's answer to the copy says nothing of what was copied.
  const bool known = detail::find_stream_properties(to).has_value();
  const int priority = known ? stream_attributes{other}.priority(at) : 0;
  detail::check(driver().cuStreamCopyAttributes(to, detail::require_open(other, call, at)), call,
                stream_, at);
  if (known) detail::remember_priority(to, priority);
}

stream make_stream(device gpu, const stream_options& options, const stream_settings& settings,
                   call_site at) {
  stream made{gpu, options, at};
  stream_attributes{made}.set(settings, at);
  return made;
}

stream make_stream(context_ref context, const stream_options& options,
                   const stream_settings& settings, call_site at) {
  stream made{context, options, at};
  stream_attributes{made}.set(settings, at);
  return made;
}

}  // namespace weir
