// If more threads arrive than a barrier counts, the first ones continue.
// given: zeros(96)
// launch: block=(96,)
// P = [1] * 64 + [0] * 32
// expect: deadlock:
//     thread (64, 0) of block (0, 0) waits at barrier 1 for 64 threads; 32 have come, and no others will
extern "C" __global__ void f(int* out) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[threadIdx.x] = 1;
}
