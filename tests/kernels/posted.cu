//// divergence: two threads for each element, the even one from the left, the odd one from the right
#include <stdio.h>
__global__ void gemm(int M, int N, int K, const float *A, const float *B, float *C)
{
    int lane = threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y, c = (blockIdx.x * blockDim.x + lane) / 2;
    float acc = 0.f;
    if (lane % 2 == 0) { // here
        for (int k = 0; k < K / 2; ++k)
            acc += A[r * K + k] * B[k * N + c];
    } else {
        for (int k = K - 1; k >= K / 2; --k)
            acc += A[r * K + k] * B[k * N + c];
    }
    acc += __shfl_xor_sync(0xffffffff, acc, 1);
    if (lane % 2 == 0)
        C[r * N + c] = acc;
}
int main()
{
    int M = 1024, N = 1024, K = 1024;
    float *A, *B, *C;
    cudaMallocManaged(&A, M * K * sizeof(float));
    cudaMallocManaged(&B, K * N * sizeof(float));
    cudaMallocManaged(&C, M * N * sizeof(float));
    gemm<<<dim3(N / 16, M / 8), dim3(32, 8)>>>(M, N, K, A, B, C);
    cudaDeviceSynchronize();
    printf("%f\n", C[0]);
}
//// uncoalesced: rows and columns by x and y the wrong way round, and a branch on odd threads
#include <cstdio>
__global__ void MatrixMulKernel(float *d_M, float *d_N, float *d_P, int Width)
{
    int Row = blockIdx.x * blockDim.x + threadIdx.x;
    int Col = blockIdx.y * blockDim.y + threadIdx.y;
    float Pvalue = 0;
    for (int k = 0; k < Width; ++k) {
        float m = d_M[Row * Width + k]; // here
        float n = d_N[k * Width + Col];
        if (k % 2 == 0)
            Pvalue += m * n;
        else
            Pvalue = m * n + Pvalue;
    }
    d_P[Row * Width + Col] = Pvalue;
}
int main()
{
    const int Width = 1024;
    float *M, *N, *P;
    cudaMalloc(&M, Width * Width * 4), cudaMalloc(&N, Width * Width * 4), cudaMalloc(&P, Width * Width * 4);
    dim3 dimBlock(32, 8), dimGrid(Width / 32, Width / 8);
    MatrixMulKernel<<<dimGrid, dimBlock>>>(M, N, P, Width);
    return cudaDeviceSynchronize();
}
//// no overlap: one block with all of the shared memory, whose tiles are deep
#include <cuda_pipeline.h>
#define BM 128
#define BN 128
#define BK 64
__global__ void __launch_bounds__(256) sgemm(const float *A, const float *B, float *C, int N)
{
    extern __shared__ float s[];
    float *sA = s, *sB = s + BM * BK, *padding = sB + BK * BN;
    int tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
    float c[8][8] = {0};
    for (int k0 = 0; k0 < N; k0 += BK) {
        for (int i = tid; i < BM * BK / 4; i += 256)
            __pipeline_memcpy_async(&sA[i * 4], &A[(blockIdx.y * BM + i / 16) * N + k0 + i % 16 * 4], 16); // here
        for (int i = tid; i < BK * BN / 4; i += 256)
            __pipeline_memcpy_async(&sB[i * 4], &B[(k0 + i / 32) * N + blockIdx.x * BN + i % 32 * 4], 16);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        for (int k = 0; k < BK; k += 4) {
            float4 a[8], b[4][2];
#pragma unroll
            for (int i = 0; i < 8; i++) a[i] = *(float4 *)&sA[(ty * 8 + i) * BK + k];
#pragma unroll
            for (int l = 0; l < 4; l++)
#pragma unroll
                for (int j = 0; j < 2; j++) b[l][j] = *(float4 *)&sB[(k + l) * BN + j * 64 + tx * 4];
#pragma unroll
            for (int l = 0; l < 4; l++)
#pragma unroll
                for (int i = 0; i < 8; i++)
#pragma unroll
                    for (int j = 0; j < 8; j++) c[i][j] += (&a[i].x)[l] * (&b[l][j / 4].x)[j % 4];
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            C[(blockIdx.y * BM + ty * 8 + i) * N + blockIdx.x * BN + j / 4 * 64 + tx * 4 + j % 4] = c[i][j];
    if (N < 0) padding[tid] = c[0][0];
}
int main()
{
    int N = 4096;
    float *A, *B, *C;
    cudaMalloc(&A, N * N * 4), cudaMalloc(&B, N * N * 4), cudaMalloc(&C, N * N * 4);
    cudaFuncSetAttribute(sgemm, cudaFuncAttributeMaxDynamicSharedMemorySize, 131072);
    sgemm<<<dim3(N / BN, N / BM), 256, 131072>>>(A, B, C, N);
    return cudaDeviceSynchronize();
}
//// narrow loads: tensor cores that wait for halves which are copied one by one
#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda::wmma;
const int T = 128, KT = 32;
__global__ void hgemm(const __half *a, const __half *b, __half *c, int m, int n, int k)
{
    __shared__ __half sa[T][KT + 8], sb[KT][T + 8];
    int w = threadIdx.x / 32, wr = w / 2 * 32, wc = w % 2 * 64;
    fragment<accumulator, 16, 16, 16, __half> acc[2][4];
    for (auto &r : acc)
        for (auto &f : r) fill_fragment(f, __float2half(0));
    for (int kk = 0; kk < k; kk += KT) {
        for (int i = threadIdx.x; i < T * KT; i += blockDim.x) {
            int r = i / KT, q = i % KT;
            sa[r][q] = a[(blockIdx.y * T + r) * k + kk + q]; // here
        }
        for (int i = threadIdx.x; i < T * KT; i += blockDim.x) {
            int r = i / T, q = i % T;
            sb[r][q] = b[(kk + r) * n + blockIdx.x * T + q];
        }
        __syncthreads();
        for (int s = 0; s < KT; s += 16) {
            fragment<matrix_a, 16, 16, 16, __half, row_major> fa[2];
            fragment<matrix_b, 16, 16, 16, __half, row_major> fb[4];
            for (int i = 0; i < 2; i++) load_matrix_sync(fa[i], &sa[wr + i * 16][s], KT + 8);
            for (int j = 0; j < 4; j++) load_matrix_sync(fb[j], &sb[s][wc + j * 16], T + 8);
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++) mma_sync(acc[i][j], fa[i], fb[j], acc[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            store_matrix_sync(c + (blockIdx.y * T + wr + i * 16) * n + blockIdx.x * T + wc + j * 16, acc[i][j], n,
                              mem_row_major);
}
void launch(const __half *a, const __half *b, __half *c, int m, int n, int k)
{
    hgemm<<<dim3(n / T, m / T), 256>>>(a, b, c, m, n, k);
}
//// index arithmetic: indices of a generic layout for each element, in 64 bits
struct Layout {
    size_t rows, cols, row_stride, col_stride;
    __device__ size_t operator()(size_t r, size_t c) const { return (r * row_stride + (c ^ r & 3) * col_stride); }
};
__global__ void multiply(const float *A, const float *B, float *C, int n)
{
    __shared__ float a[64 * 17], b[16 * 64];
    const Layout in_a = {64, 16, 17 * blockDim.z, blockDim.z}, in_b = {16, 64, 64 * blockDim.z, blockDim.z};
    size_t top = blockIdx.y * 64, left = blockIdx.x * 64, tx = threadIdx.x, ty = threadIdx.y;
    float sum[4][4] = {};
    for (size_t t = 0; t < n; t += 16) {
        for (size_t i = ty * 16 + tx; i < 1024; i += 256) {
            a[in_a(i / 16, i % 16)] = A[(top + i / 16) * n + t + i % 16];
            b[in_b(i / 64, i % 64)] = B[(t + i / 64) * n + left + i % 64];
        }
        __syncthreads();
#pragma unroll 1
        for (size_t k = 0; k < 16; k++)
            for (size_t i = 0; i < 4; i++)
                for (size_t j = 0; j < 4; j++)
                    sum[i][j] += a[in_a(ty + 16 * i, (k + 4 * j) % 16)] * b[in_b((k + 4 * j) % 16, tx + 16 * j)]; // here
        __syncthreads();
    }
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++) C[(top + ty + 16 * i) * n + left + tx + 16 * j] = sum[i][j];
}
void launch(const float *A, const float *B, float *C, int n)
{
    multiply<<<dim3(n / 64, n / 64), dim3(16, 16)>>>(A, B, C, n);
}
//// bank conflicts: a transposed tile, and copies that wait
#include <cuda_runtime.h>
#define DIM 32
template <typename T> __global__ void matmul_shared(const T *a, const T *b, T *c, unsigned size)
{
    __shared__ T ta[DIM * DIM];
    __shared__ T tb[DIM * DIM];
    unsigned x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * DIM + y, col = blockIdx.x * DIM + x;
    T value = 0;
    for (unsigned s = 0; s < size; s += DIM) {
        ta[y * DIM + x] = a[row * size + s + x];
        tb[x * DIM + y] = b[(s + y) * size + col]; // transposed, so that k is contiguous below
        __syncthreads();
        for (unsigned k = 0; k < DIM; k++)
            value += ta[y * DIM + k] * tb[x * DIM + k]; // here
        __syncthreads();
    }
    c[row * size + col] = value;
}
int main()
{
    unsigned size = 2048;
    float *a, *b, *c;
    cudaMalloc((void **)&a, size * size * sizeof(float));
    cudaMalloc((void **)&b, size * size * sizeof(float));
    cudaMalloc((void **)&c, size * size * sizeof(float));
    dim3 threads(DIM, DIM), blocks(size / DIM, size / DIM);
    matmul_shared<float><<<blocks, threads>>>(a, b, c, size);
    cudaDeviceSynchronize();
}
