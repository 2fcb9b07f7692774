//// a function that both call
constexpr int twice(int x) { return 2 * x; }
#define VALUE twice(n)
//// a template that both call
template <class T>
constexpr T twice(T x) { return 2 * x; }
#define VALUE twice(n)
//// what is there for its type
#include <type_traits>
template <class T> std::true_type test(T*);
auto test(...) -> std::false_type;
#define VALUE decltype(test((int*)0))::value
//// a constant
const int N = 3;
constexpr float M[] = {1, 2};
int main() { return N; }
#define VALUE N + M[1]
//// a class
struct P { int m; P(int x) : m(x) {} int get() const { return m; } };
__device__ P* p;
#define VALUE p->m
//// members of both
struct P { int m; void print() { puts(0); } __host__ __device__ int get() { return m; } };
__device__ P* p;
#define VALUE p->get()
//// a namespace
namespace a { namespace b { void host() {} __device__ int g() { return 1; } } }
#define VALUE a::b::g()
//// what a macro annotates
#define DEVICE __device__ __forceinline__
DEVICE int g() { return 1; }
void h() {}
#define VALUE g()
//// inline assembly
__device__ int g() { int x; asm volatile("mov.u32 %0, %%laneid;" : "=r"(x)); return x; }
void h() {}
#define VALUE g()
//// bounds and clusters
__global__ void __launch_bounds__(64, 2) __cluster_dims__(2, 1, 1) g() {}
void h() {}
#define VALUE 1
//// shared memory
__device__ int g() { extern __shared__ __align__(128) char s[]; return s[0]; }
void h() {}
#define VALUE g()
//// a half that a macro chooses
#if defined(__CUDA_ARCH__)
__device__ int g() { return 1; }
#else
int g() { return 2; }
#endif
void h() {}
#define VALUE g()
//// brackets of C
#ifdef __cplusplus
extern "C" {
#endif
void h();
__device__ int g() { return 1; }
#ifdef __cplusplus
}
#endif
#define VALUE g()
//// std's functions
#include <algorithm>
#define VALUE std::min(n, 3) + std::max(1.f, A[0]) + std::sqrt(A[1])
//// std's types
#include <cstdint>
#define VALUE uint32_t(n) + std::int64_t(n) + std::size_t(n) + uint(n)
//// std's traits
#include <type_traits>
#include <limits>
int main() { }
#define VALUE std::is_same<int, int>::value + std::numeric_limits<float>::max()
//// constants of C
#include <cmath>
#include <cfloat>
#include <limits.h>
#define VALUE M_PI + INFINITY + FLT_MAX + INT_MAX
//// what C has
#include <assert.h>
#include <stdio.h>
#define VALUE (assert(n), printf("%d", n))
//// a lambda of the device
template <class F> __global__ void g(F f) { f(1); }
void h() { g<<<1, 1>>>([=] __device__ (int x) { return x; }); }
#define VALUE 1
//// a kernel that is not asked for
__global__ void g() { std::vector<int> v; }
#define VALUE 1
//// the driver's types
#include <cuda.h>
__global__ void g(const __grid_constant__ CUtensorMap map) {}
#define VALUE 1
//// instances
template <int N> __global__ void g() {}
template __global__ void g<3>();
template <int N> void h() {}
template void h<3>();
#define VALUE 1
//// declared instances
template <class T> void h(T x);
template <class T> int i(T x);
template <class T> void h(T x) { f<<<1, 1>>>(x); }
template <class T> int i(T x) { return puts(x); }
template void h<int>(int x);
template int i<int>(int x);
#define VALUE 1
//// functions of classes
class Timer { public: Timer(); ~Timer(); void start(); std::string name; };
Timer::Timer() {}
void Timer::start() { }
#define VALUE 1
//// virtual functions
struct Base { virtual void run() = 0; virtual ~Base() = default; };
struct Other : Base { void run() override {} };
#define VALUE 1
//// libraries of templates
#include <thrust/host_vector.h>
thrust::host_vector<int> all;
#define VALUE 1
//// statements that #if splits
__device__ float g(float x, float y)
{
    float z;
    asm volatile(
#if __CUDA_ARCH__ >= 900
"fma.rn.f32 %0, %1, %2, %2;\n"
#else
"mul.f32 %0, %1, %2;\n"
#endif
: "=f"(z) : "f"(x), "f"(y));
    for (int i = 0; i < 2; i++) {
asm volatile(
#if __CUDA_ARCH__ >= 900
"fma.rn.f32 %0, %1, %2, %2;\n"
#else
"mul.f32 %0, %1, %2;\n"
#endif
: "=f"(z) : "f"(x), "f"(y));
    }
    return z;
}
int main() { }
#define VALUE g(A[0], B[0])
//// a function that #if splits
#ifdef DOUBLE
__device__ double g(double x) {
    double y = x;
#else
__device__ float g(float x) {
    float y = x;
#endif
    return y;
}
int main() { }
#define VALUE g(A[0])
//// a class in a function
__device__ float g(float x) { struct L { float get(float y) { return y; } }; return L().get(x); }
int main() { }
#define VALUE g(A[0])
//// lines with other numbers
__device__ float g(float x) { return x; }
#line 1
int main() { }
#define VALUE g(A[0])
//// a wrapper of the same name
template <class T> void f(std::vector<T>& a, int) { std::sort(a.begin()); }
int main() { std::vector<int> v; f(v, 3); }
#define VALUE 1
//// operators of the host
#include <iostream>
struct M { float x; };
template <class T> std::ostream& operator<<(std::ostream& o, const std::vector<T>& v) { return o << v[0]; }
#define VALUE 1
//// constants that are no macros
#include <type_traits>
enum class Kind { FP_NAN, FP_ZERO };
int main() { }
#define VALUE std::is_same<int, int>::value + int(Kind::FP_ZERO)
