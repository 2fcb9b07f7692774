// Atomic additions in global and in shared memory.
extern "C" __global__ void f(unsigned long long* out, const unsigned long long* in) {
    __shared__ float s[128];
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float* global = (float*)out + 2 * t;
    s[threadIdx.x] = *global = __uint_as_float(in[4 * t]);
    atomicAdd(global, __uint_as_float(in[4 * t + 1]));
    atomicAdd(&s[threadIdx.x], __uint_as_float(in[4 * t + 1]));
    global[1] = s[threadIdx.x];
}
