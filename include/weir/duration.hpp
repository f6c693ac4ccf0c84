// weir/duration.hpp - durations and deadlines without <chrono>, which costs a quarter of a second to include.
#pragma once

namespace weir::detail {

// A std::chrono::duration, or anything shaped like one.
template <class D>
concept duration_like = requires(const D& d) {
  static_cast<long double>(d.count());
  D::period::num;
  D::period::den;
};

// A std::chrono::time_point, or anything shaped like one.
template <class T>
concept time_point_like = requires(const T& t) {
  { t - T::clock::now() } -> duration_like;
};

// The longest wait, 292 years, in nanoseconds.
inline constexpr long long forever = 0x7fff'ffff'ffff'ffff;

// The duration in whole nanoseconds, rounded up so that a wait is never too short; what does not fit is `forever`.
template <duration_like D>
constexpr long long nanoseconds(const D& d) {
  const long double exact = static_cast<long double>(d.count()) * D::period::num / D::period::den * 1e9L;
  if (!(exact > 0)) return 0;
  if (exact >= 9.2e18L) return forever;
  const auto whole = static_cast<long long>(exact);
  return whole + (static_cast<long double>(whole) < exact ? 1 : 0);
}

// The nanoseconds from now to a deadline; none if it has passed, also if it is further back than a duration can tell.
template <time_point_like T>
long long nanoseconds_until(const T& deadline) {
  const auto now = T::clock::now();
  return deadline <= now ? 0 : nanoseconds(deadline - now);
}

}  // namespace weir::detail
