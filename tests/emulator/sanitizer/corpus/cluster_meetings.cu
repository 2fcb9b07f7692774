// In each step a block reads what it has written, and what each neighbour has; then it writes again.
// launch: grid=2 block=64 cluster=2 n=24
// one block of a cluster [grid=2 cluster=1]: MEET `BY_BARRIER|BY_MBARRIERS|BY_FLAGS` ==> nothing
// one cluster of two: MEET `BY_BARRIER|BY_MBARRIERS|BY_FLAGS` ==> nothing
// three clusters of two [grid=6]: MEET `BY_BARRIER|BY_MBARRIERS|BY_FLAGS` ==> nothing
// two clusters of four [grid=8 cluster=4]: MEET `BY_BARRIER|BY_MBARRIERS|BY_FLAGS` ==> nothing
// no meeting behind the write [grid=4]: `MEET; // written` -> `__syncthreads();`, MEET
//     `BY_BARRIER|BY_MBARRIERS|BY_FLAGS` ==> shared-race*256 shared #there #write "of block (1, 0)" "with no order
//     between them"
// no meeting behind the read [grid=4]: `MEET; // read` -> `__syncthreads();`, MEET `BY_BARRIER|BY_MBARRIERS|BY_FLAGS`
//     ==> shared-race*256 shared #write #there "of block (1, 0)" "with no order between them"
#include "ptx.cuh"
#define BY_BARRIER CLUSTER_SYNC
#define BY_MBARRIERS \
    __syncthreads(); \
    if (t < size) ARRIVE_THERE(in_block(t, &bar)); \
    WAIT_AS(".acquire.cluster", &bar, met++ & 1); \
    __syncthreads()
#define BY_FLAGS \
    __syncthreads(); \
    met += size; \
    if (t < size) ADD_THERE("release", in_block(t, &flag)); \
    for (unsigned seen = t ? met : 0; seen < met;) \
        asm volatile("ld.acquire.cluster.shared::cta.u32 %0, [%1];" : "=r"(seen) : "r"(AT(&flag)) : "memory"); \
    __syncthreads()
extern "C" __global__ void f(float* C) {
    __shared__ float tile[64];
    __shared__ __align__(8) unsigned long long bar;
    __shared__ unsigned flag;
    const unsigned t = threadIdx.x, rank = cluster_rank();
    unsigned size, met = 0;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    if (t == 0) {
        flag = 0;
        INIT(&bar, size);
        ASM("fence.mbarrier_init.release.cluster;");
    }
    CLUSTER_SYNC;
    float sum = 0, expected = 0;
    for (int step = 0; step < 2; ++step) {
        tile[t] = sum + t; // #write
        MEET; // written
        for (unsigned other = 0; other < size; ++other) {
            float there;
            READ_THERE("f32", "f", there, in_block(other, tile + 63 - t)); // #there
            sum += other == rank ? tile[63 - t] : there; // #here
        }
        MEET; // read
        expected = step ? expected + size * (size * t + 63.0f - t) : size * (63.0f - t);
    }
    C[blockIdx.x * 64 + t] = sum;
    if (sum != expected) __trap(); // #wrong
    CLUSTER_SYNC;
}
