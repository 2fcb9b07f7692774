// Threads that only arrive may complete a barrier before any thread waits.
// given: zeros(96)
// launch: block=(96,)
// expect: deadlock:
//     for 64 threads; 96 have come, more than that: the 64 that only arrive end the barrier without those who wait
extern "C" __global__ void f(int* out) {
    if (threadIdx.x >= 32) asm volatile("bar.arrive 1, 64;" ::: "memory");
    else asm volatile("bar.sync 1, 64;" ::: "memory");
    out[threadIdx.x] = 1;
}
