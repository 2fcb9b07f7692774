// The transpose through a tile in shared memory; its padding column spreads the rows over the banks.
// given: x = np.arange(40 * 50, dtype=np.float64).reshape(40, 50); y = np.zeros((50, 40))
// launch: transpose<double><<<(2, 2), (32, 32)>>>(x, y, 40, 50)
// expect: y = x.T
#ifdef NO_PADDING
constexpr int PADDING = 0;
#else
constexpr int PADDING = 1;
#endif

template <typename T>
__global__ void transpose(const T* in, T* out, int height, int width)
{
    __shared__ T tile[32][32 + PADDING];
    int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    if (row < height && column < width)
        tile[threadIdx.y][threadIdx.x] = in[row * width + column];
    __syncthreads();
    row = blockIdx.x * 32 + threadIdx.y, column = blockIdx.y * 32 + threadIdx.x;
    if (row < width && column < height)
        out[row * height + column] = tile[threadIdx.x][threadIdx.y];
}
