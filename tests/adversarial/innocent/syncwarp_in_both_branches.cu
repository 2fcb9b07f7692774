// The halves of a warp wait at two different __syncwarp(), which since Volta may be different instructions.
// sizes: 5x40x30
// config: block=32
// grid: ceil(n/16), m

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float part[32];
    const int lane = threadIdx.x, row = blockIdx.y, column = blockIdx.x * 16 + lane % 16;
    float sum = 0.0f;
    for (int p = lane / 16; p < k && column < n; p += 2)
        sum += A[row * k + p] * B[p * n + column];
    if (lane < 16) {
        asm volatile("// the lanes that store");  // so that the compiler does not make one barrier of the two
        __syncwarp();
        if (column < n)
            C[row * n + column] = sum + part[lane + 16];
    } else {
        part[lane] = sum;
        __syncwarp();
    }
}
