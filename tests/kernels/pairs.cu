// One thread for two neighbouring elements of C, which are summed as a pair.
#include <HEADER>
__global__ void mm(const ELEMENT *A, const ELEMENT *B, ELEMENT *C, int n)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    PAIR sum = {};
    for (int k = 0; k < n; k++) {
        PAIR a = {A[row * n + k], A[row * n + k]}, b = *(const PAIR *)&B[k * n + col];
        sum = TERM;
    }
    *(PAIR *)&C[row * n + col] = sum;
}
void run(const ELEMENT *A, const ELEMENT *B, ELEMENT *C, int n)
{
    mm<<<dim3(n / 32, n / 16), dim3(16, 16)>>>(A, B, C, n);
}
