// SPDX-License-Identifier: Apache-2.0
// weir/atomics.h - atomic functions of every scope, and fences. They order nothing but themselves, as on a GPU.
#pragma once

WEIR_HD void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
WEIR_HD void __threadfence_block() { __atomic_thread_fence(__ATOMIC_ACQ_REL); }
WEIR_HD void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// Replaces what is at `p` by f(what is there) in one step; the answer is what was there. For types that the processor
// has no instruction for.
template <class T, class F>
WEIR_HD T weir_atomic(T* p, F f) {
  typedef typename weir_bits<sizeof(T)>::type bits;
  bits old = __atomic_load_n((bits*)p, __ATOMIC_RELAXED);
  for (;;) {
    const bits now = weir_cast<bits>((T)f(weir_cast<T>(old)));
    if (__atomic_compare_exchange_n((bits*)p, &old, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return weir_cast<T>(old);
  }
}
template <class T, bool Integral>
struct weir_atomic_sum {
  static WEIR_HIDDEN inline T add(T* p, T v) {
    return weir_atomic(p, [v](T x) { return x + v; });
  }
};
template <class T>
struct weir_atomic_sum<T, true> {
  static WEIR_HIDDEN inline T add(T* p, T v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
};

#define WEIR_ATOMIC_OPERATION(name, expression)         \
  template <class T>                                    \
  WEIR_HD T name(T* p, typename weir_same<T>::type v) { \
    return expression;                                  \
  }
#define WEIR_ATOMICS(s)                                                                                         \
  WEIR_ATOMIC_OPERATION(atomicAdd##s, (weir_atomic_sum<T, weir_integral<T>::value>::add(p, v)))                 \
  WEIR_ATOMIC_OPERATION(atomicSub##s, (weir_atomic_sum<T, weir_integral<T>::value>::add(p, (T)-v)))             \
  WEIR_ATOMIC_OPERATION(atomicAnd##s, __atomic_fetch_and(p, v, __ATOMIC_RELAXED))                               \
  WEIR_ATOMIC_OPERATION(atomicOr##s, __atomic_fetch_or(p, v, __ATOMIC_RELAXED))                                 \
  WEIR_ATOMIC_OPERATION(atomicXor##s, __atomic_fetch_xor(p, v, __ATOMIC_RELAXED))                               \
  WEIR_ATOMIC_OPERATION(atomicMin##s, (weir_atomic_limit<T>(p, v, [](T now, T next) { return next < now; })))   \
  WEIR_ATOMIC_OPERATION(atomicMax##s, (weir_atomic_limit<T>(p, v, [](T now, T next) { return next > now; })))   \
  WEIR_ATOMIC_OPERATION(atomicInc##s, (weir_atomic(p, [v](T x) { return x >= v ? T(0) : T(x + 1); })))          \
  WEIR_ATOMIC_OPERATION(atomicDec##s, (weir_atomic(p, [v](T x) { return x == 0 || x > v ? v : T(x - 1); })))    \
  template <class T>                                                                                            \
  WEIR_HD T atomicExch##s(T* p, typename weir_same<T>::type v) {                                                \
    typedef typename weir_bits<sizeof(T)>::type bits;                                                           \
    return weir_cast<T>(__atomic_exchange_n((bits*)p, weir_cast<bits>(v), __ATOMIC_RELAXED));                   \
  }                                                                                                             \
  template <class T>                                                                                            \
  WEIR_HD T atomicCAS##s(T* p, typename weir_same<T>::type expected, typename weir_same<T>::type v) {           \
    typedef typename weir_bits<sizeof(T)>::type bits;                                                           \
    bits old = weir_cast<bits>(expected);                                                                       \
    __atomic_compare_exchange_n((bits*)p, &old, weir_cast<bits>(v), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
    return weir_cast<T>(old);                                                                                   \
  }                                                                                                             \
  WEIR_HD float2 atomicAdd##s(float2* p, float2 v) {                                                            \
    const float x = atomicAdd##s(&p->x, v.x), y = atomicAdd##s(&p->y, v.y);                                     \
    return float2{x, y};                                                                                        \
  }                                                                                                             \
  WEIR_HD float4 atomicAdd##s(float4* p, float4 v) {                                                            \
    const float x = atomicAdd##s(&p->x, v.x), y = atomicAdd##s(&p->y, v.y);                                     \
    const float z = atomicAdd##s(&p->z, v.z), w = atomicAdd##s(&p->w, v.w);                                     \
    return float4{x, y, z, w};                                                                                  \
  }

// Most calls change nothing: they do not write.
template <class T, class F>
WEIR_HD T weir_atomic_limit(T* p, T v, F better) {
  T old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (better(old, v))
    if (__atomic_compare_exchange_n(p, &old, v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) break;
  return old;
}
WEIR_ATOMICS()
WEIR_ATOMICS(_system)
#undef WEIR_ATOMICS
#undef WEIR_ATOMIC_OPERATION

// A block runs on one thread of the host, so nothing of it comes between a load and the store that follows; and the
// processor's atomic instructions take many times as long. Sources with threads that spin, which are interrupted, use the
// forms above.
#define WEIR_BLOCK_OPERATION(name, expression)                  \
  template <class T>                                            \
  WEIR_HD T name##_block(T* p, typename weir_same<T>::type v) { \
    const T x = *p;                                             \
    *p = expression;                                            \
    return x;                                                   \
  }
WEIR_BLOCK_OPERATION(atomicAdd, T(x + v))
WEIR_BLOCK_OPERATION(atomicSub, T(x - v))
WEIR_BLOCK_OPERATION(atomicAnd, T(x & v))
WEIR_BLOCK_OPERATION(atomicOr, T(x | v))
WEIR_BLOCK_OPERATION(atomicXor, T(x ^ v))
WEIR_BLOCK_OPERATION(atomicMin, v < x ? v : x)
WEIR_BLOCK_OPERATION(atomicMax, v > x ? v : x)
WEIR_BLOCK_OPERATION(atomicInc, x >= v ? T(0) : T(x + 1))
WEIR_BLOCK_OPERATION(atomicDec, x == 0 || x > v ? v : T(x - 1))
WEIR_BLOCK_OPERATION(atomicExch, v)
#undef WEIR_BLOCK_OPERATION
template <class T>
WEIR_HD T atomicCAS_block(T* p, typename weir_same<T>::type expected, typename weir_same<T>::type v) {
  typedef typename weir_bits<sizeof(T)>::type bits;
  const T x = *p;
  if (weir_cast<bits>(x) == weir_cast<bits>((T)expected)) *p = v;
  return x;
}
WEIR_HD float2 atomicAdd_block(float2* p, float2 v) {
  const float x = atomicAdd_block(&p->x, v.x), y = atomicAdd_block(&p->y, v.y);
  return float2{x, y};
}
WEIR_HD float4 atomicAdd_block(float4* p, float4 v) {
  const float x = atomicAdd_block(&p->x, v.x), y = atomicAdd_block(&p->y, v.y);
  const float z = atomicAdd_block(&p->z, v.z), w = atomicAdd_block(&p->w, v.w);
  return float4{x, y, z, w};
}
