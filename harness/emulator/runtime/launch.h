/* How kernels are described and launched: the interface to Python and to the stub drivers. */
#ifndef HARNESS_EMULATOR_LAUNCH_H
#define HARNESS_EMULATOR_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#define MAXIMUM_FINDINGS 256      /* FINDINGS_PER_KIND of each kind */
#define FINDINGS_PER_KIND 16
#define MESSAGE_BYTES 192
#define MAXIMUM_PROCESSES 16
#define SHARED_CAPACITY (1024 * 1024)   /* for arrays and the red zones between them */

typedef struct MemoryRange {
    uint64_t start;
    uint64_t bytes;
} MemoryRange;

/* A retargeted kernel in this process's memory. */
typedef struct Kernel {
    void (*entry)(void **arguments);     /* reads each argument through its pointer */
    const char *name;
    int32_t warp_size;
    int32_t argument_count;
    const uint32_t *argument_bytes;
    int32_t shared_array_count;
    const MemoryRange *shared_arrays;    /* offsets into shared memory; the gaps are red zones */
    int64_t dynamic_offset;              /* where the array begins whose size the launch gives; -1: none */
    int32_t constant_count;
    const MemoryRange *constants;        /* addresses of constant tables, readable */
} Kernel;

typedef struct Finding {
    int32_t kind;                        /* a FindingKind of emulator.h */
    int32_t site;
    int32_t thread;
    int32_t lane;
    int32_t warp;
    uint32_t workgroup[3];
    uint64_t count;                      /* of this kind at this site */
    char message[MESSAGE_BYTES];
} Finding;

typedef struct LaunchOutcome {
    uint64_t workgroups;
    uint64_t collectives;                /* warp-wide operations executed */
    uint64_t accesses;                   /* loads and stores checked */
    uint64_t clamped[4];                 /* by `Clamped` of emulator.h */
    int32_t finding_count;
    int32_t signal;                      /* that ended a process of the launch; 0: none */
    int32_t differs;                     /* whether another order of lanes and warps gave other bytes */
    int32_t unused;
    uint64_t differing_address;
    Finding findings[MAXIMUM_FINDINGS];
} LaunchOutcome;

typedef struct LaunchOptions {
    int32_t processes;                   /* that share the workgroups; 1: none is forked */
    int32_t checks_within_warps;         /* lanes of a warp are unordered between warp-wide operations, too */
    int32_t order_count;
    int32_t unused;
    const uint64_t *orders;              /* of lanes and warps: 0 forward, 1 reversed, else a seed */
} LaunchOptions;

/* There is one launch and one table of buffers: each call below waits until the one before it has ended, on any
 * thread.  Who makes several calls that belong together holds the lock meanwhile; it may be taken again. */
void emulator_lock(void);
void emulator_unlock(void);

/* Whether one more buffer can be allocated or registered. */
int emulator_has_room(void);

/* Memory that processes of a launch share, between guard pages, filled with 0xFF.  `is_writable` 0: stores are
 * findings.  A null pointer: out of memory. */
void *emulator_allocate(size_t bytes, const char *name, int is_writable);
void emulator_free(void *address);
/* Announce memory that someone else allocated; with more than one process it must be shared. */
int emulator_register(void *address, size_t bytes, const char *name, int is_writable);
void emulator_unregister(void *address);

/* Run all workgroups of a grid.  Returns 0, or -1 where the launch itself is impossible; the reason is then the
 * message of the first finding. */
int emulator_launch(const Kernel *kernel, const uint32_t grid[3], const uint32_t block[3],
                    uint32_t dynamic_shared_bytes, void **arguments, const LaunchOptions *options,
                    LaunchOutcome *outcome);

/* Address of the shared memory, below 4 GiB, so that 32-bit addresses are enough. */
void *emulator_shared_memory(void);

/* Called by retargeted code.  Each returns the address to access: the given one, or, where that access must not
 * be made, one of memory that reads as poison and swallows stores. */
char *emulator_load_address(char *address, uint64_t bytes, uint64_t alignment, int32_t site);
char *emulator_store_address(char *address, uint64_t bytes, uint64_t alignment, int32_t site);
/* Masked accesses of vectors: element i, of `bytes` bytes, is accessed where bit i of the mask is set.  `values`
 * holds the vector, `addresses` points to its first element or, for gather and scatter, to an address for each
 * element.  `is_buffer`: the addresses are AMD's buffer pointers. */
void emulator_load_elements(char *address, char *values, uint64_t bytes, uint64_t mask, int32_t is_buffer,
                            int32_t site);
void emulator_store_elements(char *address, char *values, uint64_t bytes, uint64_t mask, int32_t is_buffer,
                             int32_t site);
void emulator_gather(char *const *addresses, char *values, uint64_t bytes, uint64_t mask, int32_t is_buffer,
                     int32_t site);
void emulator_scatter(char *const *addresses, char *values, uint64_t bytes, uint64_t mask, int32_t is_buffer,
                      int32_t site);
void emulator_call_lane(void (*model)(void), char *arguments, char *result, int32_t site);
void emulator_call_collective(void (*model)(void), char *arguments, char *result, int32_t site);

#endif
