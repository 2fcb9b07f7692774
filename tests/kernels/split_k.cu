__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    int part = n / gridDim.z, first = blockIdx.z * part;
    float sum = 0;
    for (int k = first; k < first + part; k++) sum += A[row * n + k] * B[k * n + col];
    atomicAdd(&C[row * n + col], sum);
}
void run(const float *A, const float *B, float *C, int n)
{
    cudaMemset(C, 0, n * n * sizeof(float));
    mm<<<dim3(n / 16, n / 16, PARTS), dim3(16, 16)>>>(A, B, C, n);
}
