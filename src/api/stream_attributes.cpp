// api/stream_attributes.cpp - the attributes of streams, one driver call each.
#include <weir/context.hpp>
#include <weir/error.hpp>
#include <weir/stream_attributes.hpp>

#include "api/check.hpp"
#include "api/primary_context.hpp"
#include "api/stream_state.hpp"

namespace weir {
namespace {

using abi::CUstreamAttrValue;
using detail::check;
using detail::driver;

constexpr const char* set_call = "cuStreamSetAttribute";

CUstreamAttrValue get(stream_ref stream, abi::CUstreamAttrID which, call_site at) {
  constexpr const char* call = "cuStreamGetAttribute";
  CUstreamAttrValue value{};
  check(driver().cuStreamGetAttribute(detail::usable(stream, call, at), which, &value), call, stream, at);
  return value;
}

void put(stream_ref stream, abi::CUstreamAttrID which, const CUstreamAttrValue& value, call_site at) {
  check(driver().cuStreamSetAttribute(detail::usable(stream, set_call, at), which, &value), set_call, stream, at);
}

CUstreamAttrValue value_of(const access_window& window) noexcept {
  CUstreamAttrValue value{};
  value.accessPolicyWindow = {window.base, window.bytes, window.hit_ratio,
                              static_cast<abi::CUaccessProperty>(window.hit),
                              static_cast<abi::CUaccessProperty>(window.miss)};
  return value;
}

// Sets back, in reverse, what was set before something failed.
class undo {
 public:
  explicit undo(stream_ref stream) noexcept : stream_{stream} {}

  // What cannot be set back stays as it is, and is attached to what failed first.
  void restore(error& first, call_site at) {
    while (count_ > 0) {
      const earlier& e = earlier_[--count_];
      try {
        put(stream_, e.which, e.value, at);
        if (e.which == abi::CU_LAUNCH_ATTRIBUTE_PRIORITY) detail::remember_priority(stream_.get(), e.value.priority);
      } catch (const error& second) {
        first.attach(second);
      }
    }
  }

  // Before the attribute changes, and when it has.
  void remember(abi::CUstreamAttrID which, call_site at) { earlier_[count_] = {which, get(stream_, which, at)}; }
  void changed() noexcept {
    // A policy that nobody has set cannot be set again.
    earlier& e = earlier_[count_++];
    const bool unset = e.which == abi::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY &&
                       static_cast<int>(e.value.syncPolicy) == static_cast<int>(sync_policy::unset);
    if (unset) e.value.syncPolicy = abi::CU_SYNC_POLICY_AUTO;
  }

 private:
  struct earlier {
    abi::CUstreamAttrID which;
    CUstreamAttrValue value;
  };
  stream_ref stream_;
  earlier earlier_[5]{};
  int count_ = 0;
};

}  // namespace

int stream_attributes::priority(call_site at) const {
  return get(stream_, abi::CU_LAUNCH_ATTRIBUTE_PRIORITY, at).priority;
}

void stream_attributes::set_priority(int priority, call_site at) const {
  detail::usable(stream_, set_call, at);
  const context_ref context = stream_.context(at);
  detail::check_priority(context.device(at), context.get(), priority, set_call, at);
  CUstreamAttrValue value{};
  value.priority = priority;
  put(stream_, abi::CU_LAUNCH_ATTRIBUTE_PRIORITY, value, at);
  detail::remember_priority(stream_.get(), priority);
}

weir::sync_policy stream_attributes::sync_policy(call_site at) const {
  return static_cast<weir::sync_policy>(
      static_cast<int>(get(stream_, abi::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, at).syncPolicy));
}

void stream_attributes::set_sync_policy(weir::sync_policy policy, call_site at) const {
  CUstreamAttrValue value{};
  value.syncPolicy = static_cast<abi::CUsynchronizationPolicy>(static_cast<int>(policy));
  put(stream_, abi::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, value, at);
}

weir::access_window stream_attributes::access_window(call_site at) const {
  const abi::CUaccessPolicyWindow window =
      get(stream_, abi::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, at).accessPolicyWindow;
  return {window.base_ptr, window.num_bytes, window.hitRatio, static_cast<cache_hint>(static_cast<int>(window.hitProp)),
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
  undo before{stream_};
  const auto change = [&](abi::CUstreamAttrID which, const auto& wanted, auto setter) {
    if (!wanted) return;
    before.remember(which, at);
    (this->*setter)(*wanted, at);
    before.changed();
  };
  try {
    change(abi::CU_LAUNCH_ATTRIBUTE_PRIORITY, settings.priority, &stream_attributes::set_priority);
    change(abi::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, settings.sync_policy, &stream_attributes::set_sync_policy);
    change(abi::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, settings.access_window,
           &stream_attributes::set_access_window);
    change(abi::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, settings.sync_domain, &stream_attributes::set_sync_domain);
    change(abi::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, settings.sync_domain_map,
           &stream_attributes::set_sync_domain_map);
  } catch (error& first) {
    before.restore(first, at);
    throw;
  }
}

void stream_attributes::copy_from(stream_ref other, call_site at) const {
  constexpr const char* call = "cuStreamCopyAttributes";
  CUstream_st* const to = detail::usable(stream_, call, at);
  // The driver's answer to the copy says nothing of what was copied.
  const bool known = detail::facts_of(to).has_value();
  const int priority = known ? stream_attributes{other}.priority(at) : 0;
  check(driver().cuStreamCopyAttributes(to, detail::usable(other, call, at)), call, stream_, at);
  if (known) detail::remember_priority(to, priority);
}

stream make_stream(device gpu, const stream_options& options, const stream_settings& settings, call_site at) {
  stream made{gpu, options, at};
  stream_attributes{made}.set(settings, at);
  return made;
}

stream make_stream(context_ref context, const stream_options& options, const stream_settings& settings, call_site at) {
  stream made{context, options, at};
  stream_attributes{made}.set(settings, at);
  return made;
}

}  // namespace weir
