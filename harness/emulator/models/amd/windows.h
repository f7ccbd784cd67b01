/* Buffer resources of AMD GPUs as windows, pointers that cannot be dereferenced; see windows.c. */
#ifndef HARNESS_AMD_WINDOWS_H
#define HARNESS_AMD_WINDOWS_H

#include "emulator.h"

/* The pointer to the first byte of a resource.  `records`: its size in bytes. */
char *amdgcn_make_window(char *base, uint32_t records);

/* Accesses to `offset` bytes past a pointer, modulo 2^32. */
void amdgcn_read_window(const Lane *lane, const char *pointer, uint32_t offset, char *destination,
                        size_t bytes);
void amdgcn_write_window(const Lane *lane, char *pointer, uint32_t offset, const char *source, size_t bytes);

#endif
