extern "C" __global__ void first(float* C) {
    __shared__ float tile[256];
    extern __shared__ float more[];
    tile[threadIdx.x] = more[threadIdx.x] = C[threadIdx.x];
    __syncthreads();
    C[threadIdx.x] = tile[255 - threadIdx.x] + more[0];
}
extern "C" __global__ void after(float* C) { C[threadIdx.x] = 0; }
