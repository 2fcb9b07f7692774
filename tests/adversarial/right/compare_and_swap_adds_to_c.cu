// C = C + AB, where an atomicCAS loop on the bits of a double adds the sums of two slices.
// kernel: dtype=float64 beta=1
// grid: ceil(n/16), ceil(m/16), 2

extern "C" __global__ void f(const double* A, const double* B, double* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    double sum = 0.0;
    for (int p = blockIdx.z; p < k; p += 2)
        sum += A[row * k + p] * B[p * n + column];
    unsigned long long* const element = (unsigned long long*)&C[row * n + column];
    unsigned long long old = *(volatile unsigned long long*)element, seen;
    do {
        seen = old;
        old = atomicCAS(element, seen, __double_as_longlong(__longlong_as_double(seen) + sum));
    } while (old != seen);
}
