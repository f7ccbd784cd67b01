/* What a sub-group reads and writes as blocks of a matrix in memory: cl_intel_subgroup_2d_block_io 1.1.
 *
 * A matrix is `height` rows of `width` bytes, `pitch` bytes apart.  A corner is given in elements along x and in rows
 * along y.  What lies beyond the matrix is read as 0 and is not written.
 */

#define LANES 16
#define MODEL __attribute__((overloadable, noinline))

#define ELEMENT(TYPE, x, y) (((global TYPE *)((global char *)base + (long)(y) * pitch))[x])
#define IS_INSIDE(TYPE, x, y) \
    ((y) >= 0 && (y) < height && (x) >= 0 && (long)((x) + 1) * (long)sizeof(TYPE) <= width)
#define VALUE(TYPE, x, y) (IS_INSIDE(TYPE, x, y) ? ELEMENT(TYPE, x, y) : (TYPE)0)

/* The elements of a block are numbered row after row and dealt to the lanes in turn. */
#define READ(TYPE, BITS, ROWS, COLUMNS, BLOCKS)                                                                 \
    MODEL void intel_sub_group_2d_block_read_##BITS##b_##ROWS##r##COLUMNS##x##BLOCKS##c(                        \
        global void *base, int width, int height, int pitch, int2 corner, private TYPE *own) {                  \
        for (int block = 0; block < BLOCKS; block++)                                                            \
            for (int turn = 0; turn < ROWS * COLUMNS / LANES; turn++) {                                         \
                int number = turn * LANES + (int)get_sub_group_local_id();                                      \
                int x = corner.x + block * COLUMNS + number % COLUMNS, y = corner.y + number / COLUMNS;         \
                *own++ = VALUE(TYPE, x, y);                                                                     \
            }                                                                                                   \
    }

#define WRITE(TYPE, BITS, ROWS, COLUMNS, BLOCKS)                                                                \
    MODEL void intel_sub_group_2d_block_write_##BITS##b_##ROWS##r##COLUMNS##x##BLOCKS##c(                       \
        global void *base, int width, int height, int pitch, int2 corner, private TYPE *own) {                  \
        for (int turn = 0; turn < ROWS * COLUMNS / LANES; turn++) {                                             \
            int number = turn * LANES + (int)get_sub_group_local_id();                                          \
            int x = corner.x + number % COLUMNS, y = corner.y + number / COLUMNS;                               \
            if (IS_INSIDE(TYPE, x, y)) ELEMENT(TYPE, x, y) = own[turn];                                         \
        }                                                                                                       \
    }

/* A lane has a row, where a plain read would give it a column. */
#define READ_TRANSPOSE(TYPE, BITS, ROWS, COLUMNS, BLOCKS)                                                       \
    MODEL void intel_sub_group_2d_block_read_transpose_##BITS##b_##ROWS##r##COLUMNS##x##BLOCKS##c(              \
        global void *base, int width, int height, int pitch, int2 corner, private TYPE *own) {                  \
        int y = corner.y + (int)get_sub_group_local_id();                                                       \
        for (int column = 0; column < COLUMNS; column++) own[column] = VALUE(TYPE, corner.x + column, y);       \
    }

/* A lane has a column; as many rows of it as fit into a word are in one, the first one in the lowest bits. */
#define READ_TRANSFORM(TYPE, BITS, ROWS, COLUMNS, BLOCKS)                                                       \
    MODEL void intel_sub_group_2d_block_read_transform_##BITS##b_##ROWS##r##COLUMNS##x##BLOCKS##c(              \
        global void *base, int width, int height, int pitch, int2 corner, private uint *own) {                  \
        for (int block = 0; block < BLOCKS; block++)                                                            \
            for (int row = 0; row < ROWS; row += 32 / BITS) {                                                   \
                int x = corner.x + block * COLUMNS + (int)get_sub_group_local_id();                             \
                uint word = 0;                                                                                  \
                for (int part = 32 / BITS - 1; part >= 0; part--)                                               \
                    word = word << BITS | VALUE(TYPE, x, corner.y + row + part);                                \
                *own++ = word;                                                                                  \
            }                                                                                                   \
    }

/* Changes nothing that can be seen. */
#define PREFETCH(TYPE, BITS, ROWS, COLUMNS, BLOCKS)                                                             \
    MODEL void intel_sub_group_2d_block_prefetch_##BITS##b_##ROWS##r##COLUMNS##x##BLOCKS##c(                    \
        global void *base, int width, int height, int pitch, int2 corner) {}
