#pragma once
namespace acme {
enum {
FP_NAN =
#define FP_NAN 0
FP_NAN,
FP_ZERO =
#define FP_ZERO 2
FP_ZERO
};
struct Adapter { virtual ~Adapter() = default; virtual int launch(void** arguments) const = 0; };
template <int N> constexpr int twice() { return 2 * N; }
template <class T> struct Tile { T kept; Tile(T x) : kept(x) {} T get() const { return kept; } };
}
