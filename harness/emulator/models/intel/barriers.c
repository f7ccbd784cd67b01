/* Barriers.  Sources: OpenCL C 3.0, "Synchronization Functions"; cl_khr_subgroups.
 *
 * The flags say which memory is made visible; lanes run one after another, so that all of it always is.
 */
#include "sub_group.h"

/* The only barrier of a work-group. */
enum { WORK_GROUP_BARRIER = 0, ALL_THREADS = 0 };

LANE_MODEL(opencl_work_group_barrier) { barrier_wait(lane, WORK_GROUP_BARRIER, ALL_THREADS); }

/* The lanes have met when a collective model is called. */
COLLECTIVE_MODEL(opencl_sub_group_barrier) { require_all_lanes(warp, "sub_group_barrier"); }
