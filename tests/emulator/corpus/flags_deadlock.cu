// Warps that wait for each other's flags are a deadlock, reported with both lines.
// given: zeros(64)
// launch: block=(64,)
// expect: deadlock at line 11
// expect: deadlock at line 14
// P = [0] * 64
__device__ volatile int flag[2];
extern "C" __global__ void f(int* out) {
    const int warp = threadIdx.x / 32;
    if (warp == 0) {
        while (flag[1] == 0);
        flag[0] = 1;
    } else {
        while (flag[0] == 0);
        flag[1] = 1;
    }
    out[threadIdx.x] = 1;
}
