// The softmax of each row, a block of one warp a row.
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
