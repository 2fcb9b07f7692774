// Instructions of compute capability 9.0 as functions: barriers in shared memory that count bytes (mbarrier), bulk
// copies of tiles (TMA), and products of a warpgroup's 128 threads (wgmma).

#pragma once

// A tensor map (CUtensorMap), which the host makes of one matrix: its address, sizes and distance of rows, the box that
// one fetch copies, and how the box lies in shared memory. With a swizzle of 128 bytes the chunks of 16 bytes of each row
// change places as in bf16_04_swizzle.cu: chunk c of row r lies where chunk c ^ r % 8 would. Elements beyond the matrix
// become zero.
struct alignas(64) Map {
    unsigned long long words[16];
};

inline __device__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Barriers. One has phases, numbered 0, 1, 0, 1 …; a phase ends when as many threads have arrived as it was made for
// and as many bytes have come as were announced. wait(barrier, p) returns once phase p is over: of a new barrier, which
// is in its phase 0, wait(barrier, 0) waits for the first phase, and wait(barrier, 1) returns at once.

typedef unsigned long long Barrier;

inline __device__ void make_barrier(Barrier* barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

// A barrier's place may be used for something else, or for another barrier.
inline __device__ void give_up(Barrier* barrier)
{
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(shared_address(barrier)) : "memory");
}

// Barriers just made are seen by the other blocks of the cluster and by bulk copies.
inline __device__ void publish_barriers()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives, and announces bytes.
inline __device__ void expect(Barrier* barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(shared_address(barrier)), "r"(bytes) : "memory");
}

inline __device__ void arrive(Barrier* barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared_address(barrier)) : "memory");
}

// Arrives when this thread's asynchronous copies until now (cp.async) have come.
inline __device__ void arrive_with_copies(Barrier* barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" :: "r"(shared_address(barrier)) : "memory");
}

// Arrives at the same barrier of another block of the cluster, for which nothing that was written has to be seen there.
inline __device__ void arrive_at(Barrier* barrier, int block)
{
    asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;"
                 " mbarrier.arrive.shared::cluster.b64 _, [there]; }"
                 :: "r"(shared_address(barrier)), "r"(block) : "memory");
}

inline __device__ void wait(Barrier* barrier, int phase)
{
    for (unsigned over = 0; !over;)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
                     " selp.u32 %0, 1, 0, p; }"
                     : "=r"(over) : "r"(shared_address(barrier)), "r"(phase) : "memory");
}

inline __device__ void cluster_barrier()
{
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

inline __device__ int rank_in_cluster()
{
    int rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// A consumer tells the producers that fetch for it that it needs a stage no longer: those of its own block
// and, where SHARING blocks share tiles, of the others.
template <int SHARING>
inline __device__ void let_go(Barrier* empty)
{
    const int thread = threadIdx.x % 128;
    if (SHARING == 1 && thread == 0)
        arrive(empty);
    if (SHARING > 1 && thread < SHARING)
        arrive_at(empty, thread);
}

// Waits for a group of threads of the block only; ids from 1, 0 is __syncthreads().
inline __device__ void group_barrier(int id, int threads)
{
    asm volatile("bar.sync %0, %1;" :: "r"(id), "r"(threads) : "memory");
}

// Arrives where others wait with group_barrier, and goes on.
inline __device__ void group_arrives(int id, int threads)
{
    asm volatile("bar.arrive %0, %1;" :: "r"(id), "r"(threads) : "memory");
}

// What lies at the same place of another block's shared memory.
inline __device__ float4 load_from(const float* pointer, int block)
{
    float4 four;
    asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %4, %5;"
                 " ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there]; }"
                 : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
                 : "r"(shared_address(pointer)), "r"(block));
    return four;
}

// Bulk copies: one thread asks for a whole box, whose first element is in column x of row y, and goes on; its bytes are
// counted by the barrier when they have come. z counts matrices.

// The map itself, before it is needed.
inline __device__ void fetch_map(const Map* map)
{
    asm volatile("prefetch.tensormap [%0];" :: "l"(map) : "memory");
}

inline __device__ void fetch(void* tile, const Map* map, int x, int y, Barrier* barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];"
                 :: "r"(shared_address(tile)), "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier)) : "memory");
}

inline __device__ void fetch(void* tile, const Map* map, int x, int y, int z, Barrier* barrier)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3, %4}], [%5];"
                 :: "r"(shared_address(tile)), "l"(map), "r"(x), "r"(y), "r"(z), "r"(shared_address(barrier))
                 : "memory");
}

// The tile and its bytes come to the same place in every block of the cluster that `blocks` has a bit for.
inline __device__ void fetch_for(unsigned short blocks, void* tile, const Map* map, int x, int y, Barrier* barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1, {%2, %3}], [%4], %5;"
                 :: "r"(shared_address(tile)), "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier)), "h"(blocks)
                 : "memory");
}

inline __device__ void
fetch_for(unsigned short blocks, void* tile, const Map* map, int x, int y, int z, Barrier* barrier)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1, {%2, %3, %4}], [%5], %6;"
                 :: "r"(shared_address(tile)), "l"(map), "r"(x), "r"(y), "r"(z), "r"(shared_address(barrier)),
                    "h"(blocks) : "memory");
}

inline __device__ void store(const Map* map, const void* tile, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                 :: "l"(map), "r"(x), "r"(y), "r"(shared_address(tile)) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

inline __device__ void store(const Map* map, const void* tile, int x, int y, int z)
{
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];"
                 :: "l"(map), "r"(x), "r"(y), "r"(z), "r"(shared_address(tile)) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Until at most N of this thread's stores still read shared memory.
template <int N>
inline __device__ void stores_have_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(N) : "memory");
}

// What threads wrote to shared memory is seen by bulk copies and wgmma.
inline __device__ void publish_to_copies()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Registers of the threads of a warpgroup, from here on; a multiple of 8.
template <int N>
inline __device__ void give_registers()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(N));
}

template <int N>
inline __device__ void take_registers()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(N));
}

// Products. A descriptor says where a matrix begins in shared memory and how it lies there: bits 0 to 13 its address, 16
// to 29 and 32 to 45 the distances of neighbouring parts, all in units of 16 bytes, and bits 62 and 63 its swizzle. The
// hardware swizzles addresses, so elements further along a row are as many bytes further as if nothing were swizzled, in
// tiles that begin at multiples of 1024 bytes.
//
// wgmma runs by itself once it has begun. begin_products() orders it behind what the threads did to the registers of its
// sums, commit_products() makes a group of all that have begun since the last one, and wait_for_products() waits for
// groups.

// Rows along k of SPAN bytes (128 or 64), swizzled by as many: eight rows are followed by the next eight.
template <int SPAN>
inline __device__ unsigned long long rows_along_k(unsigned address)
{
    constexpr unsigned long long layout = SPAN == 128 ? 1 : 2;
    return (address & 0x3FFFF) >> 4 | 1ull << 16 | (8ull * SPAN >> 4) << 32 | layout << 62;
}

// Columns along k: rows of 64 16-bit elements, swizzled by 128 bytes; `next` bytes further the next 64.
inline __device__ unsigned long long columns_along_k(unsigned address, unsigned next)
{
    return (address & 0x3FFFF) >> 4 | (next >> 4) * (1ull << 16) | (1024ull >> 4) << 32 | 1ull << 62;
}

// The descriptor of what lies so many bytes further on. Its upper half stays the same.
inline __device__ unsigned long long moved(unsigned long long descriptor, int bytes)
{
    return descriptor >> 32 << 32 | static_cast<unsigned>(descriptor) + (bytes >> 4);
}

inline __device__ void begin_products()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

inline __device__ void commit_products()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Until at most N groups of products are under way.
template <int N>
inline __device__ void wait_for_products()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(N) : "memory");
}
