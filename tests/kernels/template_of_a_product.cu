extern "C" __global__ void own(PARAMETERS)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n)
        return;
    TYPE sum = 0;
    for (int p = 0; p < k; ++p)
        sum += A[INDEX_OF_A] * B[INDEX_OF_B];
    C[INDEX_OF_C] = RESULT;
}
