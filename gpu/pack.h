/* pack.h: a skin and its poses in the form graphics hardware needs: one array of 32-bit words for the skin, one range
   of floats per character. OpenGL and CUDA use the same bytes; docs/howto-gpu.md documents them for other
   integrations. */

#ifndef PELT_GPU_PACK_H
#define PELT_GPU_PACK_H

#include "rig/error.h"

/* The form of a skin's corrective; PELT_FORM in skin.glsl. */
typedef enum pelt_gpu_form {
    PELT_GPU_BLEND,           /* none */
    PELT_GPU_FLOATS,          /* coefficients times rows of floats */
    PELT_GPU_SHORTS,          /* the same in 16 bits, two rows interleaved */
    PELT_GPU_WEIGHTED_FLOATS, /* a pose distance per vertex */
    PELT_GPU_WEIGHTED_SHORTS
} pelt_gpu_form;

/* The layout: the uniform block PeltNumbers, std140. Offsets into the skin are in words, offsets into a pose as noted.
   All are multiples of 4 words, so that four lanes are one load. */
typedef struct pelt_gpu_numbers {
    uint32_t block_count;
    uint32_t character_count; /* of this dispatch */
    uint32_t pose_stride;     /* vec4s from one character's pose to the next */
    uint32_t distance_stride; /* floats from one axis to the next, a multiple of 4 */
    uint32_t at_heads;        /* [block + 1][4] first entry, row, tilt and axis entry of the block */
    uint32_t at_joints;       /* [entry] the joint's first vec4 in a pose */
    uint32_t at_weights;      /* [entry][16] */
    uint32_t at_rest;         /* [block][3][16] */
    uint32_t at_rest_normals; /* [block][3][16] */
    uint32_t at_row_sources;  /* [row] offset among the factors; weighted: [row][4] centres */
    uint32_t at_rows;         /* [row][3][16], in 16 bits two numbers per word; weighted: [row][4 or 2][parts][16] */
    uint32_t at_tilt_sources;
    uint32_t at_tilts;
    uint32_t at_axes;            /* [axis entry] first float of the axis in a pose */
    uint32_t at_axis_weights;    /* [axis entry][16] */
    uint32_t at_steps;           /* [block][4] steps of the weighted form's rows, norms and tilts, and 0 */
    uint32_t at_row_factors;     /* floats into a pose */
    uint32_t at_tilt_factors;    /* floats into a pose */
    uint32_t at_normal_matrices; /* vec4s into a pose */
    uint32_t at_factor_scales;   /* floats into a pose: the units of 16-bit factors, of rows and of tilts; 0: none */
    uint32_t at_ring_first;      /* [slot + 1] the first step of the walk around the vertex */
    uint32_t at_rings;           /* [step] slots: each two in a row span a triangle with the vertex */
    uint32_t ring_scale;         /* a float: scale of the sums over triangles */
    uint32_t at_bends; /* [block][4][16] the normal in the frame of the surface, and the slot of its first axis */
    uint32_t at_level; /* floats into a pose: its level, and how much of the weighted form's displacements counts */
    uint32_t at_ends;  /* [level - 1][block][2] where rows and tilts of the block end; the last level has none */
    uint32_t zeros[2];
} pelt_gpu_numbers;

typedef struct pelt_gpu_skin {
    pelt_gpu_numbers numbers;
    pelt_gpu_form form;
    uint32_t phi;   /* pelt_phi of the weighted form */
    uint32_t parts; /* of its rows: 4 with a norm, else 3 */
    uint32_t tilts; /* changes of normals: 0 none, 1 in floats, 2 in 16 bits */
    uint32_t rings; /* normals of the deformed surface, by a second pass: 0 no, triangles count 1 by area, 2 by angle */
    uint32_t bends; /* 1: normals deviate from the surface's */
    uint32_t levels; /* levels of detail without displacements begin with this one; 0: there are none */
    uint32_t matrix_count;
    uint32_t own_vec4s; /* of a pose, without the normal matrices, which come last */
    uint32_t *words;
    size_t word_count;
} pelt_gpu_skin;

/* False when out of memory, or when the skin needs more words than 32 bits can address. */
int pelt_gpu_pack(const pelt_skin *skin, pelt_gpu_skin *out);
void pelt_gpu_unpack(pelt_gpu_skin *packed);

/* One character's pose from the scratch memory that pelt_pose filled: 4 * numbers.pose_stride floats. Returns 1 when a
   joint scales, so that normals need separate matrices. */
int pelt_gpu_pose(const pelt_skin *skin, const pelt_gpu_skin *packed, const void *scratch, float *out);

/* The bounding box of the vertices at rest. */
typedef struct pelt_gpu_box {
    float low[3], high[3];
} pelt_gpu_box;
pelt_gpu_box pelt_gpu_rest_box(const pelt_skin *skin);

/* What OpenGL and CUDA refuse alike: more characters than can be counted, characters beyond `most`, poses that are NULL,
   and outputs other than 0 and 1, which is normals. */
pelt_result pelt_gpu_check_crowd(uint32_t characters, pelt_error *error);
pelt_result pelt_gpu_check_range(uint32_t first, uint32_t count, uint32_t most, pelt_error *error);
pelt_result pelt_gpu_check_poses(const void *const *scratches, uint32_t count, pelt_error *error);
pelt_result pelt_gpu_check_outputs(unsigned outputs, pelt_error *error);

#endif
