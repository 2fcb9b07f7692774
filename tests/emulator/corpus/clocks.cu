// Clocks count what has been executed.
// given: zeros(2, np.int64)
// launch: block=(1,)
// (P[0] > 0 and P[1] >= 0) = True
extern "C" __global__ void f(long long* out) {
    const long long begin = clock64();
    out[1] = clock();
    __syncthreads();
    out[0] = clock64() - begin;
}
