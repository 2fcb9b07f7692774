// One warp: tiles of A and B come by cp.async into two buffers, go to registers by ldmatrix, and are multiplied.
// launch: block=32 m=16 n=8 k=64 dtype=float16 output=float32
// right
// no wait for a group: drop #wait-all ==> unfinished-copy*32 shared #copy-a #copy-a; unfinished-copy*16 shared #copy-b
//     #copy-b; unfinished-copy*32 shared #load-a #copy-a "copying: cp.async.wait_group"; unfinished-copy*16 shared #load-b #copy-b
// a wait for too few groups: `wait_group 1` -> `wait_group 2` ==> unfinished-copy*32 shared #copy-a #copy-a;
//     unfinished-copy*16 shared #copy-b #copy-b; unfinished-copy*32 shared #load-a #copy-a; unfinished-copy*16 shared
//     #load-b #copy-b
// no cp.async.commit_group: drop #commit ==> unfinished-copy*32 shared #copy-a #copy-a; unfinished-copy*16 shared #copy-b
//     #copy-b; unfinished-copy*32 shared #load-a #copy-a "cp.async.commit_group is missing after line"; unfinished-copy*16
//     shared #load-b #copy-b "the copies belong to no group"
// a copy over another copy: `b[tile % 2] + t * 8, B` -> `b[0] + t * 8, B` ==> unfinished-copy*16 shared #copy-b
//     #copy-b; uninitialized-read*16 shared #load-b
// a read of the next tile: `AT(a[tile % 2]` -> `AT(a[1 - tile % 2]` ==> unfinished-copy*32 shared #load-a #copy-a "the
//     address belongs to another stage"
// no barrier behind the wait: drop #copied ==> shared-race*30 shared #load-a #copy-a
// a barrier before the wait: drop #wait-all, `__syncwarp(); // #copied` -> `__syncwarp(); if (tile < 3)
//     ASM("cp.async.wait_group 1;"); else ASM("cp.async.wait_all;");` ==> shared-race*30 shared #load-a #copy-a
#include "ptx.cuh"
extern "C" __global__ void f(const unsigned short* A, const unsigned short* B, float* C) {
    __shared__ __align__(16) unsigned short a[2][16 * 16], b[2][16 * 8];
    const int t = threadIdx.x;
    float d[4] = {};
    auto fetch = [&](int tile) {
        COPY("cg", a[tile % 2] + t * 8, A + (t / 2) * 64 + tile * 16 + t % 2 * 8, "16"); // #copy-a
        if (t < 16) COPY("ca", b[tile % 2] + t * 8, B + (tile * 16 + t) * 8, "16"); // #copy-b
        ASM("cp.async.commit_group;"); // #commit
    };
    fetch(0);
    for (int tile = 0; tile < 4; ++tile) {
        if (tile < 3) fetch(tile + 1);
        if (tile < 3) ASM("cp.async.wait_group 1;"); else ASM("cp.async.wait_group 0;"); // #wait-all
        __syncwarp(); // #copied
        unsigned a0, a1, a2, a3, b0, b1;
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" // #load-a
                     : "=r"(a0), "=r"(a1), "=r"(a2), "=r"(a3) : "r"(AT(a[tile % 2] + t % 16 * 16 + t / 16 * 8)));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" // #load-b
                     : "=r"(b0), "=r"(b1) : "r"(AT(b[tile % 2] + t % 16 * 8)));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9},"
                     " {%0, %1, %2, %3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
        __syncwarp();
    }
    STORE_TILE(C, d);
}
