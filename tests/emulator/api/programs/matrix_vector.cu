// y = A x, by a warp per row with loads of four elements.
// given: a = random().integers(-9, 9, (6, 136)).astype(np.float32); x = np.arange(136, dtype=np.float32)
// given: y = np.zeros(6, np.float32)
// launch: matrix_vector<<<3, (32, 2)>>>(a, x, y, 136)
// expect: y = a @ x
extern "C" __global__ void matrix_vector(const float* a, const float* x, float* y, int columns)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
#ifdef UNALIGNED
    const float* first = a + row * columns + 1;
    int quads = columns / 4 - 1;
#else
    const float* first = a + row * columns;
    int quads = columns / 4;
#endif
    float sum = 0;
    for (int j = threadIdx.x; j < quads; j += 32) {
        float4 of_a = reinterpret_cast<const float4*>(first)[j];  // UNALIGNED: misaligned
        float4 of_x = reinterpret_cast<const float4*>(x)[j];
        sum += of_a.x * of_x.x + of_a.y * of_x.y + of_a.z * of_x.z + of_a.w * of_x.w;
    }
    for (int distance = 16; distance; distance /= 2)
        sum += __shfl_down_sync(0xFFFFFFFF, sum, distance);
    if (threadIdx.x == 0)
        y[row] = sum;
}
