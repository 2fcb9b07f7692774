#define N 24
__global__ void mul(double a[N][N], double (*b)[N], double c[][N]) {
    int i = blockIdx.y * 8 + threadIdx.y, j = blockIdx.x * 8 + threadIdx.x;
    double s = 0;
    for (int k = 0; k < N; k++) s += a[i][k] * b[k][j];
    c[i][j] = s;
}
