// Copies a box of a matrix by TMA, with zeros for elements outside the matrix.
// given: x = np.arange(20 * 40, dtype=np.float32).reshape(20, 40); y = np.zeros((8, 32), np.float32)
// launch: copy_box<<<1, 32>>>(TensorMap(x, box=(8, 32)), y, 15, 20)
// expect: y = np.pad(x, ((0, 3), (0, 12)))[15:, 20:]
#include <cuda.h>
#include <cstdint>

extern "C" __global__ void copy_box(const __grid_constant__ CUtensorMap map, float* out, int row, int column)
{
    __shared__ alignas(128) float box[8][32];
    __shared__ uint64_t barrier;
    unsigned at = __cvta_generic_to_shared(&barrier), to = __cvta_generic_to_shared(box);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at), "r"(8 * 32 * 4) : "memory");
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
            "r"(to), "l"(&map), "r"(column), "r"(row), "r"(at) : "memory");
    }
    __syncthreads();
#ifndef FORGOTTEN_WAIT
    unsigned done = 0;
    while (!done)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                     : "=r"(done) : "r"(at) : "memory");
#endif
    for (int i = threadIdx.x; i < 8 * 32; i += 32)
        out[i] = box[i / 32][i % 32];  // FORGOTTEN_WAIT: unfinished-copy
}
