// model/array_limits.cpp - formats, flags and extents of arrays.
#include "embedded/model/memory/array_limits.hpp"

#include "embedded/model/core/device.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

constexpr unsigned known_flags = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |
                                 CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;

// The largest extents of one shape of array, by the attributes of the device that tell them.
struct most {
  CUdevice_attribute width, height, depth;
};
constexpr CUdevice_attribute none{};  // an extent that the shape has not

constexpr most line{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, none, none};
constexpr most plane{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT, none};
constexpr most gathered{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH,
                        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT, none};
constexpr most solid{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT,
                     CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH};
constexpr most deep{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE,
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE,
                    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE};
constexpr most lines{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH, none,
                     CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS};
constexpr most planes{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH,
                      CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT,
                      CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS};
constexpr most cubes{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH,
                     CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH,
                     CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS};

constexpr std::size_t faces = 6;

// The limits that hold for a description.
const most& limits_of(const CUDA_ARRAY3D_DESCRIPTOR& wanted) noexcept {
  if ((wanted.Flags & CUDA_ARRAY3D_CUBEMAP) != 0) return cubes;
  if ((wanted.Flags & CUDA_ARRAY3D_LAYERED) != 0) return wanted.Height != 0 ? planes : lines;
  if (wanted.Depth != 0) return solid;
  if ((wanted.Flags & CUDA_ARRAY3D_TEXTURE_GATHER) != 0) return gathered;
  return wanted.Height != 0 ? plane : line;
}

bool within(const device& on, CUdevice_attribute limit, std::size_t extent) noexcept {
  int most = 0;
  return limit == none ? extent == 0 : on.attribute(limit, most) && extent <= static_cast<std::size_t>(most);
}

bool within(const device& on, const most& limits, const CUDA_ARRAY3D_DESCRIPTOR& wanted) noexcept {
  return within(on, limits.width, wanted.Width) && within(on, limits.height, wanted.Height) &&
         within(on, limits.depth, wanted.Depth);
}

// Has the shape all the extents that its flags ask for?
bool is_whole(const CUDA_ARRAY3D_DESCRIPTOR& wanted) noexcept {
  const bool layered = (wanted.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  if (wanted.Width == 0 || (layered && wanted.Depth == 0)) return false;
  if ((wanted.Flags & CUDA_ARRAY3D_CUBEMAP) != 0) {
    return wanted.Width == wanted.Height && (layered ? wanted.Depth % faces == 0 : wanted.Depth == faces);
  }
  if ((wanted.Flags & CUDA_ARRAY3D_TEXTURE_GATHER) != 0 && (wanted.Height == 0 || wanted.Depth != 0)) return false;
  return layered || wanted.Depth == 0 || wanted.Height != 0;
}

}  // namespace

format_facts facts_of(CUarray_format format) noexcept {
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

CUresult check_array(const device& on, const CUDA_ARRAY3D_DESCRIPTOR& wanted) noexcept {
  const format_facts facts = facts_of(wanted.Format);
  const unsigned channels = wanted.NumChannels;
  if ((wanted.Flags & ~known_flags) != 0 || facts.channel_bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const bool right_channels =
      facts.channels == any_channels ? channels == 1 || channels == 2 || channels == 4 : channels == facts.channels;
  if (!right_channels || !is_whole(wanted)) return CUDA_ERROR_INVALID_VALUE;
  const most& limits = limits_of(wanted);
  const bool fits = within(on, limits, wanted) || (&limits == &solid && within(on, deep, wanted));
  return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace weir::embedded::model
