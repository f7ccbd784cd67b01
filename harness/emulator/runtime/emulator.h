/* What the runtime, the models of device intrinsics, and the retargeted kernels know of one another.
 *
 * Every lane (GPU thread) of a workgroup is a fiber.  A lane model computes one lane's result alone; a
 * collective model is called once for all lanes of a warp (wave, sub-group) that have met at the same call.
 * Workgroups run one after another in a process; several processes may share the workgroups of a launch.
 */
#ifndef HARNESS_EMULATOR_H
#define HARNESS_EMULATOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes between two arguments, and for a result.  The largest value is <32 x float> of a matrix instruction. */
#define ARGUMENT_BYTES 128
#define RESULT_BYTES 256
#define MAXIMUM_WARP 64
#define MAXIMUM_LANES 1024

typedef struct Warp Warp;

typedef struct Lane {
    int thread;         /* number within the workgroup, x fastest */
    int index;          /* number within the warp */
    Warp *warp;
    int site;           /* of the call that the lane is at; see `Finding` */
    char *arguments;    /* of that call, ARGUMENT_BYTES each */
    char *result;       /* of that call */
    struct LaneState *state;   /* the scheduler's and the asynchronous copies' own */
} Lane;

struct Warp {
    int index;          /* number within the workgroup */
    int size;           /* lanes of a full warp: 16, 32 or 64 */
    int count;          /* lanes that exist: fewer in a last warp that is not full */
    Lane *lanes[MAXIMUM_WARP];
    uint64_t active;    /* lanes that take part in the call that a collective model is asked for */
    uint64_t live;      /* lanes that have not returned */
};

/* The launch that runs; the same for all lanes. */
typedef struct Launch {
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t workgroup[3];     /* the one that runs now */
    int warp_size;
    const char *implicit_arguments;   /* AMD's hidden kernel arguments, 256 bytes */
} Launch;

extern Launch launch;
extern Lane *current_lane;

typedef void (*LaneModel)(const Lane *lane, const char *arguments, char *result);
typedef void (*CollectiveModel)(Warp *warp);

/* A model's definition: LANE_MODEL(nvvm_fma_rn_f) { RESULT(float) = fmaf(ARGUMENT(0, float), …); } */
#define LANE_MODEL(name) \
    __attribute__((visibility("default"))) \
    void name(const Lane *lane __attribute__((unused)), const char *arguments __attribute__((unused)), \
              char *result __attribute__((unused)))
#define ARGUMENT(position, type) (*(const type *)(arguments + ARGUMENT_BYTES * (position)))
#define RESULT(type) (*(type *)result)

#define COLLECTIVE_MODEL(name) __attribute__((visibility("default"))) void name(Warp *warp)
#define EACH_ACTIVE_LANE(lane) \
    for (int lane = 0; lane < warp->count; lane++) if (warp->active >> lane & 1)
#define LANE_ARGUMENT(lane, position, type) \
    (*(type *)(warp->lanes[lane]->arguments + ARGUMENT_BYTES * (position)))
#define LANE_RESULT(lane, type) (*(type *)warp->lanes[lane]->result)

/* ------------------------------------------------------------------ findings */

typedef enum FindingKind {
    FINDING_OUT_OF_BOUNDS = 1,        /* an access outside of every buffer */
    FINDING_READ_ONLY = 2,            /* a store to a buffer that the launch only reads */
    FINDING_SHARED_OUT_OF_BOUNDS = 3, /* an access to a red zone or past the end of shared memory */
    FINDING_UNINITIALIZED = 4,        /* a read of shared memory that nothing has written */
    FINDING_RACE = 5,                 /* two lanes, one of them writing, with no barrier in between */
    FINDING_IN_FLIGHT = 6,            /* an access to what an asynchronous copy has not delivered yet */
    FINDING_DIVERGENT_BARRIER = 7,
    FINDING_DIVERGENT_COLLECTIVE = 8, /* a warp-wide operation without all the lanes that it needs */
    FINDING_MEMBER_MASK = 9,          /* a member mask that does not name the lanes that are there */
    FINDING_INACTIVE_SOURCE = 10,     /* a lane reads from one that takes no part */
    FINDING_REPLICATION = 11,         /* lanes that must hold the same operand do not */
    FINDING_UNALIGNED = 12,           /* an address that the instruction does not take */
    FINDING_UNSUPPORTED_OPERAND = 13, /* an operand value that the model does not cover */
    FINDING_DEADLOCK = 14,            /* lanes wait for something that can no longer happen */
    FINDING_PENDING_COPY = 15,        /* the kernel ended before its asynchronous copies were waited for */
} FindingKind;

/* Record a finding of the current lane, or of a lane of a warp; `message` is printf-like and short.  The first
 * of each kind and site is kept whole, the others are counted; of each kind there is room for a few sites, so that
 * one kind does not hide another. */
void report(FindingKind kind, const Lane *lane, const char *message, ...) __attribute__((format(printf, 3, 4)));

/* ------------------------------------------------------------------ memory, for models that touch it */

typedef enum Access { ACCESS_LOAD = 0, ACCESS_STORE = 1 } Access;

/* Whether a lane may access these bytes: in bounds of a buffer, of shared memory or of the lane's own stack;
 * records races, uninitialised reads and the rest.  False: the access must not be made. */
int check_access(const Lane *lane, const char *address, size_t bytes, Access access);

/* Whether an address lies in shared memory. */
int is_shared(const char *address);

/* An asynchronous copy of the lane into shared memory: the destination holds poison until the lane waits for
 * the copy's group.  Bytes of the destination beyond `source_bytes` become 0. */
void start_copy(const Lane *lane, char *destination, const char *source, size_t bytes, size_t source_bytes);
/* Close the lane's group of copies started since the last one. */
void commit_copies(const Lane *lane);
/* Deliver all of the lane's closed groups but the newest `pending` ones. */
void wait_for_copies(const Lane *lane, int pending);
/* Deliver all of the lane's copies, closed or not. */
void wait_for_all_copies(const Lane *lane);

/* Accesses that hardware clamps: reads that gave 0 and writes that were dropped. */
typedef enum Clamped { CLAMPED_BUFFER_LOAD, CLAMPED_BUFFER_STORE, CLAMPED_BLOCK_LOAD, CLAMPED_BLOCK_STORE } Clamped;
void count_clamped(Clamped kind, const Lane *lane);

/* ------------------------------------------------------------------ barriers, for models that are one */

/* Wait until `threads` lanes of the workgroup (0: all) have arrived at the barrier of this number. */
void barrier_wait(const Lane *lane, int barrier, int threads);
/* Arrive without waiting; the two halves of a split barrier. */
void barrier_arrive(const Lane *lane, int barrier, int threads);
/* Wait for the phase that the lane's last arrival belongs to. */
void barrier_wait_arrived(const Lane *lane, int barrier);

/* ------------------------------------------------------------------ numbers */

static inline float float_of_bfloat16(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

inline float float_of_half(uint16_t bits) {
    _Float16 value;
    memcpy(&value, &bits, sizeof value);
    return (float)value;
}

uint16_t half_of_float(float value);       /* to nearest, ties to even */
uint16_t bfloat16_of_float(float value);   /* to nearest, ties to even */

#endif
