// The tiles of C as work for blocks, where those of the last wave are shared (stream-k).
//
// Blocks come in waves, as many as the multiprocessors have room for, and the last one leaves multiprocessors without
// work. Its tiles are shared: their steps along k, one tile's behind another's, are divided equally among as many blocks
// as there is room for, so that a block has the end of one tile and the beginning of the next. Sums of such parts go to
// memory of their own, and a second launch adds up what the blocks have of each tile, always in the same order.

#pragma once

#include "launches.cuh"

// C's tiles, and the steps along k of each.
struct Grid {
    unsigned down, across, steps;

    __device__ Grid(int m, int n, int k)
        : down((m + BM - 1u) / BM), across((n + BN - 1u) / BN), steps((k + BK - 1u) / BK)
    {
    }

    // The step with which one of the blocks begins that share tiles; steps are counted from the first of tile `whole`.
    __device__ unsigned long long begin_of(unsigned block, unsigned sharing, unsigned whole) const
    {
        return (down * across - whole) * static_cast<unsigned long long>(steps) * block / sharing;
    }
};

// Where a tile begins. Blocks begin in the order of blockIdx.x. They go down GROUP rows of tiles first, and then one
// tile to the right: those that run at the same time need few rows of A and few columns of B, which stay in the L2
// cache.
struct Place {
    unsigned row, column;

    __device__ Place(unsigned tile, const Grid& grid)
    {
        const unsigned group = tile / (GROUP * grid.across), within = tile % (GROUP * grid.across);
        const unsigned height = min(unsigned(GROUP), grid.down - group * GROUP);
        row = (group * GROUP + within % height) * BM;
        column = within / height * BN;
    }
};

// What a block has to do: of a tile the steps from `first` up to `last`, none if these are the same. Of the first blocks,
// `whole` of them, each has a tile of its own. The others share the rest. There are more of them than such tiles, so that
// each has less than a tile's steps, in two tiles at most: parts 0 and 1.
struct Work {
    const Grid grid;
    const bool shared;
    unsigned tile, first = 0, last, place_of_sums = 0;  // among the parts

    __device__ Work(int m, int n, int k, unsigned whole, unsigned part)
        : grid(m, n, k), shared(blockIdx.x >= whole), tile(blockIdx.x), last(part == 0 ? grid.steps : 0)
    {
        if (!shared)
            return;
        const unsigned block = blockIdx.x - whole, sharing = gridDim.x - whole;
        const unsigned long long begin = grid.begin_of(block, sharing, whole);
        const unsigned count = grid.begin_of(block + 1, sharing, whole) - begin, from = begin % grid.steps;
        tile = whole + begin / grid.steps + part;
        first = part == 0 ? from : 0;
        last = part == 0 ? min(grid.steps, from + count) : from + count > grid.steps ? from + count - grid.steps : 0;
        place_of_sums = 2 * block + part;
    }
};

// Where the sums of a tile go: elements of rows `pitch` apart, of which so many are there.
template <typename T>
struct Target {
    T* to;
    unsigned pitch, rows, columns;

    __device__ Target(const Work& work, T* C, T* parts, int m, int n, int ldc)
    {
        const Place place(work.tile, work.grid);
        to = work.shared ? parts + size_t(work.place_of_sums) * BM * BN : C + size_t(place.row) * ldc + place.column;
        pitch = work.shared ? BN : ldc;
        rows = work.shared ? BM : m - place.row, columns = work.shared ? BN : n - place.column;
    }
};

// The same number, of which the compiler knows nothing any more: what follows from it is computed again, instead of
// being kept in registers.
__device__ unsigned forgotten(unsigned number)
{
    asm volatile("" : "+r"(number));
    return number;
}

// The Target of one of a block's parts, found anew when it is asked for.
template <typename T>
struct Sums {
    T *C, *parts;
    int m, n, k, ldc;
    unsigned whole, part;

    __device__ Target<T> target() const
    {
        return Target<T>(Work(m, n, k, whole, forgotten(part)), C, parts, m, n, ldc);
    }
};

// Has a block do its work: `multiply` makes the products of the steps of one tile, and asks only behind them where their
// sums go. It waits for the last launch just before it reads A or B.
template <typename T, typename F>
__device__ void share_tiles(T* C, T* parts, int m, int n, int k, int ldc, unsigned whole, F multiply)
{
#pragma unroll 1
    for (unsigned part = 0; part < 2; ++part) {
        const Work work(m, n, k, whole, part);
        if (work.first == work.last)
            return;
        if (part == 1) {  // the first part's copies to shared memory, of which none is waited for, have to be over
            asm volatile("cp.async.wait_all;" ::: "memory");
            __syncthreads();
        }
        multiply(Place(work.tile, work.grid), work.first, work.last, Sums<T>{C, parts, m, n, k, ldc, whole, part});
    }
}

// 16 bytes of neighbours.
template <typename T>
struct alignas(16) Chunk {
    T elements[16 / sizeof(T)];
};

// Adds up the tiles behind the `whole` first, which so many blocks shared. A thread has 16 bytes of neighbours.
template <typename T>
__global__ void __launch_bounds__(256)
add_up(const T* parts, T* C, int m, int n, int k, int ldc, unsigned whole, unsigned sharing)
{
    wait_for_last_launch();
    let_next_begin();
    constexpr unsigned WIDTH = 16 / sizeof(T), BLOCKS_OF_TILE = BM * BN / WIDTH / 256;
    const Grid grid(m, n, k);
    const unsigned tile = blockIdx.x / BLOCKS_OF_TILE;  // of those that are shared
    const unsigned at = (blockIdx.x % BLOCKS_OF_TILE * 256 + threadIdx.x) * WIDTH;
    const Place place(whole + tile, grid);
    const unsigned row = place.row + at / BN, column = place.column + at % BN;
    if (row >= m || column >= n)
        return;

    // From the block that has the tile's first step to the one that has its last.
    const unsigned long long begin = static_cast<unsigned long long>(tile) * grid.steps, end = begin + grid.steps;
    unsigned block = begin * sharing / grid.begin_of(1, 1, whole);
    while (grid.begin_of(block + 1, sharing, whole) <= begin)
        ++block;
    Chunk<T> sum = {};
    for (; block < sharing && grid.begin_of(block, sharing, whole) < end; ++block) {
        // A block's second part is of a tile that begins within its steps.
        const bool second = grid.begin_of(block, sharing, whole) < begin;
        const Chunk<T> part = *reinterpret_cast<const Chunk<T>*>(parts + (block * 2ull + second) * BM * BN + at);
        for (int e = 0; e < WIDTH; ++e)
            sum.elements[e] += part.elements[e];
    }
    T* const to = C + size_t(row) * ldc + column;
    if (column + WIDTH <= n && ldc % WIDTH == 0)
        *reinterpret_cast<Chunk<T>*>(to) = sum;
    else
        for (int e = 0; e < WIDTH && column + e < n; ++e)
            to[e] = sum.elements[e];
}
