//// from global memory
#include <mma.h>
using namespace nvcuda;
__global__ void mm(const half *A, const half *B, float *C, int n)
{
    int warp = threadIdx.x / 32, row = (blockIdx.y * 2 + warp / 2) * 16, col = (blockIdx.x * 2 + warp % 2) * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    for (int k = 0; k < n; k += 16) {
        wmma::load_matrix_sync(a, A + row * n + k, n); // here
        wmma::load_matrix_sync(b, B + k * n + col, n);
        wmma::mma_sync(c, a, b, c);
    }
    wmma::store_matrix_sync(C + row * n + col, c, n, wmma::mem_row_major);
}
void run(const half *A, const half *B, float *C, int n) { mm<<<dim3(n / 32, n / 32), 128>>>(A, B, C, n); }
//// from shared memory
#include <mma.h>
using namespace nvcuda;
__global__ void mm(const half *A, const half *B, float *C, int n)
{
    __shared__ __align__(128) half as[64][40], bs[32][72];
    int warp = threadIdx.x / 32, row = blockIdx.y * 64, col = blockIdx.x * 64;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a[2];
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b[2];
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[2][2];
    for (int i = 0; i < 4; i++) wmma::fill_fragment(c[i / 2][i % 2], 0.0f);
    for (int t = 0; t < n; t += 32) {
        for (int i = threadIdx.x; i < 256; i += 128) {
            *(float4 *)&as[i / 4][i % 4 * 8] = *(const float4 *)&A[(row + i / 4) * n + t + i % 4 * 8];
            *(float4 *)&bs[i / 8][i % 8 * 8] = *(const float4 *)&B[(t + i / 8) * n + col + i % 8 * 8];
        }
        __syncthreads();
        for (int k = 0; k < 32; k += 16) {
            for (int i = 0; i < 2; i++) {
                wmma::load_matrix_sync(a[i], &as[warp / 2 * 32 + i * 16][k], 40);
                wmma::load_matrix_sync(b[i], &bs[k][warp % 2 * 32 + i * 16], 72);
            }
            for (int i = 0; i < 4; i++) wmma::mma_sync(c[i / 2][i % 2], a[i / 2], b[i % 2], c[i / 2][i % 2]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        wmma::store_matrix_sync(
            C + (row + warp / 2 * 32 + i / 2 * 16) * n + col + warp % 2 * 32 + i % 2 * 16, c[i / 2][i % 2], n,
            wmma::mem_row_major);
}
void run(const half *A, const half *B, float *C, int n) { mm<<<dim3(n / 64, n / 64), 128>>>(A, B, C, n); }
//// from two buffers
#include <cuda_pipeline.h>
#include <mma.h>
using namespace nvcuda;
__global__ void mm(const half *A, const half *B, float *C, int n)
{
    __shared__ __align__(128) half as[2][64][40], bs[2][32][72];
    int warp = threadIdx.x / 32, row = blockIdx.y * 64, col = blockIdx.x * 64;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a[2];
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b[2];
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[2][2];
    for (int i = 0; i < 4; i++) wmma::fill_fragment(c[i / 2][i % 2], 0.0f);
    auto copy = [&](int t) {
        for (int i = threadIdx.x; i < 256 && t < n; i += 128) {
            __pipeline_memcpy_async(&as[t / 32 % 2][i / 4][i % 4 * 8], &A[(row + i / 4) * n + t + i % 4 * 8], 16);
            __pipeline_memcpy_async(&bs[t / 32 % 2][i / 8][i % 8 * 8], &B[(t + i / 8) * n + col + i % 8 * 8], 16);
        }
        __pipeline_commit();
    };
    copy(0);
    for (int t = 0; t < n; t += 32) {
        copy(t + 32);
        __pipeline_wait_prior(1);
        __syncthreads();
        for (int k = 0; k < 32; k += 16) {
            for (int i = 0; i < 2; i++) {
                wmma::load_matrix_sync(a[i], &as[t / 32 % 2][warp / 2 * 32 + i * 16][k], 40);
                wmma::load_matrix_sync(b[i], &bs[t / 32 % 2][k][warp % 2 * 32 + i * 16], 72);
            }
            for (int i = 0; i < 4; i++) wmma::mma_sync(c[i / 2][i % 2], a[i / 2], b[i % 2], c[i / 2][i % 2]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        wmma::store_matrix_sync(
            C + (row + warp / 2 * 32 + i / 2 * 16) * n + col + warp % 2 * 32 + i % 2 * 16, c[i / 2][i % 2], n,
            wmma::mem_row_major);
}
void run(const half *A, const half *B, float *C, int n) { mm<<<dim3(n / 64, n / 64), 128>>>(A, B, C, n); }
