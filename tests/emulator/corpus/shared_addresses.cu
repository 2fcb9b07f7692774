// Shared arrays are at the addresses of an H200: from 0x400, aligned from there, dynamic memory at a multiple of 16.
// with ALIGN, BEGIN: 1 -> 0x550 | 16 -> 0x550 | 128 -> 0x580 | 1024 -> 0x800 | 4096 -> 0x1400
// given: zeros(4, u64)
// launch: block=(1,), shared_bytes=64
// (P & u64(0xFFFFF)) = [0x400, 0x410, 0x480, BEGIN]
extern __shared__ __align__(ALIGN) char dynamic[];
extern "C" __global__ void f(unsigned long long* out) {
    __shared__ long long bar[2];
    __shared__ char x[33];
    __shared__ __align__(128) short t[100];
    bar[0] = 1; x[0] = 1; t[0] = 2; dynamic[0] = 6;
    out[0] = __cvta_generic_to_shared(bar); out[1] = __cvta_generic_to_shared(x);
    out[2] = __cvta_generic_to_shared(t); out[3] = __cvta_generic_to_shared(dynamic);
}
