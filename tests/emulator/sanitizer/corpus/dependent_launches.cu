// Two dependent launches: the second may begin before the first ends, and the first before A and B are complete.
// launch: grid=2,2 block=16,16 m=20 n=18 k=5 sums=1440 dependent=yes
// right
// one wait in each: drop #before-sums, drop #before-c ==> nothing
// the first waits behind its reads: drop #before-all ==> early-access*360 B #inputs; early-access*360 A #inputs
// the second waits behind its reads: drop #before-again ==> early-access*360 sums #sums-again
// the second never waits: drop #before-again, drop #before-c ==> early-access*360 sums #sums-again; early-access*360 C
//     #c
// the first never waits: drop #before-all, drop #before-sums ==> early-access*360 B #inputs; early-access*360 A
//     #inputs; early-access*360 sums #sums
// launches one behind the other [dependent=no]: drop #before-all, drop #before-sums, drop #before-again, drop #before-c
//     ==> nothing
#include "ptx.cuh"
#define WAIT_GRID ASM("griddepcontrol.wait;")
extern "C" __global__ void products(const float* A, const float* B, float* sums, int m, int n, int k) {
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (threadIdx.x == 0) WAIT_GRID; // #before-all
    __syncthreads();
    if (x >= n || y >= m) return;
    float sum = 0;
    for (int p = 0; p < k; ++p) sum += A[y * k + p] * B[p * n + x]; // #inputs
    WAIT_GRID; // #before-sums
    sums[y * n + x] = sum; // #sums
}
extern "C" __global__ void copies(const float* A, const float* sums, float* C, int m, int n, int k) {
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= n || y >= m) return;
    const float known = A[y * k]; // #a-alone
    WAIT_GRID; // #before-again
    const float sum = sums[y * n + x]; // #sums-again
    WAIT_GRID; // #before-c
    C[y * n + x] = sum + 0 * known; // #c
}
