// SPDX-License-Identifier: Apache-2.0
// weir/stream/stream_attributes.hpp - attributes of a stream that can be set after it was created.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/stream/stream.hpp>

#include <cstddef>
#include <optional>

namespace weir {

/// The way in which a thread waits in stream.sync(). The numbers are the driver's.
enum class sync_policy : int {
  /// Returned for a stream whose policy was never set: the context's policy applies. This value
  /// cannot be set.
  unset = -1,
  automatic = 1,  ///< the driver chooses
  spin = 2,       ///< wakes up soonest, and uses a processor
  yield = 3,      ///< spins, and lets other threads run in between
  block = 4,      ///< sleeps
};

/// How an access uses the device's L2 cache. The numbers are the driver's (CUaccessProperty).
enum class cache_hint : int { normal = 0, streaming = 1, persisting = 2 };

/// A range of device memory whose accesses by kernels of the stream use the device's L2 cache
/// differently. device_attribute::max_access_window_bytes is the maximum size. `persisting` has an
/// effect only after the program has set the limit of persisting bytes of the context, which is 0
/// at first (cuCtxSetLimit, CU_LIMIT_PERSISTING_L2_CACHE_SIZE).
struct access_window {
  /// Start of the range.
  void* base = nullptr;
  /// Size in bytes; 0: no range.
  std::size_t bytes = 0;
  /// The fraction of accesses, 0 to 1, that use `hit`; the others use `miss`.
  float hit_ratio = 1.0f;
  cache_hint hit = cache_hint::persisting;
  cache_hint miss = cache_hint::streaming;  ///< must not be persisting
  friend bool operator==(const access_window&, const access_window&) noexcept = default;
};

/// The memory synchronisation domain of a stream: when a kernel makes its writes visible to other
/// devices, it waits only for writes of its own domain. The numbers are the driver's.
enum class sync_domain : int { standard = 0, remote = 1 };

/// Maps the two values of sync_domain to domains of the device. device_attribute::sync_domain_count
/// is the number of domains.
struct sync_domain_map {
  unsigned char standard = 0;
  unsigned char remote = 1;
  friend bool operator==(const sync_domain_map&, const sync_domain_map&) noexcept = default;
};

/// Attributes to set together. If a member is empty, the attribute does not change.
struct stream_settings {
  std::optional<int> priority = {};
  std::optional<weir::sync_policy> sync_policy = {};
  std::optional<weir::access_window> access_window = {};
  std::optional<weir::sync_domain> sync_domain = {};
  std::optional<weir::sync_domain_map> sync_domain_map = {};
};

/// The attributes of a stream. A changed attribute applies to work that is queued after the change.
/// A plain value that borrows the stream.
///
///   weir::stream_attributes{s}.set_sync_policy(weir::sync_policy::block);
///
/// An error text calls the attribute by its member name in stream_settings.
///
/// In a capture: allowed; the captured work has the attributes.
/// In a host function: throws `not_permitted`.
/// Thread safety: all members may be called from any thread.
/// Driver: cuStreamGetAttribute, cuStreamSetAttribute.
class WEIR_EXPORT stream_attributes {
 public:
  /// Refers to the attributes of a stream.
  constexpr explicit stream_attributes(stream_ref stream) noexcept : stream_{stream} {}

  /// Returns the priority; a smaller number is served earlier.
  [[nodiscard]] int priority(call_site at = call_site::current()) const;
  /// Sets the priority. stream_ref::priority() returns the new value, unless it was set directly
  /// through the driver.
  ///
  /// Throws: `invalid_value` with the allowed range if it is outside device::priorities(). (The
  /// driver would silently use the nearest priority.)
  void set_priority(int priority, call_site at = call_site::current()) const;

  /// Returns how a thread waits in sync().
  [[nodiscard]] weir::sync_policy sync_policy(call_site at = call_site::current()) const;
  /// Sets how a thread waits in sync().
  void set_sync_policy(weir::sync_policy policy, call_site at = call_site::current()) const;

  /// Returns the range with special cache behaviour.
  [[nodiscard]] weir::access_window access_window(call_site at = call_site::current()) const;
  /// Sets the range with special cache behaviour.
  void set_access_window(const weir::access_window& window,
                         call_site at = call_site::current()) const;

  /// Returns the synchronisation domain.
  [[nodiscard]] weir::sync_domain sync_domain(call_site at = call_site::current()) const;
  /// Sets the synchronisation domain.
  void set_sync_domain(weir::sync_domain domain, call_site at = call_site::current()) const;

  /// Returns the mapping of domains.
  [[nodiscard]] weir::sync_domain_map sync_domain_map(call_site at = call_site::current()) const;
  /// Sets the mapping of domains.
  void set_sync_domain_map(weir::sync_domain_map map, call_site at = call_site::current()) const;

  /// Sets all attributes that are present, or none. If one cannot be set, or memory runs out, the
  /// attributes that were set before it get their previous values again.
  ///
  /// Throws: the error of the attribute that could not be set, with its name. If the driver refuses
  /// to restore an attribute, that attribute stays changed, and the driver's error is attached
  /// (error::attached()).
  void set(const stream_settings& settings, call_site at = call_site::current()) const;

  /// Copies all attributes from the stream `source` to this stream. Whether the stream is blocking
  /// does not change, since that is no attribute.
  ///
  /// Throws: `invalid_value` unless both streams belong to one context, or to green contexts of it.
  /// Driver: cuStreamCopyAttributes.
  void copy_from(stream_ref source, call_site at = call_site::current()) const;

 private:
  stream_ref stream_;
};

/// Creates a stream with these attributes on the primary context of a device. On failure nothing is
/// left behind.
[[nodiscard]] WEIR_EXPORT stream make_stream(device gpu, const stream_options& options,
                                             const stream_settings& settings,
                                             call_site at = call_site::current());
/// Creates a stream with these attributes on a context. On failure nothing is left behind.
[[nodiscard]] WEIR_EXPORT stream make_stream(context_ref context, const stream_options& options,
                                             const stream_settings& settings,
                                             call_site at = call_site::current());

}  // namespace weir
