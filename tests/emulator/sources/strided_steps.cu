// Threads walk through memory in steps of 5, from a place that depends on thread and block by given factors.
extern "C" __global__ void f(const float* in, float* out, int ax, int ay, int az, int abx, int aby, int n, int limit) {
    const int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    if (x + y * blockIdx.y + z >= limit) return;
    volatile __shared__ float tile[2048];
    int i = ax * x + ay * y + az * z + abx * blockIdx.x + aby * blockIdx.y;
    for (int step = 0; step < n; ++step, i += 5) {
        tile[i] = in[i];
        out[0] = tile[i];
    }
}
