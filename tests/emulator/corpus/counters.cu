// Accesses, operations and barriers are counted: of diverged threads apart, and of blocks once, also in a smaller batch.
// launch: LAUNCH
// given: GIVEN
// with PARAMETERS, BODY, GIVEN, LAUNCH, COUNTERS: const float* in, float* out
//     -> if (x % 2) out[x] = in[x] * 3.0f; else out[x + 32] = in[x + 64] + 1.0f;
//     -> np.ones(96, f32), np.ones(96, f32) -> block=(32,)
//     -> global_loads=32 global_load_requests=2 global_load_sectors=8 flops=32 fmas=0
// with PARAMETERS, BODY, GIVEN, LAUNCH, COUNTERS: const volatile float* in, float* out
//     -> out[0] = in[0];
//     -> np.ones(96, f32), np.ones(96, f32) -> grid=(41,), block=(1024,)
//     -> global_loads=41*1024 global_stores=41*1024 global_load_requests=41*32 global_load_sectors=41*32
// with PARAMETERS, BODY, GIVEN, LAUNCH, COUNTERS: const float* in, float* out, const double* more, double* sum
//     -> out[x] = fmaf(in[x], in[x], 1.0f) * 3.0f + 2.0f * in[x]; sum[x] = more[x] - 1.0;
//     -> np.ones(96, f32), np.ones(96, f32), np.ones(96), np.ones(96) -> block=(40,)
//     -> fmas=2*40 flops=(2+2+1+1)*40
// with PARAMETERS, BODY, GIVEN, LAUNCH, COUNTERS: int* out
//     -> atomicAdd(out + x / 16 * 8, 1);
//     -> zeros(96) -> block=(64,)
//     -> global_atomics=64 global_atomic_requests=2 global_atomic_sectors=4 global_loads=0 global_stores=0 global_accesses=64
// with PARAMETERS, BODY, GIVEN, LAUNCH, COUNTERS: float* out, int n
//     -> for (int i = 0; i < n; ++i) __syncthreads(); __syncwarp(); out[0] = 1;
//     -> np.ones(96, f32), i32(3) -> grid=(7,), block=(96,) -> barriers=21
// counts: COUNTERS
extern "C" __global__ void f(PARAMETERS) { const int x = threadIdx.x; BODY }
