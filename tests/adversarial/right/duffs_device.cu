// Duff's device: a switch jumps into the middle of an unrolled loop for the first k % 4 terms.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    const float *a = A + row * k, *b = B + column;
    float sum = 0.0f;
    int rounds = (k + 3) / 4;
    switch (k % 4) {
    case 0:
        do {
            sum += *a++ * *b, b += n;
    case 3:
            sum += *a++ * *b, b += n;
    case 2:
            sum += *a++ * *b, b += n;
    case 1:
            sum += *a++ * *b, b += n;
        } while (--rounds > 0);
    }
    C[row * n + column] = sum;
}
