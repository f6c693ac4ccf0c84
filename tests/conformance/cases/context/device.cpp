// SPDX-License-Identifier: Apache-2.0
// cases/context/device.cpp - attributes that the rules depend on.
#include "probe/probe.hpp"

namespace weir::conformance {

void device_cases() {
  add("device.attributes", [](Rec& r) {
    struct {
      const char* n;
      CUdevice_attribute a;
    } list[] = {
        {"unified_addressing", CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING},
        {"can_map_host", CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY},
        {"stream_priorities", CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED},
        {"managed_memory", CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY},
        {"concurrent_managed", CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS},
        {"pageable_access", CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS},
        {"pageable_host_page_tables",
         CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES},
        {"host_ptr_for_registered", CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM},
        {"host_register", CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED},
        {"read_only_host_register", CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED},
        {"memory_pools", CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED},
        {"memops64", CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS},
        {"memops_nor", CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR},
        {"flush_remote_writes", CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES},
        {"ipc_event", CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED},
        {"mem_sync_domains", CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT},
        {"vmm", CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED},
        {"compute_mode", CU_DEVICE_ATTRIBUTE_COMPUTE_MODE},
        {"host_memory_pools", CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED},
        {"pool_handle_types", CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES},
        {"cooperative_launch", CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH},
    };
    for (auto& x : list) {
      int v = -1;
      CUresult e = cuDeviceGetAttribute(&v, x.a, g.dev);
      if (e == CUDA_SUCCESS)
        r.k(x.n, v);
      else
        r.k(x.n, e);
    }
  });
  add("device.machine", [](Rec& r) {
    int v = -1;
    char name[128] = "";
    cuDeviceGetName(name, 128, g.dev);
    r.k("~name", name);
    cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, g.dev);
    r.k("~cc_major", v);
    cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, g.dev);
    r.k("~cc_minor", v);
    cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, g.dev);
    r.k("~async_engines", v);
    cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, g.dev);
    r.k("~sms", v);
  });
  add("device.peer_self", [](Rec& r) {
    int v = -1;
    r.k("can_access_self", cuDeviceCanAccessPeer(&v, g.dev, g.dev));
    r.k("value", v);
  });
}

}  // namespace weir::conformance
