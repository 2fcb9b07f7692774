// A variable holds its initial value, or zeros.
// given: zeros(1, f64), i32(1)
// launch: block=(1,), options=OPTIONS
// with OPTIONS: () | ("-rdc=true",)
// with DECLARED, VALUE, WANTED: __device__ int x; -> x -> 0 | __device__ int x = -7; -> x -> -7
// with DECLARED, VALUE, WANTED: __device__ short x = -7; -> x -> -7 | __device__ bool x = true; -> x -> 1
// with DECLARED, VALUE, WANTED: __device__ unsigned char x[3] = {1, 250}; -> x[i] + x[i + 1] -> 250
// with DECLARED, VALUE, WANTED: __device__ long long x = -123456789012345LL; -> x -> -123456789012345
// with DECLARED, VALUE, WANTED: __device__ unsigned long long x = ~0ull; -> x >> 40 -> 2**24 - 1
// with DECLARED, VALUE, WANTED: __device__ float x = -0.0f; -> signbit(x) -> 1
// with DECLARED, VALUE, WANTED: __device__ float x = 0.1f; -> x -> f32(0.1) | __device__ double x = 0.1; -> x -> 0.1
// with DECLARED, VALUE, WANTED: __device__ float x[1024]; -> x[1023 * i] -> 0
// with DECLARED, VALUE, WANTED: __device__ const float x[4] = {1.0f, 2.5f, -3.0f, 4.0f}; -> x[i] + x[i + 1] -> -0.5
// with DECLARED, VALUE, WANTED: __device__ int x[2][5] = {{1, 2, 3}, {4, 5, 6, 7, 8}};
//     -> x[i][i + 1] * 10 + x[0][i + 3] -> 60
// with DECLARED, VALUE, WANTED: struct Pair { int a; double b; }; __device__ Pair x[2] = {{1, 2.5}, {3, 4.5}};
//     -> x[i].a + x[i].b -> 7.5
// with DECLARED, VALUE, WANTED: __device__ float4 x = {1, 2, 3, 4}; -> x.x + 10 * x.w -> 41
// with DECLARED, VALUE, WANTED: __constant__ float x[16] = {1.0f, 2.5f}; -> x[i] + x[i + 1] -> 2.5
// with DECLARED, VALUE, WANTED: __constant__ int x = 12; -> x -> 12 | __constant__ double x[2]; -> x[i] -> 0
// with DECLARED, VALUE, WANTED: __managed__ int x = 5; -> x -> 5 | static __device__ int x = 5; -> x -> 5
// with DECLARED, VALUE, WANTED: namespace { __device__ int x = 5; } namespace a { __device__ int x = 6; }
//     -> x * a::x -> 30 | namespace a { namespace b { __device__ int x = 6; } } -> a::b::x -> 6
// with DECLARED, VALUE, WANTED: template <int N> __device__ int x = N; -> x<3> * x<4> -> 12
// with DECLARED, VALUE, WANTED: __device__ int x = 5; inline __device__ int y = 6; -> x + 10 * y -> 65
// with DECLARED, VALUE, WANTED: extern __constant__ int x; __constant__ int x = 7; -> x -> 7
// P[0] = WANTED
DECLARED
extern "C" __global__ void f(double* out, int i) { out[0] = VALUE; }
