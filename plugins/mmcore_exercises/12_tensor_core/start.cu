// C = A·B, A and B in half, C in float; m, n and k are multiples of TILE. A block is a warp, for 16×16 elements of C.
// It is right, and slow: the tensor cores are idle.

#include <cuda_fp16.h>
#include <mma.h>

#define TILE 16

using namespace nvcuda;

__global__ void multiply(const half *A, const half *B, float *C, int m, int n, int k)
{
    int top = blockIdx.y * TILE, left = blockIdx.x * TILE;
    // your code: fragments for a tile of A, of B and of the sums; load, multiply and store them by wmma's functions
    for (int element = threadIdx.x; element < TILE * TILE; element += 32) {
        int row = top + element / TILE, column = left + element % TILE;
        float sum = 0;
        for (int i = 0; i < k; ++i)
            sum += __half2float(A[row * k + i]) * __half2float(B[i * n + column]);
        C[row * n + column] = sum;
    }
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
