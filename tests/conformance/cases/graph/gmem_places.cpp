// SPDX-License-Identifier: Apache-2.0
// cases/graph/gmem_places.cpp - memory nodes with other locations than a device, and other
// allocation types.
#include "probe/probe.hpp"

#include <initializer_list>
#include <string>
#include <utility>

namespace weir::conformance {

namespace {

constexpr int no_such_id = 99;

CUresult add_placed(CUmemAllocationType type, CUmemLocationType where, int id, CUgraph to,
                    CUdeviceptr* out = nullptr) {
  auto p = alloc_params(4096);
  p.poolProps.allocType = type;
  p.poolProps.location = {where, id};
  CUgraphNode n = nullptr;
  const CUresult res = cuGraphAddMemAllocNode(&n, to, nullptr, 0, &p);
  if (res == CUDA_SUCCESS && out != nullptr) *out = p.dptr;
  return res;
}

struct named_place {
  const char* key;
  CUmemLocationType where;
  int id;
};

// Records the result for each location, and the number of nodes afterwards.
void add_in_each(Rec& r, CUmemAllocationType type, std::initializer_list<named_place> places) {
  Graph gr;
  for (const auto& [key, where, id] : places) r.k(key, add_placed(type, where, id, gr));
  r.k("nodes", count_nodes(gr));
}

long long used_memory() {
  cuuint64_t v = 0;
  OK(cuDeviceGetGraphMemAttribute(g.dev, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &v));
  return static_cast<long long>(v);
}

}  // namespace

void gmem_places_cases() {
  add("gmem.place_pinned", [](Rec& r) {
    add_in_each(r, CU_MEM_ALLOCATION_TYPE_PINNED,
                {{"host", CU_MEM_LOCATION_TYPE_HOST, 0},
                 {"numa", CU_MEM_LOCATION_TYPE_HOST_NUMA, 0},
                 {"numa_99", CU_MEM_LOCATION_TYPE_HOST_NUMA, no_such_id},
                 {"numa_current", CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0}});
  });
  add("gmem.place_managed", ISO, [](Rec& r) {
    Stream s(NB);
    Graph gr;
    CUdeviceptr p = 0;
    const CUresult added =
        add_placed(CU_MEM_ALLOCATION_TYPE_MANAGED, CU_MEM_LOCATION_TYPE_DEVICE, g.dev, gr, &p);
    if (r.k("add", added) != CUDA_SUCCESS) return;
    Exec x(gr);
    const long long before = used_memory();
    r.k("launch", cuGraphLaunch(x, s));
    r.k("sync", cuStreamSynchronize(s));
    static constexpr std::pair<const char*, CUpointer_attribute> kNumbers[] = {
        {"memory_type", CU_POINTER_ATTRIBUTE_MEMORY_TYPE},
        {"is_managed", CU_POINTER_ATTRIBUTE_IS_MANAGED},
        {"ordinal", CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL}};
    for (const auto& [name, attribute] : kNumbers) {
      unsigned value = 0;
      if (r.k(name, cuPointerGetAttribute(&value, attribute, p)) == CUDA_SUCCESS)
        r.k(std::string(name) + ".is", static_cast<long long>(value));
    }
    void* host = nullptr;
    r.k("host_pointer", cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, p));
    r.k("counted", used_memory() >= before + 4096);
    OK(cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(s));
  });
  add("gmem.place_managed_elsewhere", [](Rec& r) {
    add_in_each(r, CU_MEM_ALLOCATION_TYPE_MANAGED,
                {{"none", CU_MEM_LOCATION_TYPE_NONE, 0},
                 {"host", CU_MEM_LOCATION_TYPE_HOST, 0},
                 {"numa", CU_MEM_LOCATION_TYPE_HOST_NUMA, 0},
                 {"device_99", CU_MEM_LOCATION_TYPE_DEVICE, no_such_id}});
  });
}

}  // namespace weir::conformance
