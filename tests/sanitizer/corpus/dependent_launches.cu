// Two launches, of which the second may begin before the first ends, and the first before what has made A and B.
// launch: grid=2,2 block=16,16 m=20 n=18 k=5 sums=1440 dependent=yes
// waits before everything: `FIRST` -> `WAIT_GRID`, `STORING` -> ``, `SECOND` -> `WAIT_GRID`, `LATE` -> `` ==> nothing
// the first waits behind its reads: `FIRST` -> `;`, `STORING` -> `WAIT_GRID`, `SECOND` -> `WAIT_GRID`, `LATE` -> `` ==>
//     early-access*360 B #inputs; early-access*360 A #inputs
// the second waits behind its reads: `FIRST` -> `WAIT_GRID`, `STORING` -> ``, `SECOND` -> ``, `LATE` -> `WAIT_GRID` ==>
//     early-access*360 sums #sums-again
// the second never waits: `FIRST` -> `WAIT_GRID`, `STORING` -> ``, `SECOND` -> ``, `LATE` -> `` ==> early-access*360
//     sums #sums-again; early-access*360 C #c
// the first never waits: `FIRST` -> `;`, `STORING` -> ``, `SECOND` -> `WAIT_GRID`, `LATE` -> `` ==> early-access*360 B
//     #inputs; early-access*360 A #inputs; early-access*360 sums #sums
// launches one behind the other [dependent=no]: `FIRST` -> `;`, `STORING` -> ``, `SECOND` -> ``, `LATE` -> `` ==> nothing
#include "ptx.cuh"
#define WAIT_GRID ASM("griddepcontrol.wait;");
extern "C" __global__ void products(const float* A, const float* B, float* sums, int m, int n, int k) {
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (threadIdx.x == 0) FIRST
    __syncthreads();
    if (x >= n || y >= m) return;
    float sum = 0;
    for (int p = 0; p < k; ++p) sum += A[y * k + p] * B[p * n + x]; // #inputs
    STORING
    sums[y * n + x] = sum; // #sums
}
extern "C" __global__ void copies(const float* A, const float* sums, float* C, int m, int n, int k) {
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= n || y >= m) return;
    const float known = A[y * k]; // #a-alone
    SECOND
    const float sum = sums[y * n + x]; // #sums-again
    LATE
    C[y * n + x] = sum + 0 * known; // #c
}
