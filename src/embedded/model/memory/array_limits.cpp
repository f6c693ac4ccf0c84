// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/array_limits.cpp - checks formats, flags and extents of arrays.
#include "embedded/model/memory/array_limits.hpp"

#include "embedded/model/core/device.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

constexpr unsigned known_flags = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST |
                                 CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER |
                                 CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;

// The device attributes with the largest extents of one shape of array.
struct extent_limits {
  CUdevice_attribute width, height, depth;
};
constexpr CUdevice_attribute no_attribute{};  // an extent that the shape does not have

constexpr extent_limits limits_1d{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, no_attribute,
                                  no_attribute};
constexpr extent_limits limits_2d{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH,
                                  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT, no_attribute};
constexpr extent_limits limits_gather{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH,
                                      CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT,
                                      no_attribute};
constexpr extent_limits limits_3d{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH,
                                  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT,
                                  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH};
constexpr extent_limits limits_3d_alternate{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE,
                                            CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE,
                                            CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE};
constexpr extent_limits limits_1d_layered{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH,
                                          no_attribute,
                                          CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS};
constexpr extent_limits limits_2d_layered{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH,
                                          CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT,
                                          CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS};
constexpr extent_limits limits_cubemap{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH,
                                       CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH,
                                       CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS};

constexpr std::size_t faces = 6;

// Returns the limits that apply to a descriptor.
const extent_limits& limits_of(const CUDA_ARRAY3D_DESCRIPTOR& requested) noexcept {
  if ((requested.Flags & CUDA_ARRAY3D_CUBEMAP) != 0) return limits_cubemap;
  if ((requested.Flags & CUDA_ARRAY3D_LAYERED) != 0)
    return requested.Height != 0 ? limits_2d_layered : limits_1d_layered;
  if (requested.Depth != 0) return limits_3d;
  if ((requested.Flags & CUDA_ARRAY3D_TEXTURE_GATHER) != 0) return limits_gather;
  return requested.Height != 0 ? limits_2d : limits_1d;
}

bool within(const device& target_device, CUdevice_attribute limit, std::size_t extent) noexcept {
  return limit == no_attribute ? extent == 0
                               : extent <= static_cast<std::size_t>(target_device.attribute(limit));
}

bool within(const device& target_device, const extent_limits& limits,
            const CUDA_ARRAY3D_DESCRIPTOR& requested) noexcept {
  return within(target_device, limits.width, requested.Width) &&
         within(target_device, limits.height, requested.Height) &&
         within(target_device, limits.depth, requested.Depth);
}

// Returns true if the descriptor has all extents that its flags require.
bool is_whole(const CUDA_ARRAY3D_DESCRIPTOR& requested) noexcept {
  const bool layered = (requested.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  if (requested.Width == 0 || (layered && requested.Depth == 0)) return false;
  if ((requested.Flags & CUDA_ARRAY3D_CUBEMAP) != 0) {
    return requested.Width == requested.Height &&
           (layered ? requested.Depth % faces == 0 : requested.Depth == faces);
  }
  if ((requested.Flags & CUDA_ARRAY3D_TEXTURE_GATHER) != 0 &&
      (requested.Height == 0 || requested.Depth != 0))
    return false;
  return layered || requested.Depth == 0 || requested.Height != 0;
}

}  // namespace

format_traits traits_of(CUarray_format format) noexcept {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return {1, any_channels};
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return {2, any_channels};
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return {4, any_channels};
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X1: return {1, 1};
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X2: return {1, 2};
    case CU_AD_FORMAT_UNORM_INT8X4:
    case CU_AD_FORMAT_SNORM_INT8X4: return {1, 4};
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X1: return {2, 1};
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X2: return {2, 2};
    case CU_AD_FORMAT_UNORM_INT16X4:
    case CU_AD_FORMAT_SNORM_INT16X4: return {2, 4};
    default: return {0, 0};
  }
}

CUresult check_array(const device& target_device,
                     const CUDA_ARRAY3D_DESCRIPTOR& requested) noexcept {
  const format_traits facts = traits_of(requested.Format);
  const unsigned channels = requested.NumChannels;
  if ((requested.Flags & ~known_flags) != 0 || facts.channel_bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  const bool right_channels = facts.channels == any_channels
                                  ? channels == 1 || channels == 2 || channels == 4
                                  : channels == facts.channels;
  if (!right_channels || !is_whole(requested)) return CUDA_ERROR_INVALID_VALUE;
  const extent_limits& limits = limits_of(requested);
  const bool fits =
      within(target_device, limits, requested) ||
      (&limits == &limits_3d && within(target_device, limits_3d_alternate, requested));
  return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace weir::embedded::model
