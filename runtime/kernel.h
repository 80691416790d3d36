/* kernel.h: what pelt_pose leaves in the scratch memory, and the deform loops that read it. */

#ifndef PELT_KERNEL_H
#define PELT_KERNEL_H

#include <pelt/pelt.h>

/* A joint matrix has a cache line of its own: row-major 3x4 and four unused floats. */
#define PALETTE_STRIDE 16

/* The head of the scratch memory. */
typedef struct pelt_pose_head {
    uint32_t rigid; /* no joint scales or shears: normals move by the same matrices as positions */
} pelt_pose_head;

/* Offsets in bytes of what follows it. */
typedef struct pelt_pose_offsets {
    size_t palette;        /* T_j = global_j inverse_bind_j, [joint][PALETTE_STRIDE] */
    size_t normal_palette; /* T_j^-T, the same shape; only filled in when not rigid */
    size_t globals;        /* [joint][12] */
    size_t size;
} pelt_pose_offsets;

/* Matrices of the palette: the joints', then those of driven joints. */
static inline uint32_t pelt_matrix_count(const pelt_skin *skin) { return skin->joint_count + skin->driven_count; }

static inline pelt_pose_offsets pelt_pose_layout(uint32_t joint_count) {
    pelt_pose_offsets at;
    size_t matrices = (size_t)joint_count * PALETTE_STRIDE * sizeof(float);
    at.palette = PELT_ALIGN;
    at.normal_palette = at.palette + matrices;
    at.globals = at.normal_palette + matrices;
    at.size = at.globals + ((size_t)joint_count * 12 * sizeof(float) + PELT_ALIGN - 1) / PELT_ALIGN * PELT_ALIGN;
    return at;
}

/* The matrices of driven joints, after those of the joints that they are computed from. */
void pelt_pose_driven(const pelt_skin *skin, float *palette);

/* One call of pelt_deform, resolved. */
typedef struct pelt_deform_job {
    const pelt_skin *skin;
    const float *palette;
    const float *normal_palette; /* NULL: normals use `palette` */
    uint32_t first_block, end_block;
    float *positions;
    float *normals; /* NULL: none wanted */
    int stream;     /* write past the cache; the buffers are then aligned to 64 */
} pelt_deform_job;

void pelt_deform_scalar(const pelt_deform_job *job);
void pelt_deform_simd128(const pelt_deform_job *job);
void pelt_deform_avx2(const pelt_deform_job *job);
void pelt_deform_avx512(const pelt_deform_job *job);

#endif
