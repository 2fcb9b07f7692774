struct Parameters {
    char first; const float* A; int m; double alpha; short n; const float* B; unsigned char flags[3]; int k;
    float* C; char last;
};
extern "C" __global__ void own(Parameters given, char check)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= given.m || column >= given.n || given.first != 5 || given.flags[2] != 9 || given.last != check)
        return;
    float sum = 0;
    for (int p = 0; p < given.k; ++p)
        sum += given.A[row * given.k + p] * given.B[p * given.n + column];
    given.C[row * given.n + column] = given.alpha * sum;
}
