// An atomic addition of floats returns the old value.
// given: zeros(32, f32), zeros(1, f32), np.zeros(1)
// sorted(P.tolist()) = [2.5 * t for t in T]
// Q = [16]
// R = [64]
extern "C" __global__ void f(float* out, float* p, double* q) {
    out[threadIdx.x] = atomicAdd(p, 0.5f) + (float)atomicAdd(q, 2.0);
}
