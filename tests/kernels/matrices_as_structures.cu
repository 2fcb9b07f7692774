typedef struct { int width, height; float *elements; } Matrix;

__global__ void mul(Matrix A, Matrix B, Matrix C)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= C.height || col >= C.width) return;
    float sum = 0;
    for (int i = 0; i < A.width; i++) sum += A.elements[row * A.width + i] * B.elements[i * B.width + col];
    C.elements[row * C.width + col] = sum;
}
