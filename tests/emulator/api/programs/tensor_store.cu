// Stores a box at the edge of a matrix by TMA. The part of the box outside the matrix has never been written.
// given: x = np.zeros((20, 40), np.float32)
// launch: store_box<<<1, 32>>>(TensorMap(x, box=(8, 32)), 15, 20)
// expect: x = np.pad(np.ones((5, 20), np.float32), ((15, 0), (20, 0)))
#include <cuda.h>
#ifdef FORGOTTEN_COLUMN
#define COLUMNS 19
#else
#define COLUMNS 20
#endif

extern "C" __global__ void store_box(const __grid_constant__ CUtensorMap map, int row, int column)
{
    __shared__ alignas(128) float box[8][32];
    for (int i = 0; i < 5; ++i)
        if (threadIdx.x < COLUMNS) box[i][threadIdx.x] = 1;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::  // FORGOTTEN_COLUMN: uninitialized-read
            "l"(&map), "r"(column), "r"(row), "r"((unsigned)__cvta_generic_to_shared(box)) : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
