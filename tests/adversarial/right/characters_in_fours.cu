// Four floats are loaded as a uint4 into shared memory and read back byte by byte, as char4.
// sizes: 33x35x36 10x33x128
// config: block=32x4
// multiples of 4: k

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ uint4 words[4][8];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 4 + y, column = blockIdx.x * 32 + x;
    float sum = 0.0f;
    for (int step = 0; step < k; step += 32) {
        if (x < 8 && row < m && step + 4 * x < k)
            words[y][x] = *reinterpret_cast<const uint4*>(A + row * k + step + 4 * x);
        __syncthreads();
        for (int p = 0; row < m && column < n && p < min(32, k - step); ++p) {
            const uchar4 c = reinterpret_cast<const uchar4*>(words[y])[p];
            sum += __uint_as_float(c.x | c.y << 8 | c.z << 16 | (unsigned)c.w << 24) * B[(step + p) * n + column];
        }
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
