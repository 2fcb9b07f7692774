// D = A B + C of 16 by 16 elements, on the tensor cores by one warp.
// given: a, b = random().integers(-4, 4, (2, 16, 16)).astype(np.float16); d = np.zeros((16, 16), np.float32)
// given: c = random().integers(-4, 4, (16, 16)).astype(np.float32)
// launch: tensor_core<<<1, 32>>>(a, b, c, d)
// expect: d = a.astype(np.float32) @ b.astype(np.float32) + c
#include <mma.h>

using namespace nvcuda::wmma;

extern "C" __global__ void tensor_core(const half* a, const half* b, const float* c, float* d)
{
    fragment<matrix_a, 16, 16, 16, half, row_major> of_a;
    fragment<matrix_b, 16, 16, 16, half, row_major> of_b;
    fragment<accumulator, 16, 16, 16, float> sum;
    load_matrix_sync(of_a, a, 16);
    load_matrix_sync(of_b, b, 16);
    load_matrix_sync(sum, c, 16, mem_row_major);
    mma_sync(sum, of_a, of_b, sum);
    store_matrix_sync(d, sum, 16, mem_row_major);
}
