// Atomic operations of integers are made one after the other, and return the old values.
// with CALL, START, OLD, LEFT: atomicAdd(p, 3) -> 5 -> {5 + 3 * t for t in T} -> 101
// with CALL, START, OLD, LEFT: atomicSub(p, 1) -> 5 -> {5 - t for t in T} -> -27
// with CALL, START, OLD, LEFT: (int)atomicInc((unsigned*)p, 20) -> 18 -> {18, 19, 20, *range(21)} -> 8
// with CALL, START, OLD, LEFT: (int)atomicDec((unsigned*)p, 20) -> 2 -> {2, 1, 0, *range(21)} -> 12
// with CALL, START, OLD, LEFT: atomicXor(p, 1) -> 4 -> {4, 5} -> 4 | atomicCAS(p, t, t + 1) -> 0 -> set(T) -> 32
// with CALL, START, OLD, LEFT: atomicMin(p, t - 3) -> 7 -> set(P.tolist()) -> -3
// with CALL, START, OLD, LEFT: atomicMax(p, t - 3) -> 7 -> set(P.tolist()) -> 28
// with CALL, START, OLD, LEFT: (int)atomicMax((unsigned*)p, t - 3) -> 7 -> set(P.tolist()) -> -1
// with CALL, START, OLD, LEFT: atomicAnd(p, ~(1 << t % 4)) -> 31 -> set(P.tolist()) -> 16
// with CALL, START, OLD, LEFT: atomicOr(p, 1 << t % 4) -> 16 -> set(P.tolist()) -> 31
// with CALL, START, OLD, LEFT: atomicExch(p, t) -> 99 -> {*T, 99} - {int(Q[0])} -> int(Q[0])
// given: zeros(32), ints(START)
// set(P.tolist()) = OLD
// Q = [LEFT]
extern "C" __global__ void f(int* out, int* p) {
    const int t = threadIdx.x;
    out[t] = CALL;
}
