//// uncoalesced: slow
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x, col = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col]; // here
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(A, B, C, n); }
//// uncoalesced: better
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(A, B, C, n); }
//// little reuse: slow
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col]; // here
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 32, n / 8), dim3(32, 8)>>>(A, B, C, n); }
//// little reuse: better
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    __shared__ float a[32][64], b[32][64];
    int tx = threadIdx.x, ty = threadIdx.y, first = (ty * 16 + tx), row = blockIdx.y * 64, col = blockIdx.x * 64;
    float sum[4][4] = {};
    for (int t = 0; t < n; t += 32) {
        for (int i = first; i < 32 * 64; i += 256) {
            a[i % 32][(i / 32 + i % 32) % 64] = A[(row + i / 32) * n + t + i % 32];
            b[i / 64][i % 64] = B[(t + i / 64) * n + col + i % 64];
        }
        __syncthreads();
        for (int k = 0; k < 32; k++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) sum[i][j] += a[k][(ty + 16 * i + k) % 64] * b[k][tx + 16 * j];
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) C[(row + ty + 16 * i) * n + col + tx + 16 * j] = sum[i][j];
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 64, n / 64), dim3(16, 16)>>>(A, B, C, n); }
//// bank conflicts: slow
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    __shared__ float a[32][32], b[32][32];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 32 + ty, col = blockIdx.x * 32 + tx;
    float sum = 0;
    for (int t = 0; t < n; t += 32) {
        a[ty][tx] = A[row * n + t + tx];
        b[tx][ty] = B[(t + ty) * n + col];
        __syncthreads();
        for (int k = 0; k < 32; k++) sum += a[ty][k] * b[tx][k]; // here
        __syncthreads();
    }
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(A, B, C, n); }
//// bank conflicts: better
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    __shared__ float a[32][32], b[32][33];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 32 + ty, col = blockIdx.x * 32 + tx;
    float sum = 0;
    for (int t = 0; t < n; t += 32) {
        a[ty][tx] = A[row * n + t + tx];
        b[tx][ty] = B[(t + ty) * n + col];
        __syncthreads();
        for (int k = 0; k < 32; k++) sum += a[ty][k] * b[tx][k];
        __syncthreads();
    }
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(A, B, C, n); }
//// sum in memory: slow
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    C[row * n + col] = 0;
    for (int k = 0; k < n; k++) C[row * n + col] += A[row * n + k] * B[k * n + col]; // here
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(A, B, C, n); }
//// sum in memory: better
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(A, B, C, n); }
//// atomics: slow
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    for (int k = 0; k < n; k++) atomicAdd(&C[row * n + col], A[row * n + k] * B[k * n + col]); // here
}
void run(const float *A, const float *B, float *C, int n)
{
    cudaMemset(C, 0, n * n * sizeof(float));
    mm<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(A, B, C, n);
}
//// atomics: better
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col];
    atomicAdd(&C[row * n + col], sum);
}
void run(const float *A, const float *B, float *C, int n)
{
    cudaMemset(C, 0, n * n * sizeof(float));
    mm<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(A, B, C, n);
}
//// double: slow
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += 1.0 * A[row * n + k] * B[k * n + col]; // here
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(A, B, C, n); }
//// double: better
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += 1.0f * A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(A, B, C, n); }
//// division: slow
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int i = 0; i < n; i++) {
        int k = (i + row) % n; // here
        sum += A[row * n + k] * B[k * n + col];
    }
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(A, B, C, n); }
//// division: better
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int i = 0, k = row; i < n; i++, k++) {
        if (k >= n) k = 0;
        sum += A[row * n + k] * B[k * n + col];
    }
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(A, B, C, n); }
//// repeated work: slow
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int row = blockIdx.y, col = blockIdx.x * 64;
    for (int i = 0; i < 64; i++) {
        float sum = 0;
        for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col + i]; // here
        C[row * n + col + i] = sum;
    }
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 64, n), 64>>>(A, B, C, n); }
//// repeated work: better
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int row = blockIdx.y, col = blockIdx.x * 64 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 64, n), 64>>>(A, B, C, n); }
//// local memory: slow
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int count = 2 * blockDim.y; // 8, which the compiler does not know
    float sum[8];
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = (blockIdx.y * blockDim.y + threadIdx.y) * count;
    for (int i = 0; i < count; i++) sum[i] = 0;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < count; i++) sum[i] += A[(row + i) * n + k] * B[k * n + col]; // here
    for (int i = 0; i < count; i++) C[(row + i) * n + col] = sum[i];
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 32, n / 32), dim3(32, 4)>>>(A, B, C, n); }
//// local memory: better
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    float sum[8] = {};
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = (blockIdx.y * blockDim.y + threadIdx.y) * 8;
    for (int k = 0; k < n; k++)
#pragma unroll
        for (int i = 0; i < 8; i++) sum[i] += A[(row + i) * n + k] * B[k * n + col];
#pragma unroll
    for (int i = 0; i < 8; i++) C[(row + i) * n + col] = sum[i];
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 32, n / 32), dim3(32, 4)>>>(A, B, C, n); }
//// incomplete warps: slow
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 4, n / 4), dim3(4, 4)>>>(A, B, C, n); }
//// incomplete warps: better
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(A, B, C, n); }
//// few blocks: slow
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(A, B, C, n); }
//// few blocks: better
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 32, n / 4), dim3(32, 4)>>>(A, B, C, n); }
//// few warps: slow
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    __shared__ float b[11000];
    int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) {
        b[threadIdx.x] = B[k * n + col];
        sum += A[row * n + k] * b[threadIdx.x];
    }
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 32, n), 32>>>(A, B, C, n); }
//// few warps: better
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    __shared__ float b[32];
    int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) {
        b[threadIdx.x] = B[k * n + col];
        sum += A[row * n + k] * b[threadIdx.x];
    }
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 32, n), 32>>>(A, B, C, n); }
//// last wave: slow
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(A, B, C, n); }
//// last wave: better
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 32, n / 4), dim3(32, 4)>>>(A, B, C, n); }
