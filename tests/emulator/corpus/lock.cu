// Warps and lanes take a lock one after the other.
// given: zeros(1)
// launch: grid=(3,), block=(40,)
// P = [120]
__device__ int lock;
extern "C" __global__ void f(int* out) {
    bool done = false;
    while (!done)
        if (atomicCAS(&lock, 0, 1) == 0) {
            *(volatile int*)out += 1;
            __threadfence();
            atomicExch(&lock, 0);
            done = true;
        }
}
