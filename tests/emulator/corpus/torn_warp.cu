// A warp may come to barrier.sync at two places.
extern "C" __global__ void f(int* out) {
    if (threadIdx.x % 2) { asm volatile("barrier.sync 0;" ::: "memory"); out[threadIdx.x] = 1; }
    else { asm volatile("barrier.sync 0;" ::: "memory"); out[threadIdx.x] = 2; }
}
