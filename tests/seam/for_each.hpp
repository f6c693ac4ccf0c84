// SPDX-License-Identifier: Apache-2.0
// seam/for_each.hpp - a macro over a list of arguments.
#pragma once

// WEIR_FOR_EACH(m, x, a, b, c) is m(x, a) m(x, b) m(x, c), for up to 64 arguments. Each level of
// WEIR_AGAIN rescans the rest, so that a macro can occur in its own expansion.
#define WEIR_FOR_EACH(m, x, ...) __VA_OPT__(WEIR_AGAIN3(WEIR_NEXT(m, x, __VA_ARGS__)))
#define WEIR_NEXT(m, x, first, ...) \
  m(x, first) __VA_OPT__(WEIR_NEXT_LATER WEIR_PARENTHESES(m, x, __VA_ARGS__))
#define WEIR_NEXT_LATER() WEIR_NEXT
#define WEIR_PARENTHESES ()
#define WEIR_AGAIN3(...) WEIR_AGAIN2(WEIR_AGAIN2(WEIR_AGAIN2(WEIR_AGAIN2(__VA_ARGS__))))
#define WEIR_AGAIN2(...) WEIR_AGAIN1(WEIR_AGAIN1(WEIR_AGAIN1(WEIR_AGAIN1(__VA_ARGS__))))
#define WEIR_AGAIN1(...) WEIR_AGAIN0(WEIR_AGAIN0(WEIR_AGAIN0(WEIR_AGAIN0(__VA_ARGS__))))
#define WEIR_AGAIN0(...) __VA_ARGS__
