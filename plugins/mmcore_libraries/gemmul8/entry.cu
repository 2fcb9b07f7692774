// GEMMul8's products of real numbers by int8 tensor cores, behind names of C. The headers are those of a checkout.
#include "include/gemmul8.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cuda_fp8.h>
#include <random>
#include <string>
#include <type_traits>
#include <utility>

// A stream that is captured into a graph can neither wait, as GEMMul8 does between its stages to time them, nor copy from
// pageable memory, as it does in every product. Its table of constants is copied once instead.
#define cudaStreamSynchronize(stream) static_cast<void>(stream)
#define cudaMemcpyToSymbolAsync(...) static_cast<void>(stream)
#include "src/self_hipify.hpp"
#include "src/template_type.hpp"
#include "src/common.hpp"
#include "src/template_math.hpp"
#include "src/table.hpp"
#include "src/find_max.hpp"
#include "src/mod.hpp"
#include "src/matmult.hpp"
#include "src/scaling.hpp"
#include "src/scaling_fast_real.hpp"
#include "src/scaling_accu_real.hpp"
#include "src/conv_hi2mid_real.hpp"
#include "src/inverse_scaling_real.hpp"
#include "src/gemmul8_real.hpp"

constexpr auto INT8 = gemmul8::Backend::INT8;

template <class T>
static int multiply(cublasLtHandle_t handle, size_t m, size_t n, size_t k, double alpha, const void *a, size_t lda,
                    const void *b, size_t ldb, double beta, void *c, size_t ldc, unsigned moduli, void *workspace,
                    cudaStream_t stream)
{
    const T factor = T(alpha), of_c = T(beta);
    real::gemm<T, INT8>(Handle_t(CublasLtTag{}, handle), CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &factor,
                        static_cast<const T *>(a), lda, static_cast<const T *>(b), ldb, &of_c, static_cast<T *>(c), ldc,
                        moduli, true, workspace, nullptr, nullptr, false, false, false, false, stream);
    return cudaGetLastError();
}

// Called before the first product on a device. The error is CUDA's, or 0.
extern "C" int prepare()
{
    return cudaMemcpyToSymbol(table::INT8::mod_pow2, table::INT8::mod_pow2_h, sizeof table::INT8::mod_pow2_h);
}

extern "C" size_t workspace_bytes(size_t m, size_t n, size_t k, unsigned moduli)
{
    return real::workSize<INT8>(m, n, k, moduli, false, false, nullptr, nullptr);
}

// Matrices are stored by columns, as BLAS has them. An error is CUDA's, or 0.
#define PRODUCT(name, T)                                                                                             \
    extern "C" int name(cublasLtHandle_t handle, size_t m, size_t n, size_t k, double alpha, const void *a, size_t lda, \
                        const void *b, size_t ldb, double beta, void *c, size_t ldc, unsigned moduli, void *workspace, \
                        cudaStream_t stream)                                                                          \
    {                                                                                                                 \
        return multiply<T>(handle, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, moduli, workspace, stream);          \
    }

PRODUCT(multiply_float64, double)
PRODUCT(multiply_float32, float)
