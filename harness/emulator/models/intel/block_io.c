/* Blocks of a matrix in global memory, read and written by the 16 lanes of a sub-group together.
 *
 * Sources: cl_intel_subgroup_2d_block_io (names, shapes, restrictions); SPV_INTEL_2d_block_io, "Mapping Block Data to
 * Invocations" and "Out-of-Bounds Behavior".
 *
 * The arguments are base address, width in BYTES, height in rows, pitch in BYTES, coordinate (x in elements, y in
 * rows), and the lane's own array that receives or holds its part, but for a prefetch; then, from the registry, what
 * the name says: bytes of an element, rows and columns of a block in memory, and the number of blocks side by side.
 *
 * Elements outside of width and height read as 0 and are not written, which is counted.  What breaks the extension's
 * restrictions is reported; then the access is made all the same, as far as memory permits.
 */
#include "sub_group.h"

enum { MAXIMUM_BLOCK_ROWS = 32, MAXIMUM_SURFACE = 1 << 24 };

enum { BASE, WIDTH, HEIGHT, PITCH, COORDINATE, OWN };

/* Where what the name says begins among the arguments. */
enum { NAMED_BEHIND_OWN = OWN + 1, NAMED_WITHOUT_OWN = OWN };
enum { ELEMENT_BYTES, ROWS, COLUMNS, BLOCKS };

typedef struct Block {
    char *base;
    int64_t width, height, pitch, x, y;
    int element_bytes, rows, columns, blocks;
    int accessible[MAXIMUM_BLOCK_ROWS];   /* whether the part of a row that is inside of the surface may be accessed */
} Block;

/* ------------------------------------------------------------------ what a call names */

static void check_restrictions(const Block *block, const Lane *lane) {
    int width_multiple = block->element_bytes < 4 ? 4 : block->element_bytes;
    int x_multiple = block->element_bytes < 4 ? 4 / block->element_bytes : 1;
    if ((uintptr_t)block->base % 64)
        report(FINDING_UNALIGNED, lane, "2-D block: base address %p, not a multiple of 64", (void *)block->base);
    if (block->width % width_multiple)
        report(FINDING_UNALIGNED, lane, "2-D block: width %lld bytes, not a multiple of %d",
               (long long)block->width, width_multiple);
    if (block->pitch % 16)
        report(FINDING_UNALIGNED, lane, "2-D block: pitch %lld bytes, not a multiple of 16",
               (long long)block->pitch);
    if (block->x % x_multiple)
        report(FINDING_UNALIGNED, lane, "2-D block: x %lld, not a multiple of %d", (long long)block->x, x_multiple);
    if (block->width < 64 || block->width > MAXIMUM_SURFACE)
        report(FINDING_UNSUPPORTED_OPERAND, lane, "2-D block: width %lld bytes, not 64 to 2^24",
               (long long)block->width);
    if (block->height < 1 || block->height > MAXIMUM_SURFACE)
        report(FINDING_UNSUPPORTED_OPERAND, lane, "2-D block: height %lld, not 1 to 2^24",
               (long long)block->height);
    if (block->pitch < block->width)
        report(FINDING_UNSUPPORTED_OPERAND, lane, "2-D block: pitch %lld is less than width %lld",
               (long long)block->pitch, (long long)block->width);
}

static char *element_address(const Block *block, int row, int column) {
    return block->base + (block->y + row) * block->pitch + (block->x + column) * block->element_bytes;
}

static int is_inside(const Block *block, int row, int column) {
    int64_t x = block->x + column, y = block->y + row;
    return y >= 0 && y < block->height && x >= 0 && (x + 1) * block->element_bytes <= block->width;
}

/* Check the memory of each row of the block, all blocks of it together, where it is inside of the surface. */
static void check_rows(Block *block, const Lane *lane, Access access) {
    int width = block->columns * block->blocks;
    for (int row = 0; row < block->rows; row++) {
        int first = 0, end = width;
        while (first < width && !is_inside(block, row, first)) first++;
        while (end > first && !is_inside(block, row, end - 1)) end--;
        size_t bytes = (size_t)(end - first) * (size_t)block->element_bytes;
        block->accessible[row] =
            bytes && check_access(lane, element_address(block, row, first), bytes, access);
    }
}

static Block named_block(Warp *warp, Access access, int named) {
    const Lane *first = first_lane(warp);
    require_uniform(warp, BASE, sizeof(char *), "the base address of a 2-D block");
    require_uniform(warp, WIDTH, sizeof(int32_t), "the width of a 2-D block");
    require_uniform(warp, HEIGHT, sizeof(int32_t), "the height of a 2-D block");
    require_uniform(warp, PITCH, sizeof(int32_t), "the pitch of a 2-D block");
    require_uniform(warp, COORDINATE, 2 * sizeof(int32_t), "the coordinate of a 2-D block");
    Block block = {
        .base = LANE_ARGUMENT(first->index, BASE, char *),
        .width = LANE_ARGUMENT(first->index, WIDTH, int32_t),
        .height = LANE_ARGUMENT(first->index, HEIGHT, int32_t),
        .pitch = LANE_ARGUMENT(first->index, PITCH, int32_t),
        .x = (&LANE_ARGUMENT(first->index, COORDINATE, int32_t))[0],
        .y = (&LANE_ARGUMENT(first->index, COORDINATE, int32_t))[1],
        .element_bytes = LANE_ARGUMENT(first->index, named + ELEMENT_BYTES, int32_t),
        .rows = LANE_ARGUMENT(first->index, named + ROWS, int32_t),
        .columns = LANE_ARGUMENT(first->index, named + COLUMNS, int32_t),
        .blocks = LANE_ARGUMENT(first->index, named + BLOCKS, int32_t),
    };
    check_restrictions(&block, first);
    check_rows(&block, first, access);
    return block;
}

/* ------------------------------------------------------------------ elements */

/* Column numbers count through all blocks. */
static void read_element(const Block *block, const Lane *lane, int row, int column, char *value) {
    size_t bytes = (size_t)block->element_bytes;
    memset(value, 0, bytes);
    if (!is_inside(block, row, column)) count_clamped(CLAMPED_BLOCK_LOAD, lane);
    else if (block->accessible[row]) memcpy(value, element_address(block, row, column), bytes);
}

static void write_element(const Block *block, const Lane *lane, int row, int column, const char *value) {
    size_t bytes = (size_t)block->element_bytes;
    if (!is_inside(block, row, column)) count_clamped(CLAMPED_BLOCK_STORE, lane);
    else if (block->accessible[row]) memcpy(element_address(block, row, column), value, bytes);
}

/* Elements of one block that a lane holds. */
static int elements_per_lane(const Block *block) {
    return block->rows * block->columns / MATRIX_LANES;
}

/* The lane's own array, if it may be accessed. */
static char *own_array(Warp *warp, int lane, const Block *block, Access access) {
    char *own = LANE_ARGUMENT(lane, OWN, char *);
    size_t bytes = (size_t)(elements_per_lane(block) * block->blocks * block->element_bytes);
    return check_access(warp->lanes[lane], own, bytes, access) ? own : NULL;
}

/* ------------------------------------------------------------------ the builtins */

/* A lane holds a column of the first block, then one of the next.  Where elements are packed into 32-bit values, lower
 * rows in lower bits, they simply follow one another, too. */
COLLECTIVE_MODEL(intel_2d_block_read) {
    if (!is_matrix_sub_group(warp, "a 2-D block read")) return;
    Block block = named_block(warp, ACCESS_LOAD, NAMED_BEHIND_OWN);
    EACH_ACTIVE_LANE(lane) {
        char *value = own_array(warp, lane, &block, ACCESS_STORE);
        for (int i = 0; value && i < block.rows * block.blocks; i++, value += block.element_bytes)
            read_element(&block, warp->lanes[lane], i % block.rows, i / block.rows * block.columns + lane, value);
    }
}

/* A lane holds one row. */
COLLECTIVE_MODEL(intel_2d_block_read_transpose) {
    if (!is_matrix_sub_group(warp, "a 2-D block read")) return;
    Block block = named_block(warp, ACCESS_LOAD, NAMED_BEHIND_OWN);
    EACH_ACTIVE_LANE(lane) {
        char *value = own_array(warp, lane, &block, ACCESS_STORE);
        for (int i = 0; value && i < block.columns; i++, value += block.element_bytes)
            read_element(&block, warp->lanes[lane], lane, i, value);
    }
}

/* Like a read, with a single block. */
COLLECTIVE_MODEL(intel_2d_block_write) {
    if (!is_matrix_sub_group(warp, "a 2-D block write")) return;
    Block block = named_block(warp, ACCESS_STORE, NAMED_BEHIND_OWN);
    EACH_ACTIVE_LANE(lane) {
        const char *value = own_array(warp, lane, &block, ACCESS_LOAD);
        for (int i = 0; value && i < block.rows; i++, value += block.element_bytes)
            write_element(&block, warp->lanes[lane], i, lane, value);
    }
}

/* What is checked and counted is what a read of the block would do; nothing is read. */
COLLECTIVE_MODEL(intel_2d_block_prefetch) {
    if (!is_matrix_sub_group(warp, "a 2-D block prefetch")) return;
    Block block = named_block(warp, ACCESS_LOAD, NAMED_WITHOUT_OWN);
    for (int row = 0; row < block.rows; row++)
        for (int column = 0; column < block.columns * block.blocks; column++)
            if (!is_inside(&block, row, column)) count_clamped(CLAMPED_BLOCK_LOAD, first_lane(warp));
}
