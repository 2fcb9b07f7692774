// A warp may wait at two barrier.sync instructions.
extern "C" __global__ void f(int* out) {
    if (threadIdx.x % 2) { asm volatile("barrier.sync 0;" ::: "memory"); out[threadIdx.x] = 1; }
    else { asm volatile("barrier.sync 0;" ::: "memory"); out[threadIdx.x] = 2; }
}
