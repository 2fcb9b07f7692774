// The terms are taken from both ends of k in turn, until the two indices meet.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int left = 0, right = k - 1; left <= right;) {
        const int p = (left + right) & 1 ? right-- : left++;
        sum = fmaf(A[row * k + p], B[p * n + column], sum);
    }
    C[row * n + column] = sum;
}
