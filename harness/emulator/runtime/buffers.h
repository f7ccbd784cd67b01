/* Loads and stores through AMD's buffer pointers, for the retargeted kernels.
 *
 * * A buffer pointer (address spaces 7 and 8) is a buffer resource and a 32-bit offset.  Here it is 64
 * bits: a window that stands for the resource, and the offset within it.  Additions to the pointer add to
 * the offset; nothing can be read or written through it but by these functions.  A dword that does not lie
 * within the resource as a whole gives 0, or is dropped, and the access is counted as
 * clamped.  `models/amd/windows.c` defines them. */
#ifndef HARNESS_EMULATOR_BUFFERS_H
#define HARNESS_EMULATOR_BUFFERS_H

#include <stdint.h>

/* Accesses of the current lane, at a site. */
void buffer_load(const char *pointer, char *destination, uint64_t bytes, int32_t site);
void buffer_store(char *pointer, const char *source, uint64_t bytes, int32_t site);

#endif
