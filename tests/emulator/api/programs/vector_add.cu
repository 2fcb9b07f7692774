// One thread adds one element: c = a + b.
// given: a, b = random().standard_normal((2, 1000), np.float32); c = np.zeros(1000, np.float32)
// launch: vector_add<<<8, 128>>>(a, b, c, 1000)
// expect: c = a + b
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
