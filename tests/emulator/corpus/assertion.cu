// A failing assertion is a violation and ends its threads.
// with ARCH: 75 | 90 | 100
// with OPTIONS: () | ("-G",)
// given: np.arange(144, dtype=f32), zeros(144, f32), i32(12)
// launch: grid=(2, 2), block=(8, 8), architecture="ARCH", options=OPTIONS
// Q[t] = t + 1
// expect: assertion at line 13:
//     thread (4, 0) of block (1, 0) fails the assertion 'row < n && column < n'
// [str(each)[:35] for each in run.violations] = ["assertion at test.cu:13: thread (4,"]
extern "C" __global__ void f(const float* A, float* out, int n) {
    __shared__ float tile[8][8];
    const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
    assert(row < n && column < n);
    tile[threadIdx.y][threadIdx.x] = A[row * n + column];
    __syncthreads();
    out[row * n + column] = tile[threadIdx.y][threadIdx.x] + 1;
}
