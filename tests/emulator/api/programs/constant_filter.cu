// A filter of five weights in constant memory, and how many elements were filtered.
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
