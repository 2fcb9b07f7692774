extern "C" __global__ void NAME(
    int* d, const unsigned* a, const unsigned* b, const int* c, const unsigned* strides)
{
    __shared__ __align__(32) unsigned left[8 * 16], right[8 * 16];
    for (int i = threadIdx.x; i < strides[0] / 4; i += 32) left[i] = a[i];
    for (int i = threadIdx.x; i < strides[1] / 4; i += 32) right[i] = b[i];
    __syncthreads();
    asm volatile("{ .reg .b32 a, b, c0, c1;"
                 " wmma.load.a.sync.aligned.row.m8n8k128SPACE.b1 {a}, [%1], %4;"
                 " wmma.load.b.sync.aligned.col.m8n8k128SPACE.b1 {b}, [%2], %5;"
                 " wmma.load.c.sync.aligned.LAYOUT.m8n8k128.global.s32 {c0, c1}, [%3], %6;"
                 " wmma.mma.OPERATION.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {c0, c1}, {a}, {b}, {c0, c1};"
                 " wmma.store.d.sync.aligned.LAYOUT.m8n8k128.global.s32 [%0], {c0, c1}, %6; }"
                 :: "l"(d), "l"(LEFT), "l"(RIGHT), "l"(c), "r"(strides[0]), "r"(strides[1]), "r"(strides[2])
                 : "memory");
}
