// A function is called from branches that diverge within a warp.
// with ARCH: 75 | 90 | 100
// given: zeros(64)
// launch: block=(64,), architecture="ARCH"
// P[t] = collatz(t)[0] + 1000 if t % 3 else collatz(t + 7)[0]
__device__ __noinline__ int steps(int x) {
    int count = 0;
    while (x > 1) { x = x % 2 ? 3 * x + 1 : x / 2; ++count; }
    return count;
}
extern "C" __global__ void f(int* out) {
    const int t = threadIdx.x;
    if (t % 3) out[t] = steps(t) + 1000;
    else out[t] = steps(t + 7);
}
