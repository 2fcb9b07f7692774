// One thread per element of C, with leading dimensions, factors and layouts, in any types.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

// 8-bit floats, by their bits: shifted to where float32 has its exponent, that is too small by the difference of biases.
struct E4M3 {
    unsigned char bits;
    __device__ operator float() const
    {
        const unsigned magnitude = bits & 0x7f;
        const float number = magnitude == 0x7f ? __uint_as_float(0x7fc00000) : __uint_as_float(magnitude << 20) * 0x1p120f;
        return bits & 0x80 ? -number : number;
    }
};

struct E5M2 {
    unsigned char bits;
    __device__ operator float() const
    {
        const unsigned magnitude = bits & 0x7f;
        const float number = magnitude >= 0x7c ? __uint_as_float(0x7f800000 | (magnitude & 3) << 21)
                                               : __uint_as_float(magnitude << 21) * 0x1p112f;
        return bits & 0x80 ? -number : number;
    }
};

// Whether a matrix is stored by columns.
enum Layout { by_columns_a = 1, by_columns_b = 2, by_columns_c = 4 };

__device__ int place(bool by_columns, int row, int column, int leading)
{
    return by_columns ? column * leading + row : row * leading + column;
}

// As tensor cores sum 8-bit floats: 32 terms at once, of the sum 13 bits behind the first are left.
__device__ float cut_off(double sum)
{
    return static_cast<float>(__longlong_as_double(__double_as_longlong(sum) & -1LL << (52 - 13)));
}

template <typename In, typename Sum, typename Out, typename Factor, int layout, bool cut>
__global__ void strided(
    const In* A, const In* B, Out* C, int m, int n, int k, int lda, int ldb, int ldc, Factor alpha, Factor beta)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n)
        return;
    Sum sum = Sum(0);
    double part = 0;
    for (int p = 0; p < k; ++p) {
        const In a = A[place(layout & by_columns_a, row, p, lda)];
        const In b = B[place(layout & by_columns_b, p, column, ldb)];
        if (!cut) {
            sum += static_cast<Sum>(a) * static_cast<Sum>(b);
        } else {
            part += static_cast<float>(a) * static_cast<float>(b);
            if (p % 32 == 31 || p == k - 1) {
                sum = static_cast<Sum>(cut_off(static_cast<float>(sum) + part));
                part = 0;
            }
        }
    }
    Out* c = &C[place(layout & by_columns_c, row, column, ldc)];
    sum *= static_cast<Sum>(alpha);
    if (beta != Factor(0))
        sum += static_cast<Sum>(beta) * static_cast<Sum>(*c);
    *c = static_cast<Out>(sum);
}

// Every layer of blocks adds its part of the terms to a C of zeros.
template <typename In, typename Sum, int layout>
__global__ void layers(const In* A, const In* B, Sum* C, int m, int n, int k, int lda, int ldb, int ldc)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n)
        return;
    Sum sum = Sum(0);
    for (int p = blockIdx.z; p < k; p += gridDim.z)
        sum += static_cast<Sum>(A[place(layout & by_columns_a, row, p, lda)])
            * static_cast<Sum>(B[place(layout & by_columns_b, p, column, ldb)]);
    atomicAdd(&C[place(layout & by_columns_c, row, column, ldc)], sum);
}
