// A product with one element of C in each thread; each kernel of the corpus defines some of these macros anew.
#ifndef TERM
#define TERM(a, b) ((a) * (b))
#endif
#ifndef ADD
#define ADD(sum, term) ((sum) + (term))
#endif
#ifndef STORE
#define STORE(sum) (sum)
#endif
#ifndef START
#define START 0.0f
#endif
#ifndef BODY
#define BODY                                     \
    float sum = START;                           \
    for (int p = 0; p < k; ++p)                  \
        sum = ADD(sum, TERM(A_(row, p), B_(p, column))); \
    C[row * n + column] = STORE(sum);
#endif
#define A_(row, column) A[(row) * k + (column)]
#define B_(row, column) B[(row) * n + (column)]

extern "C" __global__ void own(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    BODY
}
