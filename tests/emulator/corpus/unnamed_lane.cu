// A lane that the mask of its shuffle does not name is a violation.
// expect: divergent-barrier: thread (16, 0) of block (0, 0) ... with the mask 0x0000ffff, which does not name it
extern "C" __global__ void f(unsigned* out) { out[threadIdx.x] = __shfl_sync(0xFFFF, threadIdx.x, 3); }
