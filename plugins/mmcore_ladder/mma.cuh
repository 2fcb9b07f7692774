// PTX instructions by name: loads of fragments from shared memory, and copies that a thread need not wait for.

#pragma once

// The address of something in shared memory, as these instructions take it.
__device__ inline unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Four matrices of 8×8 elements of 16 bits. Lane 8·i + r gives the address of row r of matrix i, 16 bytes long; every
// lane gets elements 2·(lane % 4) and the next one of row lane / 4 of each matrix, one word for each.
__device__ inline void load_matrices(unsigned (&words)[4], unsigned address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address));
}

// The same with rows and columns of each matrix exchanged on the way.
__device__ inline void load_matrices_transposed(unsigned (&words)[4], unsigned address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address));
}

// 16 bytes from global to shared memory, past registers and L1. Both addresses are multiples of 16.
__device__ inline void copy_async_16(unsigned to, const void* from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

// The same, of which only the first `valid` bytes are read; the rest is filled with zeros.
__device__ inline void copy_async_16(unsigned to, const void* from, int valid)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid) : "memory");
}

// 4 bytes, likewise; only .ca takes so few.
__device__ inline void copy_async_4(unsigned to, const void* from, int valid)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(valid) : "memory");
}

// The thread's copies since the last call are a group; a group may be empty.
__device__ inline void end_group()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Wait until at most PENDING of the thread's groups, the youngest, are under way.
template <int PENDING> __device__ inline void wait_groups()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}
