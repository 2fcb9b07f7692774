    __shared__ float a[8][8], b[8][8];
    const int x = threadIdx.x, y = threadIdx.y, row = 8 * blockIdx.y + y, column = 8 * blockIdx.x + x;
    float sum = 0;
    for (int k = 0; k < n; k += 8) {
        a[y][x] = A[row * n + k + x];
        b[y][x] = B[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < 8; i++)
            sum += a[y][i] * b[i][x];
        BARRIER
    }
    C[row * n + column] = sum;
