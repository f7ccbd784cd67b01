/* What the files of the runtime share among themselves; models and drivers use emulator.h and launch.h. */
#ifndef HARNESS_EMULATOR_INTERNAL_H
#define HARNESS_EMULATOR_INTERNAL_H

#include "emulator.h"
#include "launch.h"

#define MAXIMUM_WARPS (MAXIMUM_LANES / 16)
#define MAXIMUM_BARRIERS 32
#define STACK_BYTES (256 * 1024)

typedef enum LaneStatus { LANE_RUNNABLE, LANE_AT_COLLECTIVE, LANE_AT_BARRIER, LANE_RETURNED } LaneStatus;

/* An asynchronous copy that its lane has not waited for. */
typedef struct Copy {
    char *destination;
    unsigned char bytes;
    char data[16];
    int group;          /* number of the lane's group; the open group has the highest */
} Copy;

typedef struct LaneState {
    void *stack_pointer;
    char *stack;                 /* lowest address */
    LaneStatus status;
    CollectiveModel collective;  /* that the lane waits for */
    int barrier;                 /* that the lane waits at */
    uint64_t phase[MAXIMUM_BARRIERS];   /* of each barrier, when the lane last arrived */
    uint32_t clock;              /* what orders it with lanes of other warps; see clocks.c */
    uint32_t step;               /* what orders it with lanes of its own warp */
    int open_group;
    int copy_count;
    int copy_capacity;
    Copy *copies;
} LaneState;

/* scheduler.c */
extern Lane lanes[MAXIMUM_LANES];
extern Warp warps[MAXIMUM_WARPS];
extern int lane_count, warp_count;
void prepare_stacks(void);
void run_workgroup(const Kernel *kernel, void **arguments, uint64_t order);
void suspend(void);              /* the current lane, until the scheduler resumes it */
int is_own_stack(const Lane *lane, const char *address, size_t bytes);

/* barriers.c */
void reset_barriers(void);
void report_stuck_barriers(void);

/* clocks.c */
extern uint32_t seen[MAXIMUM_WARPS][MAXIMUM_WARPS];  /* [warp][other]: latest clock known; of itself: all */
extern uint32_t first_clock;                         /* of this workgroup */
void reset_clocks(void);
void merge_into(uint32_t *past, const Lane *lane);   /* what the lane comes after; it then begins a new interval */
void learn(int warp, const uint32_t *past);
void meet(Warp *warp);                               /* the active lanes, at a warp-wide operation */

/* shared_memory.c */
extern const Kernel *running_kernel;
size_t shared_memory_bytes(const Kernel *kernel, uint32_t dynamic_bytes);
void prepare_shared_memory(const Kernel *kernel, uint32_t dynamic_bytes, int is_within_warps);
void poison_shared_memory(void);
int check_shared(const Lane *lane, const char *address, size_t bytes, Access access);
void mark_in_flight(const char *address, size_t bytes, int is_in_flight);
void finish_copies(void);        /* at the end of a workgroup: report what was never waited for */

/* memory.c */
const char *describe_address(const char *address, char *text, size_t bytes);

/* findings.c */
void open_findings(LaunchOutcome *outcome, int strict_within_warps);
extern int checks_within_warps;
extern LaunchOutcome *outcome;
/* Count findings of a kind at a site; returns where the first one is to be described, NULL for a further one or
 * where there is no room. */
Finding *count_finding(LaunchOutcome *where, int kind, int site, uint64_t count);

#endif
