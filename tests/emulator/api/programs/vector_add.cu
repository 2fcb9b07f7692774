// c = a + b, an element a thread.
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef OFF_BY_ONE
    if (i <= n)
#else
    if (i < n)
#endif
        c[i] = a[i] + b[i];  // OFF_BY_ONE: out-of-bounds-write
}
