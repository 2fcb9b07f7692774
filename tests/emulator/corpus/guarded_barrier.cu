// A guarded barrier is only for the threads with a true guard.
// with GUARD: @%%p1 | @!%%p1
// given: zeros(64)
// launch: block=(64,)
// P[t] = t ^ 1
extern "C" __global__ void f(int* out) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    asm volatile("{{ .reg .pred %%p1; setp.lt.u32 %%p1, %0, 32; GUARD bar.sync 3, 32; }}"
        :: "r"(threadIdx.x) : "memory");
    out[threadIdx.x] = s[threadIdx.x ^ 1];
}
