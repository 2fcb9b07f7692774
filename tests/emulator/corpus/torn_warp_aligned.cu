// A warp must not wait at two bar.sync instructions, which are aligned.
// expect: divergent-barrier at line 5
// expect: divergent-barrier at line 6
extern "C" __global__ void f(int* out) {
    if (threadIdx.x % 2) { asm volatile("bar.sync 0;" ::: "memory"); out[threadIdx.x] = 1; }
    else { asm volatile("bar.sync 0;" ::: "memory"); out[threadIdx.x] = 2; }
}
