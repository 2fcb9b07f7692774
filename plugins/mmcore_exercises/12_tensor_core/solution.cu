// C = A·B, A and B in half, C in float; m, n and k are multiples of TILE. A block is a warp, for 16×16 elements of C.

#include <cuda_fp16.h>
#include <mma.h>

#define TILE 16

using namespace nvcuda;

__global__ void multiply(const half *A, const half *B, float *C, int m, int n, int k)
{
    int top = blockIdx.y * TILE, left = blockIdx.x * TILE;
    wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> sums;
    wmma::fill_fragment(sums, 0.0f);
    for (int start = 0; start < k; start += TILE) {
        wmma::load_matrix_sync(a, A + top * k + start, k);
        wmma::load_matrix_sync(b, B + start * n + left, n);
        wmma::mma_sync(sums, a, b, sums);
    }
    wmma::store_matrix_sync(C + top * n + left, sums, n, wmma::mem_row_major);
}

// A program that launches whole tiles. Leave it: mmcore reads the sizes and the launch from it.
int main()
{
    const int m = 640, n = 320, k = 160;
    half *A, *B;
    float *C;
    cudaMallocManaged(&A, m * k * sizeof(half));
    cudaMallocManaged(&B, k * n * sizeof(half));
    cudaMallocManaged(&C, m * n * sizeof(float));
    multiply<<<dim3(n / TILE, m / TILE), 32>>>(A, B, C, m, n, k);
    return cudaDeviceSynchronize();
}
