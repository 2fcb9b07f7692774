// A filter with five weights in constant memory, and the number of filtered elements.
// given: x = random().standard_normal(100, np.float32); y = np.zeros_like(x)
// given: weights = np.arange(1, 6, dtype=np.float32) / 15; filtered = np.zeros(1, np.uint32)
// launch: filter<<<2, 64>>>(x, y, 100)
// variables: weights=weights, filtered=filtered
// expect: y = np.convolve(np.pad(x, 2, mode="edge"), weights[::-1], "valid") within 1e-5
__constant__ float weights[5];
__device__ unsigned filtered;

extern "C" __global__ void filter(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float sum = 0;
    for (int j = 0; j < 5; j++)
        sum += weights[j] * x[min(max(i + j - 2, 0), n - 1)];
    y[i] = sum;
    atomicAdd(&filtered, 1);
}
