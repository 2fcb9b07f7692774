"""Stand-ins for headers of the host: sources of kernels include them, and NVRTC does not have them.

NVRTC knows printf, assert, memcpy, size_t and the mathematical functions without a header. Of cuda.h, which it cannot
compile, kernels need the type of tensor maps.
"""

from __future__ import annotations

_KNOWN = "cassert assert.h cstddef stddef.h cstdio stdio.h cstdlib stdlib.h cstring string.h iostream"
_INTEGERS = """#pragma once
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef unsigned long long uint64_t; typedef long long intptr_t; typedef unsigned long long uintptr_t;
namespace std {
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t; using ::intptr_t; using ::uintptr_t;
}
"""
_LIMITS = """#pragma once
#define CHAR_BIT 8
#define INT_MAX __INT_MAX__
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX (2U * INT_MAX + 1)
#define LLONG_MAX __LONG_LONG_MAX__
#define LLONG_MIN (-LLONG_MAX - 1)
#define ULLONG_MAX (2ULL * LLONG_MAX + 1)
"""
_FLOATS = """#pragma once
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623157e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
"""
_MATH = """#pragma once
#define M_PI 3.14159265358979323846
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
"""
_DRIVER = """#pragma once
typedef struct CUtensorMap_st { alignas(64) unsigned long long opaque[16]; } CUtensorMap;
"""

HOST_HEADERS = {
    "cuda.h": _DRIVER,
    **dict.fromkeys(_KNOWN.split(), ""),
    **dict.fromkeys(("cmath", "math.h"), _MATH),
    **dict.fromkeys(("cstdint", "stdint.h"), _INTEGERS),
    **dict.fromkeys(("climits", "limits.h"), _LIMITS),
    **dict.fromkeys(("cfloat", "float.h"), _FLOATS),
}
"""The content of each stand-in, by the name that a source includes."""
