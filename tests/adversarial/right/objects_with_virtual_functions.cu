// Matrices with and without bounds checks are classes with a virtual operator(), which threads instantiate.
// not on: emulator
// sizes: 17x19x21

struct Matrix {
    const float* data;
    int rows, columns;
    __device__ Matrix(const float* data, int rows, int columns) : data(data), rows(rows), columns(columns) {}
    __device__ virtual float operator()(int row, int column) const { return data[row * columns + column]; }
};
struct Guarded : Matrix {
    using Matrix::Matrix;
    __device__ float operator()(int row, int column) const override
    {
        return row < rows && column < columns ? Matrix::operator()(row, column) : 0.0f;
    }
};

__device__ __noinline__ float product(const Matrix& a, const Matrix& b, int row, int column)
{
    float sum = 0.0f;
    for (int p = 0; p < a.columns; ++p)
        sum += a(row, p) * b(p, column);
    return sum;
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    const Matrix a(A, m, k), b(B, k, n);
    const Guarded guarded_a(A, m, k), guarded_b(B, k, n);
    const bool edge = row + 1 >= m || column + 1 >= n;
    const float sum = product(edge ? guarded_a : a, edge ? guarded_b : b, row, column);
    if (row < m && column < n)
        C[row * n + column] = sum;
}
