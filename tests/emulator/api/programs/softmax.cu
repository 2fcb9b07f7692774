// The softmax of each row, by a block of one warp.
// given: x = random().standard_normal((3, 70), np.float32); y = np.zeros_like(x)
// given: exponentials = np.exp(x - x.max(axis=1, keepdims=True))
// launch: softmax<<<3, 32>>>(x, y, 70)
// expect: y = exponentials / exponentials.sum(axis=1, keepdims=True) within 1e-6
extern "C" __global__ void softmax(const float* x, float* y, int columns)
{
    __shared__ float exponentials[1024];
    const float* row = x + blockIdx.x * columns;
    float largest = -1e38f, sum = 0;
#ifdef WRONG_INDEX
    for (int j = threadIdx.x; j < columns; j += 32)
        largest = fmaxf(largest, row[j + 1]);  // WRONG_INDEX: out-of-bounds-read
#else
    for (int j = threadIdx.x; j < columns; j += 32)
        largest = fmaxf(largest, row[j]);
#endif
    for (int distance = 16; distance; distance /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(0xFFFFFFFF, largest, distance));
    for (int j = threadIdx.x; j < columns; j += 32)
        sum += exponentials[j] = expf(row[j] - largest);
    for (int distance = 16; distance; distance /= 2)
        sum += __shfl_xor_sync(0xFFFFFFFF, sum, distance);
    for (int j = threadIdx.x; j < columns; j += 32)
        y[blockIdx.x * columns + j] = exponentials[j] / sum;
}
