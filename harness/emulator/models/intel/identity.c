/* Who a work-item is.  Source: OpenCL C 3.0, "Work-Item Functions", and cl_khr_subgroups.
 *
 * Work-items are numbered with the first dimension fastest, and sub-groups are consecutive work-items: this
 * mapping is the implementation's choice, and the one that Intel's compiler makes for kernels with a required
 * sub-group size.
 */
#include "emulator.h"

/* The value of one dimension; `otherwise` for a dimension that there is none of. */
static uint64_t dimension(const char *arguments, const uint32_t values[3], uint64_t otherwise) {
    uint32_t number = ARGUMENT(0, uint32_t);
    return number < 3 ? values[number] : otherwise;
}

static void local_position(const Lane *lane, uint32_t position[3]) {
    uint32_t thread = (uint32_t)lane->thread;
    position[0] = thread % launch.block[0];
    position[1] = thread / launch.block[0] % launch.block[1];
    position[2] = thread / launch.block[0] / launch.block[1];
}

static void global_position(const Lane *lane, uint32_t position[3]) {
    local_position(lane, position);
    for (int i = 0; i < 3; i++) position[i] += launch.workgroup[i] * launch.block[i];
}

static uint32_t work_group_threads(void) {
    return launch.block[0] * launch.block[1] * launch.block[2];
}

LANE_MODEL(opencl_get_local_id) {
    uint32_t position[3];
    local_position(lane, position);
    RESULT(uint64_t) = dimension(arguments, position, 0);
}

LANE_MODEL(opencl_get_global_id) {
    uint32_t position[3];
    global_position(lane, position);
    RESULT(uint64_t) = dimension(arguments, position, 0);
}

LANE_MODEL(opencl_get_group_id) { RESULT(uint64_t) = dimension(arguments, launch.workgroup, 0); }
LANE_MODEL(opencl_get_local_size) { RESULT(uint64_t) = dimension(arguments, launch.block, 1); }
LANE_MODEL(opencl_get_num_groups) { RESULT(uint64_t) = dimension(arguments, launch.grid, 1); }

LANE_MODEL(opencl_get_sub_group_id) { RESULT(uint32_t) = (uint32_t)lane->warp->index; }
LANE_MODEL(opencl_get_sub_group_local_id) { RESULT(uint32_t) = (uint32_t)lane->index; }
LANE_MODEL(opencl_get_sub_group_size) { RESULT(uint32_t) = (uint32_t)lane->warp->count; }
LANE_MODEL(opencl_get_max_sub_group_size) { RESULT(uint32_t) = (uint32_t)lane->warp->size; }

LANE_MODEL(opencl_get_num_sub_groups) {
    uint32_t size = (uint32_t)lane->warp->size;
    RESULT(uint32_t) = (work_group_threads() + size - 1) / size;
}
