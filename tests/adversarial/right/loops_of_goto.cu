// All loops are made of goto, with two labels in the same loop, one for even and one for odd columns.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f, a;
    int p = 0;
    if (row >= m || column >= n)
        goto end;
    if (column % 3 == 1)
        goto load;
    a = A[row * k];
    goto use;
load:
    a = A[row * k + p];
    if (a == 0.0f)
        goto next;
use:
    sum += a * B[p * n + column];
next:
    if (++p < k)
        goto load;
    C[row * n + column] = sum;
end:;
}
