// A single thread computes all of C in a single loop that steps three indices like an odometer.
// sizes: 7x9x11 1x1x1
// config: block=1
// grid: 1

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    float sum = 0.0f;
    for (int row = 0, column = 0, p = 0; row < m;) {
        sum += A[row * k + p] * B[p * n + column];
        if (++p < k)
            continue;
        C[row * n + column] = sum;
        sum = 0.0f;
        p = 0;
        if (++column == n) {
            column = 0;
            ++row;
        }
    }
}
