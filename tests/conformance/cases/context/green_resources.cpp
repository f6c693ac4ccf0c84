// SPDX-License-Identifier: Apache-2.0
// cases/context/green_resources.cpp - device resources: queried, split, combined into a descriptor.
#include "cases/context/greens.hpp"

#include <array>
#include <cstring>

namespace weir::conformance {
namespace {

CUdevResource untouched() {
  CUdevResource r;
  memset(&r, 0xee, sizeof r);
  return r;
}

std::string text_or_untouched(const CUdevResource& part) {
  const CUdevResource before = untouched();
  return memcmp(&part, &before, sizeof part) == 0 ? "untouched" : text_of(part);
}

// Splits once and records the number of groups, the sizes of the first and the last group, and the
// remainder.
void rec_split(Rec& r, const std::string& key, const CUdevResource& input, unsigned room,
               unsigned flags, unsigned least) {
  std::array<CUdevResource, 160> groups;
  groups.fill(untouched());
  CUdevResource rest = untouched();
  unsigned count = room;
  r.k(key, cuDevSmResourceSplitByCount(groups.data(), &count, &input, &rest, flags, least));
  r.k(key + ".groups", count);
  r.k(key + ".first", text_or_untouched(groups[0]));
  if (count > 1 && count <= room) r.k(key + ".last", text_or_untouched(groups[count - 1]));
  r.k(key + ".rest", text_or_untouched(rest));
}

}  // namespace

void green_resources_cases() {
  add("green.device_resource", [](Rec& r) {
    CUdevResource part = untouched();
    r.k("sm", cuDeviceGetDevResource(g.dev, &part, CU_DEV_RESOURCE_TYPE_SM));
    r.k("is", text_of(part));
    bool zero = true;
    for (size_t i = sizeof part.sm; i < sizeof part._oversize; i++)
      zero = zero && part._oversize[i] == 0;
    r.k("~tail_zero", zero);
    for (int type : {0, 2, 3, 1000, 10000, -1}) {
      part = untouched();
      r.k("type" + std::to_string(type),
          cuDeviceGetDevResource(g.dev, &part, static_cast<CUdevResourceType>(type)));
      r.k("type" + std::to_string(type) + ".is", text_or_untouched(part));
    }
    r.k("null", cuDeviceGetDevResource(g.dev, nullptr, CU_DEV_RESOURCE_TYPE_SM));
    r.k("bad_dev", cuDeviceGetDevResource(99, &part, CU_DEV_RESOURCE_TYPE_SM));
    r.k("neg_dev", cuDeviceGetDevResource(-1, &part, CU_DEV_RESOURCE_TYPE_SM));
    r.k("bad_dev_null", cuDeviceGetDevResource(99, nullptr, CU_DEV_RESOURCE_TYPE_SM));
    r.k("bad_dev_type", cuDeviceGetDevResource(99, &part, CU_DEV_RESOURCE_TYPE_INVALID));
    r.k("null_type", cuDeviceGetDevResource(g.dev, nullptr, CU_DEV_RESOURCE_TYPE_INVALID));
  });

  add("green.without_context", RAW, [](Rec& r) {
    CUdevResource all{}, part{};
    r.k("before_init", cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
    init_device();
    r.k("device", cuDeviceGetDevResource(g.dev, &all, CU_DEV_RESOURCE_TYPE_SM));
    unsigned n = 1;
    r.k("split", cuDevSmResourceSplitByCount(&part, &n, &all, nullptr, 0, 16));
    CUdevResourceDesc desc = nullptr;
    r.k("desc", cuDevResourceGenerateDesc(&desc, &part, 1));
    r.k("of_no_context", cuCtxGetDevResource(nullptr, &all, CU_DEV_RESOURCE_TYPE_SM));
    unsigned long long id = 0;
    r.k("id_of_none", cuGreenCtxGetId(nullptr, &id));
    CUgreenCtx green = nullptr;
    r.k("of_null_stream", cuStreamGetGreenCtx(nullptr, &green));
  });

  add("green.split_query", [](Rec& r) {
    const CUdevResource all = all_sms();
    for (unsigned least :
         {0u,  1u,  2u,  7u,  8u,   9u,   15u,  16u,  17u,  18u,   24u,         32u,
          33u, 64u, 66u, 67u, 100u, 128u, 131u, 132u, 133u, 1000u, 0x80000000u, 0xffffffffu}) {
      unsigned n = 77;
      r.k("n" + std::to_string(least),
          cuDevSmResourceSplitByCount(nullptr, &n, &all, nullptr, 0, least));
      r.k("n" + std::to_string(least) + ".groups", n);
    }
    unsigned n = 77;
    CUdevResource rest = untouched();
    r.k("rest", cuDevSmResourceSplitByCount(nullptr, &n, &all, &rest, 0, 16));
    r.k("rest.is", text_or_untouched(rest));
  });

  add("green.split_sizes", [](Rec& r) {
    const CUdevResource all = all_sms();
    for (unsigned least :
         {0u, 1u, 2u, 8u, 9u, 16u, 20u, 24u, 32u, 60u, 64u, 66u, 68u, 100u, 128u, 131u, 132u, 133u})
      rec_split(r, "n" + std::to_string(least), all, 160, 0, least);
  });

  add("green.split_room", [](Rec& r) {
    const CUdevResource all = all_sms();
    for (unsigned room : {0u, 1u, 2u, 3u, 7u, 8u, 9u, 100u})
      rec_split(r, "room" + std::to_string(room), all, room, 0, 16);
  });

  add("green.split_ignoring_coscheduling", [](Rec& r) {
    const CUdevResource all = all_sms();
    for (unsigned least : {0u, 1u, 2u, 3u, 4u, 5u, 8u, 16u, 17u, 66u, 131u, 132u, 133u})
      rec_split(r, "n" + std::to_string(least), all, 160,
                CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, least);
  });

  add("green.split_for_clusters", [](Rec& r) {
    const CUdevResource all = all_sms();
    for (unsigned least : {0u, 1u, 8u, 9u, 16u, 17u, 32u, 64u, 132u, 133u})
      rec_split(r, "n" + std::to_string(least), all, 160,
                CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE, least);
  });

  add("green.split_flags", [](Rec& r) {
    const CUdevResource all = all_sms();
    for (unsigned flags : {3u, 4u, 8u, 0x80000000u, 0xffffffffu})
      rec_split(r, "f" + std::to_string(flags), all, 160, flags, 16);
  });

  add("green.split_arguments", [](Rec& r) {
    const CUdevResource all = all_sms();
    CUdevResource group = untouched(), rest = untouched();
    unsigned n = 1;
    r.k("null_input", cuDevSmResourceSplitByCount(&group, &n, nullptr, nullptr, 0, 16));
    r.k("null_count", cuDevSmResourceSplitByCount(&group, nullptr, &all, nullptr, 0, 16));
    r.k("null_both", cuDevSmResourceSplitByCount(nullptr, nullptr, &all, nullptr, 0, 16));
    n = 0;
    r.k("zero_count", cuDevSmResourceSplitByCount(&group, &n, &all, &rest, 0, 16));
    r.k("zero_count.groups", n);
    CUdevResource none{};
    n = 1;
    r.k("invalid_type", cuDevSmResourceSplitByCount(&group, &n, &none, nullptr, 0, 16));
    none.type = static_cast<CUdevResourceType>(7);
    r.k("unknown_type", cuDevSmResourceSplitByCount(&group, &n, &none, nullptr, 0, 16));
    r.k("bad_flags_and_type", cuDevSmResourceSplitByCount(&group, &n, &none, nullptr, 0x100, 16));
    r.k("bad_flags_and_count", cuDevSmResourceSplitByCount(&group, &n, &all, nullptr, 0x100, 1000));
    r.k("group_untouched", text_or_untouched(group));
    r.k("ok", cuDevSmResourceSplitByCount(&group, &n, &all, nullptr, 0, 16));
    r.k("ok.is", text_or_untouched(group));
  });

  add("green.split_in_place", ISO, [](Rec& r) {
    CUdevResource all = all_sms();
    unsigned n = 1;
    r.k("rest_is_input", cuDevSmResourceSplitByCount(nullptr, &n, &all, &all, 0, 16));
    r.k("input", text_of(all));
  });

  add("green.split_of_a_split", [](Rec& r) {
    const CUdevResource all = all_sms();
    CUdevResource groups[2], rest{};
    unsigned n = 2;
    OK(cuDevSmResourceSplitByCount(groups, &n, &all, &rest, 0, 32));
    CUdevResource part = untouched();
    n = 1;
    r.k("group", cuDevSmResourceSplitByCount(&part, &n, &groups[0], nullptr, 0, 16));
    r.k("group.is", text_or_untouched(part));
    part = untouched();
    r.k("rest", cuDevSmResourceSplitByCount(&part, &n, &rest, nullptr, 0, 16));
    r.k("rest.is", text_or_untouched(part));
    n = 77;
    r.k("query_group", cuDevSmResourceSplitByCount(nullptr, &n, &groups[0], nullptr, 0, 16));
    r.k("query_group.groups", n);
  });

  add("green.split_of_a_green_context", SLOW, [](Rec& r) {
    Green c(32);
    CUdevResource of{}, part = untouched(), rest = untouched();
    OK(cuGreenCtxGetDevResource(c, &of, CU_DEV_RESOURCE_TYPE_SM));
    r.k("of", text_of(of));
    unsigned n = 1;
    r.k("split", cuDevSmResourceSplitByCount(&part, &n, &of, &rest, 0, 16));
    r.k("groups", n);
    r.k("part", text_or_untouched(part));
    r.k("rest", text_or_untouched(rest));
    CUdevResourceDesc desc = nullptr;
    r.k("desc", cuDevResourceGenerateDesc(&desc, &part, 1));
    CUgreenCtx inner = nullptr;
    if (r.k("create", cuGreenCtxCreate(&inner, desc, g.dev, CU_GREEN_CTX_DEFAULT_STREAM)) ==
        CUDA_SUCCESS) {
      r.k("inner", cuGreenCtxGetDevResource(inner, &of, CU_DEV_RESOURCE_TYPE_SM));
      r.k("inner.is", text_of(of));
      cuGreenCtxDestroy(inner);
    }
  });

  add("green.split_of_small_green_contexts", SLOW, [](Rec& r) {
    for (unsigned size : {16u, 64u, 128u}) {
      Green c(size);
      CUdevResource of{};
      OK(cuGreenCtxGetDevResource(c, &of, CU_DEV_RESOURCE_TYPE_SM));
      for (unsigned least : {0u, 8u, 9u, 24u}) {
        unsigned n = 77;
        const std::string key = "of" + std::to_string(size) + "n" + std::to_string(least);
        r.k(key, cuDevSmResourceSplitByCount(nullptr, &n, &of, nullptr, 0, least));
        r.k(key + ".groups", n);
      }
    }
  });
  add("green.split_of_made_up", ISO, [](Rec& r) {
    CUdevResource made{}, part = untouched();
    made.type = CU_DEV_RESOURCE_TYPE_SM;
    unsigned n = 1;
    r.k("zeros", cuDevSmResourceSplitByCount(&part, &n, &made, nullptr, 0, 1));
    made.sm.smCount = 64;
    made.sm.minSmPartitionSize = 8;
    made.sm.smCoscheduledAlignment = 8;
    r.k("count_only", cuDevSmResourceSplitByCount(&part, &n, &made, nullptr, 0, 16));
  });

  add("green.desc", [](Rec& r) {
    CUdevResource all = all_sms();
    CUdevResource groups[3], rest{};
    unsigned n = 3;
    OK(cuDevSmResourceSplitByCount(groups, &n, &all, &rest, 0, 16));
    CUdevResourceDesc d = nullptr;
    r.k("all", cuDevResourceGenerateDesc(&d, &all, 1));
    r.k("all.made", d != nullptr);
    r.k("group", cuDevResourceGenerateDesc(&d, groups, 1));
    r.k("two_groups", cuDevResourceGenerateDesc(&d, groups, 2));
    r.k("three_groups", cuDevResourceGenerateDesc(&d, groups, 3));
    r.k("rest", cuDevResourceGenerateDesc(&d, &rest, 1));
    CUdevResource mixed[] = {groups[0], rest};
    r.k("group_and_rest", cuDevResourceGenerateDesc(&d, mixed, 2));
    mixed[1] = groups[0];
    r.k("twice_the_same", cuDevResourceGenerateDesc(&d, mixed, 2));
    mixed[1] = all;
    r.k("group_and_all", cuDevResourceGenerateDesc(&d, mixed, 2));
    CUdevResource other{};
    n = 1;
    OK(cuDevSmResourceSplitByCount(&other, &n, &all, nullptr, 0, 32));
    mixed[1] = other;
    r.k("of_two_splits", cuDevResourceGenerateDesc(&d, mixed, 2));
    CUdevResource invalid{};
    r.k("invalid_type", cuDevResourceGenerateDesc(&d, &invalid, 1));
    CUdevResource half[] = {groups[0], invalid};
    r.k("second_invalid", cuDevResourceGenerateDesc(&d, half, 2));
  });
  add("green.desc_of_none", ISO, [](Rec& r) {
    CUdevResource all = all_sms();
    CUdevResourceDesc d = nullptr;
    r.k("res", cuDevResourceGenerateDesc(&d, &all, 0));
  });
  add("green.desc_null_resources", ISO, [](Rec& r) {
    CUdevResourceDesc d = nullptr;
    r.k("res", cuDevResourceGenerateDesc(&d, nullptr, 1));
  });
  add("green.desc_null_out", ISO, [](Rec& r) {
    CUdevResource all = all_sms();
    r.k("res", cuDevResourceGenerateDesc(nullptr, &all, 1));
  });

  // Resources that overlap, or that come from several splits.
  add("green.desc_of_mixtures", ISO | SLOW, [](Rec& r) {
    CUdevResource all = all_sms(), groups[2]{}, other{};
    unsigned n = 2;
    OK(cuDevSmResourceSplitByCount(groups, &n, &all, nullptr, 0, 16));
    n = 1;
    OK(cuDevSmResourceSplitByCount(&other, &n, &all, nullptr, 0, 32));
    const auto context_of = [&](const char* key, CUdevResource a, CUdevResource b) {
      CUdevResource parts[] = {a, b}, of{};
      CUdevResourceDesc d = nullptr;
      CUgreenCtx c = nullptr;
      OK(cuDevResourceGenerateDesc(&d, parts, 2));
      if (r.k(key, cuGreenCtxCreate(&c, d, g.dev, CU_GREEN_CTX_DEFAULT_STREAM)) != CUDA_SUCCESS)
        return;
      OK(cuGreenCtxGetDevResource(c, &of, CU_DEV_RESOURCE_TYPE_SM));
      r.k(std::string(key) + ".is", text_of(of));
      cuGreenCtxDestroy(c);
    };
    context_of("twice_the_same", groups[0], groups[0]);
    context_of("group_and_all", groups[0], all);
    context_of("of_two_splits", groups[0], other);
  });

  add("green.desc_of_made_up", ISO, [](Rec& r) {
    CUdevResource made{};
    made.type = CU_DEV_RESOURCE_TYPE_SM;
    CUdevResourceDesc d = nullptr;
    r.k("zeros", cuDevResourceGenerateDesc(&d, &made, 1));
    CUdevResource changed = sms(16);
    changed.sm.smCount = 24;
    r.k("changed_count", cuDevResourceGenerateDesc(&d, &changed, 1));
  });

  add("green.desc_of_groups", SLOW, [](Rec& r) {
    CUdevResource all = all_sms();
    CUdevResource groups[2], rest{};
    unsigned n = 2;
    OK(cuDevSmResourceSplitByCount(groups, &n, &all, &rest, 0, 16));
    const auto context_of = [&](const char* key, CUdevResource* parts, unsigned count) {
      CUdevResourceDesc d = nullptr;
      CUgreenCtx c = nullptr;
      CUdevResource of{};
      if (r.k(std::string(key) + ".desc", cuDevResourceGenerateDesc(&d, parts, count)) !=
          CUDA_SUCCESS)
        return;
      if (r.k(key, cuGreenCtxCreate(&c, d, g.dev, CU_GREEN_CTX_DEFAULT_STREAM)) != CUDA_SUCCESS)
        return;
      OK(cuGreenCtxGetDevResource(c, &of, CU_DEV_RESOURCE_TYPE_SM));
      r.k(std::string(key) + ".is", text_of(of));
      cuGreenCtxDestroy(c);
    };
    context_of("two", groups, 2);
    context_of("rest", &rest, 1);
    context_of("all", &all, 1);
    CUdevResource mixed[] = {groups[0], rest};
    context_of("group_and_rest", mixed, 2);
    CUdevResource fine{};
    n = 1;
    OK(cuDevSmResourceSplitByCount(&fine, &n, &all, nullptr,
                                   CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, 2));
    context_of("fine", &fine, 1);
  });
}

}  // namespace weir::conformance
