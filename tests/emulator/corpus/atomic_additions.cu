// Atomic additions all count.
// given: zeros(1), zeros(4, f32)
// launch: grid=(50,), block=(64,)
// P = [sum(range(3200))]
// Q = [400.0] * 4
extern "C" __global__ void f(int* total, float* sums) {
    atomicAdd(total, blockIdx.x * blockDim.x + threadIdx.x);
    atomicAdd(&sums[threadIdx.x % 4], 0.5f);
}
