// model/stream_attributes.hpp - what a program may set on a stream besides its flags.
#pragma once

#include "driver/abi.hpp"

namespace weir::embedded::model {

class stream;

// Kept, checked and told as an H200 does; host memory has no cache window and no synchronisation
// domain to apply them to.
struct stream_attributes {
  abi::CUaccessPolicyWindow window{};
  int sync_policy =
      -1;  // a CUsynchronizationPolicy; -1 is what an H200 tells of one that nobody has set
  abi::CUlaunchMemSyncDomain domain = abi::CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT;
  abi::CUlaunchMemSyncDomainMap domain_map{0, 1};
};

// CUDA_ERROR_INVALID_VALUE for an attribute that streams do not have, and for a value that it
// cannot take.
abi::CUresult get_attribute(stream& of, abi::CUstreamAttrID which, abi::CUstreamAttrValue& out);
abi::CUresult set_attribute(stream& of, abi::CUstreamAttrID which,
                            const abi::CUstreamAttrValue& value);

// All of them, the priority too; the flags stay. CUDA_ERROR_INVALID_VALUE across contexts.
abi::CUresult copy_attributes(stream& to, stream& from);

}  // namespace weir::embedded::model
