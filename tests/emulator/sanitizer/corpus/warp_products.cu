// Products of a warp, whose sums are fragments.
// launch: block=32 m=16 n=16 k=16 dtype=float16 output=float32
// right
// sums that were never set: drop #zeros ==> uninitialized-read*32 C #product #stored "adds a product to registers that
//     were never set"
// sums that were never set, and are not stored: drop #zeros, `sum, 16,` -> `zeros, 16,` ==> nothing
#include <mma.h>
using namespace nvcuda::wmma;
extern "C" __global__ void f(const half* A, const half* B, float* C) {
    fragment<matrix_a, 16, 16, 16, half, row_major> a;
    fragment<matrix_b, 16, 16, 16, half, row_major> b;
    fragment<accumulator, 16, 16, 16, float> sum, zeros;
    fill_fragment(zeros, 0.0f);
    fill_fragment(sum, 0.0f); // #zeros
    load_matrix_sync(a, A, 16);
    load_matrix_sync(b, B, 16);
    mma_sync(sum, a, b, sum); // #product
    mma_sync(sum, a, b, sum); // #second
    store_matrix_sync(C, sum, 16, mem_row_major); // #stored
}
