// SPDX-License-Identifier: Apache-2.0
// model/stream/stream_attributes.hpp - the attributes that a program can set on a stream.
#pragma once

#include "driver/abi.hpp"

namespace weir::embedded::model {

class stream;

// The attributes of a stream. They are checked, stored and returned as on an H200, but have no
// effect: host memory has no cache window and no synchronisation domain.
struct stream_attributes {
  abi::CUaccessPolicyWindow window{};
  // A CUsynchronizationPolicy, or -1 if it was never set, as on an H200.
  int sync_policy = -1;
  abi::CUlaunchMemSyncDomain domain = abi::CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT;
  abi::CUlaunchMemSyncDomainMap domain_map{0, 1};
};

// Gets an attribute. Returns CUDA_ERROR_INVALID_VALUE for an attribute that streams do not have.
abi::CUresult get_attribute(stream& target_stream, abi::CUstreamAttrID attribute_id,
                            abi::CUstreamAttrValue& out);
// Sets an attribute. Returns CUDA_ERROR_INVALID_VALUE for an attribute that streams do not have,
// and for an invalid value. A priority outside of the range becomes the nearest valid one.
abi::CUresult set_attribute(stream& target_stream, abi::CUstreamAttrID attribute_id,
                            const abi::CUstreamAttrValue& value);

// Copies all attributes and the priority, but not the flags. Returns CUDA_ERROR_INVALID_VALUE for
// streams of different contexts.
abi::CUresult copy_attributes(stream& destination_stream, stream& source_stream);

}  // namespace weir::embedded::model
