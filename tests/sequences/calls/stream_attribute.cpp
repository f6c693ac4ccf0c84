// SPDX-License-Identifier: Apache-2.0
// sequences/calls/stream_attribute.cpp - the attributes of streams.
#include "sequences/actions.hpp"

#include <cstring>

namespace weir::sequences {
namespace {

constexpr CUstreamAttrID none = static_cast<CUstreamAttrID>(99);

CUstreamAttrID any_stream_attribute(world& w) {
  return w.d.one_of({CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
                     CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, CU_LAUNCH_ATTRIBUTE_PRIORITY,
                     CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
                     CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, CU_LAUNCH_ATTRIBUTE_PRIORITY,
                     CU_LAUNCH_ATTRIBUTE_IGNORE, CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                     CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                     CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, none});
}

std::string stream_value_text(const world& w, CUstreamAttrID attribute,
                              const CUstreamAttrValue& value) {
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: {
      const CUaccessPolicyWindow& window = value.accessPolicyWindow;
      return fmt::format("{} {} {:.2f} {} {}",
                         where(w, reinterpret_cast<CUdeviceptr>(window.base_ptr)), window.num_bytes,
                         window.hitRatio, static_cast<unsigned>(window.hitProp),
                         static_cast<unsigned>(window.missProp));
    }
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      return fmt::format("{}", static_cast<int>(value.syncPolicy));
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: return fmt::format("{}", value.priority);
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      return fmt::format("{} {}", static_cast<unsigned>(value.memSyncDomainMap.default_),
                         static_cast<unsigned>(value.memSyncDomainMap.remote));
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      return fmt::format("{}", static_cast<unsigned>(value.memSyncDomain));
    default: return {};
  }
}

CUstreamAttrValue any_value(world& w, CUstreamAttrID attribute) {
  CUstreamAttrValue value;
  std::memset(&value, 0, sizeof value);
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: {
      const block* const in = any_block(w);
      const auto property = [&] {
        return static_cast<CUaccessProperty>(w.d.one_of({0u, 1u, 2u, 0u, 1u, 2u, 3u}));
      };
      value.accessPolicyWindow = {
          .base_ptr = in != nullptr ? reinterpret_cast<void*>(in->address) : nullptr,
          .num_bytes = w.d.one_of<std::size_t>({0, 1, 4096, 65536, std::size_t{1} << 40}),
          .hitRatio = w.d.one_of({0.0F, 0.5F, 1.0F, 1.5F, -0.5F}),
          .hitProp = property(),
          .missProp = property()};
      break;
    }
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      value.syncPolicy =
          static_cast<CUsynchronizationPolicy>(w.d.one_of({1u, 2u, 3u, 4u, 0u, 5u, 99u}));
      break;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      value.priority = w.d.one_of({0, -1, -3, -5, -6, -50, 1, 50});
      break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: {
      const auto domain = [&] {
        return static_cast<unsigned char>(w.d.one_of({0u, 1u, 2u, 3u, 4u, 200u}));
      };
      value.memSyncDomainMap.default_ = domain();
      value.memSyncDomainMap.remote = domain();
      break;
    }
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      value.memSyncDomain = static_cast<CUlaunchMemSyncDomain>(w.d.one_of({0u, 1u, 2u, 99u}));
      break;
    default: break;
  }
  return value;
}

void get_stream_attribute(world& w) {
  const chosen_stream s = made_stream(w);
  if (s.number < 0) return;
  const CUstreamAttrID attribute = any_stream_attribute(w);
  CUstreamAttrValue value;
  std::memset(&value, 0, sizeof value);
  const CUresult r = w.driver().cuStreamGetAttribute(s.handle, attribute, &value);
  w.text.call(r,
              fmt::format("cuStreamGetAttribute({}, {})", s.name, static_cast<unsigned>(attribute)),
              r == CUDA_SUCCESS ? stream_value_text(w, attribute, value) : "");
}

// Only for the sequence's own streams: a default stream would keep the value for later sequences.
void set_stream_attribute(world& w) {
  const chosen_stream s = made_stream(w);
  if (s.number < 0) return;
  const CUstreamAttrID attribute = any_stream_attribute(w);
  const CUstreamAttrValue value = any_value(w, attribute);
  const CUresult r = w.driver().cuStreamSetAttribute(s.handle, attribute, &value);
  w.text.call(
      r, fmt::format("cuStreamSetAttribute({}, {}, {})", s.name, static_cast<unsigned>(attribute),
                     stream_value_text(w, attribute, value)));
}

void copy_stream_attributes(world& w) {
  const chosen_stream to = made_stream(w), from = made_stream(w);
  if (to.number < 0 || from.number < 0) return;
  w.text.call(w.driver().cuStreamCopyAttributes(to.handle, from.handle),
              fmt::format("cuStreamCopyAttributes({}, {})", to.name, from.name));
}

}  // namespace

std::span<const action> stream_attribute_actions() {
  static constexpr action all[] = {
      {5, get_stream_attribute}, {6, set_stream_attribute}, {2, copy_stream_attributes}};
  return all;
}

}  // namespace weir::sequences
