// Bodies of a kernel, each in place of BODY.
// launch: block=32
// adding to C, which is not there: BODY `C[t] += A[t];` ==> uninitialized-read*32 C #body
// adding to C, which is there [beta=1.0]: BODY `C[t] += A[t];` ==> nothing
// an atomic on C, which is not there: BODY `atomicAdd(C + t, 1.0f);` ==> uninitialized-read*32 C #body
// an atomic on zeros [initial_c=zeros]: BODY `atomicAdd(C + t, 1.0f);` ==> nothing
// an over-read whose value is unused [over_read_A=16]: BODY `float x = A[t + n * n - 16];`, THEN `C[t] = t < 16 ? 2.0f
//     * x : 0.0f;` ==> nothing
// an over-read that reaches C [over_read_A=16]: BODY `float x = A[t + n * n - 16];`, THEN `C[t] = t < 18 ? 2.0f * x :
//     0.0f;` ==> uninitialized-read*2 C #body #then "thread (16, 0) of block (0, 0) reads a value that was never set"
// an over-read that is longer than declared [over_read_A=15]: BODY `float x = A[t + n * n - 16];`, THEN `C[t] = t < 18
//     ? 2.0f * x : 0.0f;` ==> out-of-bounds-read*1 A #body; uninitialized-read*2 C #body #then
// an over-read that is copied to C [grid=32 over_read_A=4]: BODY `int i = t + n * blockIdx.x; C[i] = A[i + 4];` ==>
//     uninitialized-read*4 C #body #body "thread (28, 0) of block (31, 0) reads a value that was never set"
// a sum that begins with 0 [grid=32]: BODY `float sum = 0; for (int p = 0; p < n; ++p) sum += A[blockIdx.x * n + p] *
//     B[p * n + t];`, THEN `C[blockIdx.x * n + t] = sum;` ==> nothing
// a sum that begins with nothing [grid=32]: BODY `float sum; for (int p = 0; p < n; ++p) sum += A[blockIdx.x * n + p] *
//     B[p * n + t];`, THEN `C[blockIdx.x * n + t] = sum;` ==> uninitialized-read*1024 C #then "stores to C a value that
//     depends on one that was never set"
// blocks across a barrier [grid=2 block=1]: BODY `C[blockIdx.x] = A[0]; __syncthreads();`, THEN `C[64 + 32 * blockIdx.x
//     + t] = C[blockIdx.x ^ 1];` ==> global-race*2 C #then #body "with no order between them"
// a block's own element across a barrier [grid=2 block=1]: BODY `C[blockIdx.x] = A[0]; __syncthreads();`, THEN `C[64 +
//     32 * blockIdx.x + t] = C[blockIdx.x];` ==> nothing
// threads across a barrier: BODY `C[t] = A[0]; __syncthreads();`, THEN `C[t + 32] = C[t ^ 1];` ==> nothing
// threads without a barrier: BODY `C[t] = A[0];`, THEN `C[t + 32] = C[t ^ 1];` ==> global-race*32 C #then #body "with
//     no barrier between them"
// a store behind a read [beta=1.0]: BODY `float x = c[t ^ 1]; C[t] = x + 1.0f;` ==> global-race*32 C #body #body "
//     writes element 0 of C, which thread (1, 0) of block (0, 0) reads"
// a read of all and a store of one [beta=1.0]: BODY `float x = c[0];`, THEN `if (t == 0) C[0] = x + 1.0f;` ==>
//     global-race*1 C #then #body "thread (0, 0) of block (0, 0) writes" "which thread (1, 0) of block (0, 0) reads"
// a read of all and a store behind a barrier of the last block [grid=2 beta=1.0]: BODY `float x = c[0];
//     __syncthreads();`, THEN `if (t == 0 && blockIdx.x == 1) C[0] = x + 1.0f;` ==> global-race*1 C #then #body "thread
//     (0, 0) of block (1, 0) writes" /of block \(0, 0\) reads .* with no order between them/
// an atomic behind a read [beta=1.0]: BODY `float x = c[t ^ 1];`, THEN `atomicAdd(C + t, x);` ==> global-race*32 C
//     #then #body "adds to element 0 of C, which thread (1, 0) of block (0, 0) reads"
// stores to one element: BODY `C[t / 2] = t;` ==> global-race*32 C #body "as other threads do at once"
// atomics of three blocks [grid=3 beta=1.0]: BODY `atomicAdd(C + t % 4, A[t]);` ==> nothing
// atomics and a read [beta=1.0]: BODY `atomicAdd(C + t % 4, A[t]);`, THEN `C[t + 4] = C[0];` ==> global-race*32 C #then
//     #body "adds to"
// a write and atomics [beta=1.0]: BODY `if (t == 9) C[3] = 0.0f;`, THEN `atomicAdd(C + t % 4, A[t]);` ==> global-race*8
//     C #then #body
// a result that another thread stores over: BODY `C[t] = 1;`, THEN `C[t ^ 1] = 2;` ==> global-race*32 C #then
//     #body
// a result that is stored over unread: BODY `c[t] = A[0];`, THEN `c[t] = A[1];` ==> overwritten-output*32 C #then
// a sum of a loop that grows in its place: BODY `C[t] = 0.0f;`, THEN `for (int p = 0; p < n; ++p) C[t] += A[p * n + t];`
//     ==> nothing
// a sum of an unrolled loop that grows in its place: BODY `C[t] = 0.0f;`, THEN `for (int p = 0; p < 4; ++p) C[t] =
//     B[p] * A[p * n + t] + C[t];` ==> nothing
// a sum that grows in its place: BODY `c[t] = A[0];`, THEN `c[t] = c[t] + A[1];` ==> nothing
// a misaligned vector: BODY `float2 pair = ((const float2*)(A + 1))[t]; C[t] = pair.x + pair.y;` ==> misaligned*32 A
//     #body
// rows of C that no thread writes: BODY `for (int row = 1; row < n; ++row) C[row * n + t] = A[0];` ==>
//     unwritten-output*32 C "element (0, 0) of C"
// many batches [grid=100 block=512 beta=1.0]: BODY `for (int i = 0; i < 5; ++i)`, THEN `C[t] += A[n * n + i +
//     blockIdx.x % 2];` ==> out-of-bounds-read*51200 A #then "thread (0, 0) of block (0, 0) reads"; global-race*51200
//     C #then #then
// an input that is written and restored: BODY `volatile float* a = const_cast<float*>(A) + t; float kept = *a; *a =
//     0;`, THEN `*a = kept;` ==> input-overwritten*32 A #body; input-overwritten*32 A #then
// a read of what the thread wrote through the non-coherent cache [beta=1.0]: BODY `C[t] = A[t];`, THEN `NC(C)` ==>
//     global-race*32 C #then #body "(ld.global.nc.f32), which thread (0, 0) of block (0, 0) writes" "in the same
//     launch"
// a non-coherent load of another thread's element [beta=1.0]: BODY `C[t ^ 1] = A[t]; __syncthreads();`, THEN `NC(C)` ==> global-race*32 C
//     #then #body "(ld.global.nc.f32), which thread (1, 0) of block (0, 0) writes" "in the same launch"
// a non-coherent load of one thread's element [beta=1.0]: BODY `if (t == 7) C[t] = A[t];`, THEN `NC(C)` ==> global-race*1 C #then #body
//     "(ld.global.nc.f32), which thread (7, 0) of block (0, 0) writes" "in the same launch"
// a non-coherent load after an addition [beta=1.0]: BODY `atomicAdd(C + t, A[t]);`, THEN `NC(C)` ==> global-race*32 C #then #body
//     "(ld.global.nc.f32), which thread (0, 0) of block (0, 0) adds to" "in the same launch"
// a non-coherent load of an element that no thread writes before [beta=1.0]: BODY `|C[t + n] = 2.0f;`, THEN `NC(C)`
//     ==> nothing
// a non-coherent load of an input [beta=1.0]: BODY `C[t] = A[t];`, THEN `NC(A)` ==> overwritten-output*32 C #then
#define NC(p) float x; asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(x) : "l"(p + t)); C[t] = x + 2.0f;
extern "C" __global__ void f(const float* A, const float* B, float* C, int n) {
    const int t = threadIdx.x;
    volatile float* c = C;
    BODY // #body
    THEN // #then
}
