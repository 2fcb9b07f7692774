// Launches that follow each other (programmatic dependent launch).
//
// A launch begins some microseconds after the one in front of it has ended: that one's last writes have to be seen, blocks
// to be given to multiprocessors, barriers to be made. A launch whose rule says `dependent` may begin before, once all
// blocks of the one in front have ended, or let it begin: its own get the room that those leave.

#pragma once

// Waits until the launch in front is over and what it wrote is seen. Behind this only may a kernel read what another
// launch writes, or write anything.
inline __device__ void wait_for_last_launch()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the next launch begin as soon as all blocks of this one have come here.
inline __device__ void let_next_begin()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
