// The mean of each point and its four neighbours, from a tile with a halo; points outside the grid are zero.
// given: x = random().standard_normal((20, 37)); y = np.zeros_like(x); p = np.pad(x, 1)
// launch: stencil<<<(3, 2), (16, 16)>>>(x, y, 20, 37)
// expect: y = (x + p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]) / 5 within 1e-12
constexpr int TILE = 16;

extern "C" __global__ void stencil(const double* in, double* out, int height, int width)
{
    __shared__ double tile[TILE + 2][TILE + 2];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    auto at = [&](int i, int j) { return 0 <= i && i < height && 0 <= j && j < width ? in[i * width + j] : 0.0; };
    int i = threadIdx.y + 1, j = threadIdx.x + 1;
    tile[i][j] = at(row, column);
    if (threadIdx.y == 0)
        tile[0][j] = at(row - 1, column);
    if (threadIdx.y == TILE - 1)
        tile[TILE + 1][j] = at(row + 1, column);
    if (threadIdx.x == 0)
        tile[i][0] = at(row, column - 1);
#ifndef MISSING_HALO
    if (threadIdx.x == TILE - 1)
        tile[i][TILE + 1] = at(row, column + 1);
#endif
    __syncthreads();
    double sum = tile[i][j] + tile[i - 1][j] + tile[i + 1][j];
    sum += tile[i][j - 1] + tile[i][j + 1];  // MISSING_HALO: uninitialized-read
    if (row < height && column < width)
        out[row * width + column] = sum / 5;
}
