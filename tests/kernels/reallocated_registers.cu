// One warpgroup gives registers to another, which multiplies by wgmma with COUNT sums a thread.
extern "C" __global__ void __launch_bounds__(BOUNDS) f(float *C, unsigned long long a)
{
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    float sum[COUNT] = {};
    asm volatile("wgmma.fence.sync.aligned;");
    asm volatile("wgmma.mma_async.sync.aligned.SHAPE.f32.bf16.bf16 {PLACES}, DESCRIPTOR, DESCRIPTOR, 1, 1, 1, 0, 0;"
                 : SUMS : "l"(a));
    asm volatile("wgmma.commit_group.sync.aligned;");
    asm volatile("wgmma.wait_group.sync.aligned 0;");
    for (int i = 0; i < COUNT; i++) C[i * 128 + threadIdx.x] = sum[i];
}
