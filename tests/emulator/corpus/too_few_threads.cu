// A thread that waits for more threads than exist waits forever.
// given: zeros(64)
// launch: block=(64,)
// expect: deadlock at line 6: thread (0, 0) of block (0, 0) ... 40 have come
extern "C" __global__ void f(int* out) {
    if (threadIdx.x < 40) asm volatile("bar.sync 2, 96;" ::: "memory");
    out[threadIdx.x] = 1;
}
