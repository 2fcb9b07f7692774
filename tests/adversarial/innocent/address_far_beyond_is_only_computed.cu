// The addresses of each row's end and of the row after C's last are computed and compared, but never accessed.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    const float *a = A + row * k, *b = B + column, *const end = a + k;
    float* const c = C + row * n + column;
    if (c >= C + m * n || column >= n)
        return;
    float sum = 0.0f;
    while (a != end) {
        sum += *a++ * *b;
        b += n;
    }
    *c = sum;
}
