__shared__ float common[7];
struct S { int a[5]; };
extern "C" __device__ __noinline__ float called(float x) { return x * 3; }
extern "C" __global__ void first(S s, double d, short q, float* A)
{
    __shared__ float own[32][3];
    own[threadIdx.x][1] = called(A[s.a[q]]);
    __syncthreads();
    A[0] = own[s.a[1]][2] + d;
}
extern "C" __global__ void second(float* A) { common[threadIdx.x] = A[1]; __syncthreads(); A[2] = common[0]; }
