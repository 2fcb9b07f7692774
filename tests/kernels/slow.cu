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
//// superfluous blocks: slow
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += A[row % n * n + k] * B[k * n + col % n];
    if (row < n && col < n) C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 16 * 3, n / 16), dim3(16, 16)>>>(A, B, C, n); }
//// superfluous blocks: better
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += A[row % n * n + k] * B[k * n + col % n];
    if (row < n && col < n) C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(A, B, C, n); }
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
//// barriers: slow
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    __shared__ float a[32], b[32];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 32, col = blockIdx.x * 32;
    float sum = 0;
    for (int k = 0; k < n; k++) {
        if (ty == 0) a[tx] = A[(row + tx) * n + k];
        if (ty == 1) b[tx] = B[k * n + col + tx];
        __syncthreads(); // here
        sum += a[ty] * b[tx];
        __syncthreads();
    }
    C[(row + ty) * n + col + tx] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(A, B, C, n); }
//// barriers: better
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    __shared__ float a[32][32], b[32][32];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 32 + ty, col = blockIdx.x * 32 + tx;
    float sum = 0;
    for (int t = 0; t < n; t += 32) {
        a[ty][tx] = A[row * n + t + tx];
        b[ty][tx] = B[(t + ty) * n + col];
        __syncthreads();
        for (int k = 0; k < 32; k++) sum += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(A, B, C, n); }
//// no tensor cores: slow
#include <cuda_fp16.h>
__global__ void mm(const half *A, const half *B, float *C, int n)
{
    __shared__ half a[16][16], b[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float sum = 0;
    for (int t = 0; t < n; t += 16) {
        a[ty][tx] = A[row * n + t + tx];
        b[ty][tx] = B[(t + ty) * n + col];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += __half2float(a[ty][k]) * __half2float(b[k][tx]); // here
        __syncthreads();
    }
    C[row * n + col] = sum;
}
void run(const half *A, const half *B, float *C, int n) { mm<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(A, B, C, n); }
//// no tensor cores: better
#include <mma.h>
using namespace nvcuda;
__global__ void mm(const half *A, const half *B, float *C, int n)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    for (int k = 0; k < n; k += 16) {
        wmma::load_matrix_sync(a, A + blockIdx.y * 16 * n + k, n);
        wmma::load_matrix_sync(b, B + k * n + blockIdx.x * 16, n);
        wmma::mma_sync(c, a, b, c);
    }
    wmma::store_matrix_sync(C + blockIdx.y * 16 * n + blockIdx.x * 16, c, n, wmma::mem_row_major);
}
void run(const half *A, const half *B, float *C, int n) { mm<<<dim3(n / 16, n / 16), 32>>>(A, B, C, n); }
//// small product: slow
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 8, n / 8), dim3(8, 8)>>>(A, B, C, n); }
//// small product: better
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 8, n / 8), dim3(8, 8)>>>(A, B, C, n); }
//// spills: slow
__global__ void __launch_bounds__(256, 8) mm(const float *A, const float *B, float *C, int n)
{
    int col = (blockIdx.x * 16 + threadIdx.x) * 8, row = (blockIdx.y * 16 + threadIdx.y) * 8;
    float sum[8][8] = {};
    for (int k = 0; k < n; k++) {
        float a[8], b[8];
#pragma unroll
        for (int i = 0; i < 8; i++) a[i] = A[(row + i) * n + k], b[i] = B[k * n + col + i];
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int j = 0; j < 8; j++) sum[i][j] += a[i] * b[j];
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 8; j++) C[(row + i) * n + col + j] = sum[i][j];
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 128, n / 128), dim3(16, 16)>>>(A, B, C, n); }
//// spills: better
__global__ void __launch_bounds__(256, 1) mm(const float *A, const float *B, float *C, int n)
{
    int col = (blockIdx.x * 16 + threadIdx.x) * 8, row = (blockIdx.y * 16 + threadIdx.y) * 8;
    float sum[8][8] = {};
    for (int k = 0; k < n; k++) {
        float a[8], b[8];
#pragma unroll
        for (int i = 0; i < 8; i++) a[i] = A[(row + i) * n + k], b[i] = B[k * n + col + i];
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int j = 0; j < 8; j++) sum[i][j] += a[i] * b[j];
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 8; j++) C[(row + i) * n + col + j] = sum[i][j];
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 128, n / 128), dim3(16, 16)>>>(A, B, C, n); }
//// divergence: slow
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    if (threadIdx.x % 2 == 0) // here
        for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col];
    else
        for (int k = n - 1; k >= 0; k--) sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 32, n / 8), dim3(32, 8)>>>(A, B, C, n); }
//// divergence: better
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    if (threadIdx.y % 2 == 0)
        for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col];
    else
        for (int k = n - 1; k >= 0; k--) sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 32, n / 8), dim3(32, 8)>>>(A, B, C, n); }
//// index arithmetic: slow
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    __shared__ float a[32 * 64], b[32 * 32];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 64, col = blockIdx.x * 32, w = blockDim.x;
    float sum[4][2] = {};
    for (int t = 0; t < n; t += 32) {
        for (int i = ty * 16 + tx; i < 32 * 64; i += 256)
            a[i % 32 * 4 * w + ((i / 32 ^ i % 32) & (4 * w - 1))] = A[(row + i / 32) * n + t + i % 32];
        for (int i = ty * 16 + tx; i < 32 * 32; i += 256)
            b[i / 32 * 2 * w + ((i % 32 ^ i / 32) & (2 * w - 1))] = B[(t + i / 32) * n + col + i % 32];
        __syncthreads();
#pragma unroll 1
        for (int k = 0; k < 32; k++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 2; j++)
                    sum[i][j] += a[k * 4 * w + ((ty + w * i ^ k) & (4 * w - 1))] * // here
                                 b[k * 2 * w + ((tx + w * j ^ k) & (2 * w - 1))]; // here
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 2; j++) C[(row + ty + 16 * i) * n + col + tx + 16 * j] = sum[i][j];
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 32, n / 64), dim3(16, 16)>>>(A, B, C, n); }
//// index arithmetic: better
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    __shared__ float a[32 * 64], b[32 * 32];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 64, col = blockIdx.x * 32, w = 16;
    float sum[4][2] = {};
    for (int t = 0; t < n; t += 32) {
        for (int i = ty * 16 + tx; i < 32 * 64; i += 256)
            a[i % 32 * 4 * w + ((i / 32 ^ i % 32) & (4 * w - 1))] = A[(row + i / 32) * n + t + i % 32];
        for (int i = ty * 16 + tx; i < 32 * 32; i += 256)
            b[i / 32 * 2 * w + ((i % 32 ^ i / 32) & (2 * w - 1))] = B[(t + i / 32) * n + col + i % 32];
        __syncthreads();
#pragma unroll 32
        for (int k = 0; k < 32; k++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 2; j++)
                    sum[i][j] += a[k * 4 * w + ((ty + w * i ^ k) & (4 * w - 1))] *
                                 b[k * 2 * w + ((tx + w * j ^ k) & (2 * w - 1))];
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 2; j++) C[(row + ty + 16 * i) * n + col + tx + 16 * j] = sum[i][j];
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 32, n / 64), dim3(16, 16)>>>(A, B, C, n); }
//// small copies: slow
__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void copy(float *to, const float *from, int bytes, unsigned long long *full)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" // here
                 ::"r"(at(to)),
                 "l"(from), "r"(bytes), "r"(at(full)) : "memory");
}
__global__ void __launch_bounds__(256) mm(const float *A, const float *B, float *C, int n)
{
    __shared__ __align__(128) float a[64][68], b[64][64];
    __shared__ unsigned long long full;
    int x = threadIdx.x, tx = x % 16, ty = x / 16, row = blockIdx.y * 64, col = blockIdx.x * 64;
    if (x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;" ::"r"(at(&full)));
    float sum[4][4] = {};
    for (int t = 0, phase = 0; t < n; t += 64, phase ^= 1) {
        if (x == 0) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 32768;" ::"r"(at(&full)) : "memory");
        __syncthreads();
        for (int i = x; i < 64 * 16; i += 256) {
            copy(&a[i / 16][i % 16 * 4], A + (row + i / 16) * n + t + i % 16 * 4, 16, &full);
            copy(&b[i / 16][i % 16 * 4], B + (t + i / 16) * n + col + i % 16 * 4, 16, &full);
        }
        for (unsigned done = 0; !done;)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(at(&full)), "r"(phase) : "memory");
        for (int k = 0; k < 64; k++) {
            float4 q = *(float4 *)&b[k][tx * 4];
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) sum[i][j] += a[ty * 4 + i][k] * (&q.x)[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++) *(float4 *)(C + (row + ty * 4 + i) * n + col + tx * 4) = *(float4 *)sum[i];
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 64, n / 64), 256>>>(A, B, C, n); }
//// small copies: better
__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void copy(float *to, const float *from, int bytes, unsigned long long *full)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at(to)),
                 "l"(from), "r"(bytes), "r"(at(full)) : "memory");
}
__global__ void __launch_bounds__(256) mm(const float *A, const float *B, float *C, int n)
{
    __shared__ __align__(128) float a[64][68], b[64][64];
    __shared__ unsigned long long full;
    int x = threadIdx.x, tx = x % 16, ty = x / 16, row = blockIdx.y * 64, col = blockIdx.x * 64;
    if (x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;" ::"r"(at(&full)));
    float sum[4][4] = {};
    for (int t = 0, phase = 0; t < n; t += 64, phase ^= 1) {
        if (x == 0) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 32768;" ::"r"(at(&full)) : "memory");
        __syncthreads();
        if (x < 64) copy(a[x], A + (row + x) * n + t, 256, &full);
        else if (x < 128) copy(b[x - 64], B + (t + x - 64) * n + col, 256, &full);
        for (unsigned done = 0; !done;)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(at(&full)), "r"(phase) : "memory");
        for (int k = 0; k < 64; k++) {
            float4 q = *(float4 *)&b[k][tx * 4];
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) sum[i][j] += a[ty * 4 + i][k] * (&q.x)[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++) *(float4 *)(C + (row + ty * 4 + i) * n + col + tx * 4) = *(float4 *)sum[i];
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 64, n / 64), 256>>>(A, B, C, n); }
//// no overlap: slow
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    __shared__ float4 a[8][32], b[8][32];
    int x = threadIdx.x, tx = x % 16, ty = x / 16, row = blockIdx.y * 128, col = blockIdx.x * 128;
    float sum[8][8] = {};
    for (int t = 0; t < n; t += 8) {
        float4 four = *(const float4 *)(A + (row + x / 2) * n + t + x % 2 * 4); // here
        for (int i = 0; i < 4; i++) ((float *)a[x % 2 * 4 + i])[x / 2] = (&four.x)[i];
        b[x / 32][x % 32] = *(const float4 *)(B + (t + x / 32) * n + col + x % 32 * 4);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 8; k++) {
            float4 p[2] = {a[k][ty], a[k][ty + 16]}, q[2] = {b[k][tx], b[k][tx + 16]};
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 8; j++) sum[i][j] += (&p[i / 4].x)[i % 4] * (&q[j / 4].x)[j % 4];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 8; j += 4)
            *(float4 *)(C + (row + i / 4 * 64 + ty * 4 + i % 4) * n + col + j * 16 + tx * 4) = *(float4 *)&sum[i][j];
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 128, n / 128), 256>>>(A, B, C, n); }
//// no overlap: better
__global__ void __launch_bounds__(256, 2) mm(const float *A, const float *B, float *C, int n)
{
    __shared__ float4 a[2][8][32], b[2][8][32];
    int x = threadIdx.x, tx = x % 16, ty = x / 16, row = blockIdx.y * 128, col = blockIdx.x * 128;
    const float *from_a = A + (row + x / 2) * n + x % 2 * 4, *from_b = B + x / 32 * n + col + x % 32 * 4;
    float sum[8][8] = {};
    float4 next_a = *(const float4 *)from_a, next_b = *(const float4 *)from_b;
    for (int t = 0, now = 0; t < n; t += 8, now ^= 1) {
        for (int i = 0; i < 4; i++) ((float *)a[now][x % 2 * 4 + i])[x / 2] = (&next_a.x)[i];
        b[now][x / 32][x % 32] = next_b;
        __syncthreads();
        if (t + 8 < n) {
            next_a = *(const float4 *)(from_a + t + 8);
            next_b = *(const float4 *)(from_b + (t + 8) * n);
        }
#pragma unroll
        for (int k = 0; k < 8; k++) {
            float4 p[2] = {a[now][k][ty], a[now][k][ty + 16]}, q[2] = {b[now][k][tx], b[now][k][tx + 16]};
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 8; j++) sum[i][j] += (&p[i / 4].x)[i % 4] * (&q[j / 4].x)[j % 4];
        }
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 8; j += 4)
            *(float4 *)(C + (row + i / 4 * 64 + ty * 4 + i % 4) * n + col + j * 16 + tx * 4) = *(float4 *)&sum[i][j];
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 128, n / 128), 256>>>(A, B, C, n); }
//// narrow loads: slow
#include <mma.h>
using namespace nvcuda;
__global__ void mm(const half *A, const half *B, float *C, int n)
{
    __shared__ __align__(16) half a[64][72], b[64][72];
    int x = threadIdx.x, warp = x / 32 * 16, row = blockIdx.y * 64, col = blockIdx.x * 64;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[4];
    for (int j = 0; j < 4; j++) wmma::fill_fragment(c[j], 0.0f);
    for (int t = 0; t < n; t += 64) {
        for (int i = x; i < 64 * 64; i += 128) {
            a[i / 64][i % 64] = A[(row + i / 64) * n + t + i % 64]; // here
            b[i / 64][i % 64] = B[(t + i / 64) * n + col + i % 64];
        }
        __syncthreads();
        for (int k = 0; k < 64; k += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> p;
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> q;
            wmma::load_matrix_sync(p, &a[warp][k], 72);
            for (int j = 0; j < 4; j++) {
                wmma::load_matrix_sync(q, &b[k][16 * j], 72);
                wmma::mma_sync(c[j], p, q, c[j]);
            }
        }
        __syncthreads();
    }
    for (int j = 0; j < 4; j++)
        wmma::store_matrix_sync(C + (row + warp) * n + col + 16 * j, c[j], n, wmma::mem_row_major);
}
void run(const half *A, const half *B, float *C, int n) { mm<<<dim3(n / 64, n / 64), 128>>>(A, B, C, n); }
//// narrow loads: better
#include <mma.h>
using namespace nvcuda;
__global__ void mm(const half *A, const half *B, float *C, int n)
{
    __shared__ __align__(16) half a[64][72], b[64][72];
    int x = threadIdx.x, warp = x / 32 * 16, row = blockIdx.y * 64, col = blockIdx.x * 64;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[4];
    for (int j = 0; j < 4; j++) wmma::fill_fragment(c[j], 0.0f);
    for (int t = 0; t < n; t += 64) {
        for (int i = 8 * x; i < 64 * 64; i += 8 * 128) {
            *(uint4 *)&a[i / 64][i % 64] = *(const uint4 *)&A[(row + i / 64) * n + t + i % 64];
            *(uint4 *)&b[i / 64][i % 64] = *(const uint4 *)&B[(t + i / 64) * n + col + i % 64];
        }
        __syncthreads();
        for (int k = 0; k < 64; k += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> p;
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> q;
            wmma::load_matrix_sync(p, &a[warp][k], 72);
            for (int j = 0; j < 4; j++) {
                wmma::load_matrix_sync(q, &b[k][16 * j], 72);
                wmma::mma_sync(c[j], p, q, c[j]);
            }
        }
        __syncthreads();
    }
    for (int j = 0; j < 4; j++)
        wmma::store_matrix_sync(C + (row + warp) * n + col + 16 * j, c[j], n, wmma::mem_row_major);
}
void run(const half *A, const half *B, float *C, int n) { mm<<<dim3(n / 64, n / 64), 128>>>(A, B, C, n); }
//// L2 order: slow
#include <mma.h>
using namespace nvcuda;
__global__ void mm(const half *A, const half *B, float *C, int n)
{
    __shared__ __align__(16) half a[64][72], b[64][72];
    int x = threadIdx.x, warp = x / 32 * 16, row = blockIdx.y * 64, col = blockIdx.x * 64; // here
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[4];
    for (int j = 0; j < 4; j++) wmma::fill_fragment(c[j], 0.0f);
    for (int t = 0; t < n; t += 64) {
        for (int i = 8 * x; i < 64 * 64; i += 8 * 128) {
            *(uint4 *)&a[i / 64][i % 64] = *(const uint4 *)&A[(row + i / 64) * n + t + i % 64];
            *(uint4 *)&b[i / 64][i % 64] = *(const uint4 *)&B[(t + i / 64) * n + col + i % 64];
        }
        __syncthreads();
        for (int k = 0; k < 64; k += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> p;
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> q;
            wmma::load_matrix_sync(p, &a[warp][k], 72);
            for (int j = 0; j < 4; j++) {
                wmma::load_matrix_sync(q, &b[k][16 * j], 72);
                wmma::mma_sync(c[j], p, q, c[j]);
            }
        }
        __syncthreads();
    }
    for (int j = 0; j < 4; j++)
        wmma::store_matrix_sync(C + (row + warp) * n + col + 16 * j, c[j], n, wmma::mem_row_major);
}
void run(const half *A, const half *B, float *C, int n) { mm<<<dim3(n / 64, n / 64), 128>>>(A, B, C, n); }
//// L2 order: better
#include <mma.h>
using namespace nvcuda;
__global__ void mm(const half *A, const half *B, float *C, int n)
{
    __shared__ __align__(16) half a[64][72], b[64][72];
    int x = threadIdx.x, warp = x / 32 * 16, number = blockIdx.y * gridDim.x + blockIdx.x;
    int rows = min(8, gridDim.y), group = rows * gridDim.x; // of tiles, which blocks take column by column
    int row = (number / group * rows + number % rows) * 64, col = number % group / rows * 64;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[4];
    for (int j = 0; j < 4; j++) wmma::fill_fragment(c[j], 0.0f);
    for (int t = 0; t < n; t += 64) {
        for (int i = 8 * x; i < 64 * 64; i += 8 * 128) {
            *(uint4 *)&a[i / 64][i % 64] = *(const uint4 *)&A[(row + i / 64) * n + t + i % 64];
            *(uint4 *)&b[i / 64][i % 64] = *(const uint4 *)&B[(t + i / 64) * n + col + i % 64];
        }
        __syncthreads();
        for (int k = 0; k < 64; k += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> p;
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> q;
            wmma::load_matrix_sync(p, &a[warp][k], 72);
            for (int j = 0; j < 4; j++) {
                wmma::load_matrix_sync(q, &b[k][16 * j], 72);
                wmma::mma_sync(c[j], p, q, c[j]);
            }
        }
        __syncthreads();
    }
    for (int j = 0; j < 4; j++)
        wmma::store_matrix_sync(C + (row + warp) * n + col + 16 * j, c[j], n, wmma::mem_row_major);
}
void run(const half *A, const half *B, float *C, int n) { mm<<<dim3(n / 64, n / 64), 128>>>(A, B, C, n); }
//// register banks: slow
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    __shared__ float4 a[2][8][32], b[2][8][32];
    int x = threadIdx.x, tx = x % 16, ty = x / 16, row = blockIdx.y * 128, col = blockIdx.x * 128;
    const float *from_a = A + (row + x / 2) * n + x % 2 * 4, *from_b = B + x / 32 * n + col + x % 32 * 4;
    float sum[8][8] = {};
    float4 next_a = *(const float4 *)from_a, next_b = *(const float4 *)from_b;
    for (int t = 0, now = 0; t < n; t += 8, now ^= 1) {
        for (int i = 0; i < 4; i++) ((float *)a[now][x % 2 * 4 + i])[x / 2] = (&next_a.x)[i];
        b[now][x / 32][x % 32] = next_b;
        __syncthreads();
        if (t + 8 < n) {
            next_a = *(const float4 *)(from_a + t + 8);
            next_b = *(const float4 *)(from_b + (t + 8) * n);
        }
#pragma unroll
        for (int k = 0; k < 8; k++) {
            float4 p[2] = {a[now][k][ty], a[now][k][ty + 16]}, q[2] = {b[now][k][tx], b[now][k][tx + 16]};
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 8; j++) sum[i][j] += (&p[i / 4].x)[i % 4] * (&q[j / 4].x)[j % 4]; // here
        }
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 8; j += 4)
            *(float4 *)(C + (row + i / 4 * 64 + ty * 4 + i % 4) * n + col + j * 16 + tx * 4) = *(float4 *)&sum[i][j];
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 128, n / 128), 256>>>(A, B, C, n); }
//// register banks: better
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    __shared__ float4 a[2][8][32], b[2][8][32];
    int x = threadIdx.x, tx = x % 16, ty = x / 16, row = blockIdx.y * 128, col = blockIdx.x * 128;
    const float *from_a = A + (row + x / 2) * n + x % 2 * 4, *from_b = B + x / 32 * n + col + x % 32 * 4;
    float sum[8][8] = {};
    float4 next_a = *(const float4 *)from_a, next_b = *(const float4 *)from_b;
    for (int t = 0, now = 0; t < n; t += 8, now ^= 1) {
        for (int i = 0; i < 4; i++) ((float *)a[now][x % 2 * 4 + i])[x / 2] = (&next_a.x)[i];
        b[now][x / 32][x % 32] = next_b;
        __syncthreads();
        if (t + 8 < n) {
            next_a = *(const float4 *)(from_a + t + 8);
            next_b = *(const float4 *)(from_b + (t + 8) * n);
        }
#pragma unroll
        for (int k = 0; k < 8; k++) {
            float4 p[2] = {a[now][k][ty], a[now][k][ty + 16]}, q[2] = {b[now][k][tx], b[now][k][tx + 16]};
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int l = 0; l < 8; l++) {
                    int j = i % 2 ? 7 - l : l; // there and back: neighbours share an operand
                    sum[i][j] += (&p[i / 4].x)[i % 4] * (&q[j / 4].x)[j % 4];
                }
        }
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 8; j++)
            C[(row + i / 4 * 64 + ty * 4 + i % 4) * n + col + j / 4 * 64 + tx * 4 + j % 4] = sum[i][j];
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 128, n / 128), 256>>>(A, B, C, n); }
