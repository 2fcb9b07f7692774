// A thread that counts its tries does not wait forever.
// P = [100] * 32
__device__ volatile int flag;
extern "C" __global__ void f(int* out) {
    int tries = 0;
    while (flag == 0 && ++tries < 100) __nanosleep(10);
    out[threadIdx.x] = tries;
}
