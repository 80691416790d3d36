/* deform.c: chooses the deform loop for this machine and this call. */

#include "runtime/loops.h"

#if defined(__x86_64__) || defined(__i386__)
#define HAVE_AVX 1
#endif

int pelt_isa_works(pelt_isa isa) {
    switch (isa) {
    case PELT_ISA_SCALAR:
    case PELT_ISA_SIMD128:
        return 1;
#ifdef HAVE_AVX
    case PELT_ISA_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case PELT_ISA_AVX512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
#endif
    default:
        return 0;
    }
}

const char *pelt_isa_name(pelt_isa isa) {
    static const char *const names[] = {
#define NAME(name, text) text,
        PELT_ISAS(NAME)
#undef NAME
    };
    if (isa == PELT_ISA_SIMD128) {
#if defined(HAVE_AVX)
        return "sse";
#elif defined(__ARM_NEON)
        return "neon";
#elif defined(__wasm_simd128__)
        return "wasm";
#endif
    }
    return (unsigned)isa < PELT_ISA_COUNT ? names[isa] : "unknown";
}

/* Output beyond this does not stay in a core's own cache; writing past the cache saves reading it first. */
#define STREAM_BYTES ((size_t)4 << 20)

static int aligned(const void *buffer) { return (uintptr_t)buffer % PELT_ALIGN == 0; }

static void add_corrective(const pelt_skin *skin, const char *driven, pelt_deform_job *job) {
    pelt_drive_offsets at = pelt_drive_layout(skin);
    if (!skin->drivers->weighted) {
        job->coefficients = (const float *)(driven + at.coefficients);
        const float *scales = (const float *)(driven + at.factor_scales);
        job->row_factors = (pelt_factors){(const int16_t *)(driven + at.row_factors), scales[0]};
        job->turn_factors = (pelt_factors){(const int16_t *)(driven + at.turn_factors), scales[1]};
        return;
    }
    const pelt_file_weighted *weighted = (const void *)((const char *)skin->drivers + skin->drivers->weighted);
    job->distances = (const float *)(driven + at.distances);
    job->distance_stride = (uint32_t)pelt_padded(weighted->center_count);
    job->phi = weighted->phi;
    job->parts = weighted->normalised ? 4 : 3;
}

void pelt_deform(const pelt_skin *skin, const void *scratch, pelt_range blocks, float *positions, float *normals) {
    pelt_pose_offsets at = pelt_pose_layout(skin);
    const pelt_pose_head *head = scratch;
    uint32_t first = blocks.first < skin->block_count ? blocks.first : skin->block_count;
    uint32_t count = blocks.count < skin->block_count - first ? blocks.count : skin->block_count - first;
    pelt_deform_job job = {
        .skin = skin,
        .palette = (const float *)((const char *)scratch + at.palette),
        .normal_palette = head->rigid ? NULL : (const float *)((const char *)scratch + at.normal_palette),
        .first_block = first,
        .end_block = first + count,
        .positions = positions,
        .normals = normals,
        .stream = pelt_output_size(skin) > STREAM_BYTES && aligned(positions) && aligned(normals),
    };
    if (skin->drivers) add_corrective(skin, (const char *)scratch + at.size, &job);
    switch (skin->isa) {
#ifdef HAVE_AVX
    case PELT_ISA_AVX512:
        pelt_deform_avx512(&job);
        break;
    case PELT_ISA_AVX2:
        pelt_deform_avx2(&job);
        break;
#endif
    case PELT_ISA_SIMD128:
        pelt_deform_simd128(&job);
        break;
    default:
        pelt_deform_scalar(&job);
        break;
    }
}
