/* Reductions and scans of a sub-group.  Source: cl_khr_subgroups (OpenCL C 3.0, "Sub-Group Functions"); for 8 and
 * 16-bit integers cl_intel_subgroups_char and _short.
 *
 * The order of floating-point additions is the implementation's; here it is that of the lanes, and each partial
 * sum is rounded to the type.  The last argument, from the registry, is the type of the values.
 */
#include <math.h>

#include "elements.h"
#include "sub_group.h"

typedef Number (*Operation)(int type, Number left, Number right);

static Number sum_of(int type, Number left, Number right) {
    if (is_real(type)) return (Number){.real = left.real + right.real};
    return (Number){.natural = left.natural + right.natural};
}

static Number smaller_of(int type, Number left, Number right) {
    if (is_real(type)) return (Number){.real = fmin(left.real, right.real)};
    if (is_natural(type)) return left.natural < right.natural ? left : right;
    return left.integer < right.integer ? left : right;
}

static Number larger_of(int type, Number left, Number right) {
    if (is_real(type)) return (Number){.real = fmax(left.real, right.real)};
    if (is_natural(type)) return left.natural > right.natural ? left : right;
    return left.integer > right.integer ? left : right;
}

/* What changes nothing: 0, the largest value of the type, the smallest value of the type. */
static Number identity_of(int type, Operation operation) {
    int bits = 8 * (int)element_bytes(type);
    if (operation == sum_of) return is_real(type) ? (Number){.real = 0} : (Number){.natural = 0};
    int largest = operation == smaller_of;
    if (is_real(type)) return (Number){.real = largest ? INFINITY : -INFINITY};
    if (is_natural(type)) return (Number){.natural = largest ? UINT64_MAX >> (64 - bits) : 0};
    int64_t maximum = INT64_MAX >> (64 - bits);
    return (Number){.integer = largest ? maximum : -maximum - 1};
}

/* Combine two values and round the result to the type. */
static Number combined(int type, Operation operation, Number left, Number right) {
    char rounded[8];
    store_element(type, rounded, operation(type, left, right));
    return load_element(type, rounded);
}

static void reduce(Warp *warp, Operation operation) {
    require_all_lanes(warp, "a reduction of the sub-group");
    int type = LANE_ARGUMENT(first_lane(warp)->index, 1, int32_t);
    Number total = load_element(type, first_lane(warp)->arguments);
    EACH_ACTIVE_LANE(lane) {
        if (lane == first_lane(warp)->index) continue;
        total = combined(type, operation, total, load_element(type, &LANE_ARGUMENT(lane, 0, char)));
    }
    EACH_ACTIVE_LANE(lane) store_element(type, &LANE_RESULT(lane, char), total);
}

static void scan(Warp *warp, Operation operation, int inclusive) {
    require_all_lanes(warp, "a scan of the sub-group");
    int type = LANE_ARGUMENT(first_lane(warp)->index, 1, int32_t);
    Number total = identity_of(type, operation);
    EACH_ACTIVE_LANE(lane) {
        Number before = total;
        total = combined(type, operation, total, load_element(type, &LANE_ARGUMENT(lane, 0, char)));
        store_element(type, &LANE_RESULT(lane, char), inclusive ? total : before);
    }
}

COLLECTIVE_MODEL(opencl_sub_group_reduce_add) { reduce(warp, sum_of); }
COLLECTIVE_MODEL(opencl_sub_group_reduce_min) { reduce(warp, smaller_of); }
COLLECTIVE_MODEL(opencl_sub_group_reduce_max) { reduce(warp, larger_of); }
COLLECTIVE_MODEL(opencl_sub_group_scan_inclusive_add) { scan(warp, sum_of, 1); }
COLLECTIVE_MODEL(opencl_sub_group_scan_inclusive_min) { scan(warp, smaller_of, 1); }
COLLECTIVE_MODEL(opencl_sub_group_scan_inclusive_max) { scan(warp, larger_of, 1); }
COLLECTIVE_MODEL(opencl_sub_group_scan_exclusive_add) { scan(warp, sum_of, 0); }
COLLECTIVE_MODEL(opencl_sub_group_scan_exclusive_min) { scan(warp, smaller_of, 0); }
COLLECTIVE_MODEL(opencl_sub_group_scan_exclusive_max) { scan(warp, larger_of, 0); }

COLLECTIVE_MODEL(opencl_sub_group_all) {
    require_all_lanes(warp, "sub_group_all");
    int32_t all = 1;
    EACH_ACTIVE_LANE(lane) all = all && LANE_ARGUMENT(lane, 0, int32_t);
    EACH_ACTIVE_LANE(lane) LANE_RESULT(lane, int32_t) = all;
}

COLLECTIVE_MODEL(opencl_sub_group_any) {
    require_all_lanes(warp, "sub_group_any");
    int32_t any = 0;
    EACH_ACTIVE_LANE(lane) any = any || LANE_ARGUMENT(lane, 0, int32_t);
    EACH_ACTIVE_LANE(lane) LANE_RESULT(lane, int32_t) = any;
}
