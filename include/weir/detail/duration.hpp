// SPDX-License-Identifier: Apache-2.0
// weir/detail/duration.hpp - durations and deadlines without <chrono>, which takes a quarter of a
// second to include.
#pragma once

namespace weir::detail {

/// A std::chrono::duration or a type with its interface.
template <class D>
concept duration_like = requires(const D& d) {
  static_cast<long double>(d.count());
  D::period::num;
  D::period::den;
};

/// A std::chrono::time_point or a type with its interface.
template <class T>
concept time_point_like = requires(const T& t) {
  { t.time_since_epoch() } -> duration_like;
  { T::clock::now().time_since_epoch() } -> duration_like;
};

/// The longest wait, 292 years, in nanoseconds.
inline constexpr long long forever = 0x7fff'ffff'ffff'ffff;

/// Converts a duration to nanoseconds, not rounded.
template <duration_like D>
constexpr long double exact_nanoseconds(const D& d) {
  return static_cast<long double>(d.count()) * (1e9L * D::period::num / D::period::den);
}

/// Rounds up to whole nanoseconds, so that a wait is never too short. Returns 0 for a negative
/// number, and `forever` if the result does not fit.
constexpr long long whole_nanoseconds(long double exact) {
  if (!(exact > 0)) return 0;
  if (exact >= 9.2e18L) return forever;
  const auto whole = static_cast<long long>(exact);
  return whole + (static_cast<long double>(whole) < exact ? 1 : 0);
}

/// Converts a duration to whole nanoseconds, as whole_nanoseconds().
template <duration_like D>
constexpr long long nanoseconds(const D& d) {
  return whole_nanoseconds(exact_nanoseconds(d));
}

/// Returns the nanoseconds from now to a deadline; 0 if the deadline has passed. Also correct if
/// the difference does not fit the clock's own duration type.
template <time_point_like T>
long long nanoseconds_until(const T& deadline) {
  return whole_nanoseconds(exact_nanoseconds(deadline.time_since_epoch()) -
                           exact_nanoseconds(T::clock::now().time_since_epoch()));
}

}  // namespace weir::detail
