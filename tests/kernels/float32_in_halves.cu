#include <cuda_fp16.h>
__device__ float multiplied(float a, float b)
{
    const float high_a = __half2float(__float2half(a)), high_b = __half2float(__float2half(b));
    const float low_a = __half2float(__float2half(a - high_a)), low_b = __half2float(__float2half(b - high_b));
    return high_a * high_b + (low_a * high_b + high_a * low_b);
}
