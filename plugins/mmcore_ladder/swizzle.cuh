// The swizzle of ladder.bf16.04_swizzle, for the rungs above it.

#pragma once

// Where chunk number `chunk` of a row lies in a tile with rows of LENGTH elements, in elements. 32 banks hold eight
// chunks: one row of 64 elements or more, or several shorter rows. The eight rows that ldmatrix reads at once have
// their chunks of one number in eight different places of these.
template <int LENGTH> __device__ inline int place(int row, int chunk)
{
    constexpr int CHUNKS = LENGTH / 8 < 8 ? LENGTH / 8 : 8;  // of a row that change places with each other
    constexpr int ROWS = 8 / CHUNKS;                         // that lie in the 32 banks beside each other
    return row * LENGTH + (chunk ^ row / ROWS % CHUNKS) * 8;
}
