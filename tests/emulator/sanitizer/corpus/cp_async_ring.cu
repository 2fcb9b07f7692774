// Four warps copy tiles for each other to a ring of two stages; mbarriers count the copies and the readers.
// launch: block=128 m=24 n=32 k=32
// right
// no wait for the readers of a ring: drop #free ==> shared-race*128 shared #copy #read "reads"
// no wait for the copies to a ring: drop #written ==> unfinished-copy*128 shared #copy #copy; unfinished-copy*128
//     shared #read #copy; shared-race*128 shared #read #copy
// an arrival before its copies: `cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];` ->
//     `mbarrier.arrive.shared::cta.b64 _, [%0];` ==> unfinished-copy*128 shared #copy #copy; unfinished-copy*128 shared
//     #read #copy
#include "ptx.cuh"
extern "C" __global__ void f(const float* A, float* C) {
    __shared__ float tile[2][128];
    __shared__ unsigned long long full[2], empty[2];
    const int t = threadIdx.x;
    if (t < 2) {
        INIT(full + t, 128);
        INIT(empty + t, 128);
    }
    __syncthreads();
    float sum = 0;
    for (int step = -1; step < 6; ++step) {
        const int next = (step + 1) % 2;
        if (step >= 0) WAIT(full + step % 2, step / 2 % 2); // #written
        if (step < 5) {
            WAIT(empty + next, (step + 1) / 2 % 2 ^ 1); // #free
            COPY("ca", tile[next] + t, A + (step + 1) * 128 + t, "4"); // #copy
            asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" :: "r"(AT(full + next)) : "memory");
        }
        if (step < 0) continue;
        sum += tile[step % 2][127 - t]; // #read
        ARRIVE(empty + step % 2);
    }
    C[t] = sum;
}
