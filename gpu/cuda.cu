/* cuda.cu: a skin on an NVIDIA device: the host side, and the choice of kernels. */

#include "gpu/cuda_one.cuh"
#include "gpu/cuda_shade.cuh"
#include "gpu/cuda_tensor.cuh"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <pelt/cuda.h>

enum { FEW = 4, WHOLE = 16, ONE_POSE = 40 << 10 /* bytes of shared memory */ };

struct pelt_cuda {
    const pelt_skin *skin;
    pelt_gpu_skin packed;
    uint32_t characters; /* requested */
    uint32_t room;       /* capacity on the device, a multiple of WHOLE */
    int device, scaled;
    bool waits; /* kernels can wait for preceding work (programmatic dependent launch) */
    int wild;   /* a pose contained values that two halves cannot represent */
    uint32_t processors;
    uint32_t shared_limit; /* bytes of shared memory available to a work group */
    uint32_t *words;
    pelt_cuda_tensor tensor; /* size 0: tensor cores are not used */
    float4 *poses;
    float *positions, *normals;
    size_t output_size;
    float *staged; /* poses being uploaded, in memory the device can read */
    cudaEvent_t fetched;
    char name[256];
};

static pelt_result check(cudaError_t code, const char *doing, pelt_error *error) {
    if (code == cudaSuccess) return PELT_OK;
    cudaGetLastError();
    if (code == cudaErrorMemoryAllocation)
        return pelt_fail(error, PELT_ERROR_MEMORY, "there is not enough memory on the device for %s", doing);
    return pelt_fail(error, PELT_ERROR_DEVICE, "CUDA fails at %s: %s", doing, cudaGetErrorString(code));
}

/* -- Numbers for tensor cores ------------------------------------------------------------------------------------------ */

/* The centre of the mesh, and a power of two that bounds its box. */
static void measure(const pelt_skin *skin, pelt_cuda_tensor *out) {
    const pelt_gpu_box box = pelt_gpu_rest_box(skin);
    float extent = 0, middle[3];
    for (int i = 0; i < 3; i++) {
        extent = fmaxf(extent, box.high[i] - box.low[i]);
        middle[i] = 0.5f * (box.low[i] + box.high[i]);
    }
    int power = 0;
    frexpf(extent > 1e-30f ? extent : 1, &power);
    out->size = ldexpf(1, power), out->per_size = ldexpf(1, -power);
    out->middle = make_float3(middle[0], middle[1], middle[2]);
}

static bool weights_sum_to_one(const pelt_skin *skin) {
    for (uint32_t v = 0; v < skin->vertex_count; v++) {
        uint32_t slot = skin->vertex_slots[v], block = slot / PELT_BLOCK;
        double sum = 0;
        for (uint32_t e = skin->block_first[block]; e < skin->block_first[block + 1]; e++)
            sum += skin->entry_weights[PELT_BLOCK * (size_t)e + slot % PELT_BLOCK];
        if (!(fabs(sum - 1) <= 1e-5)) return false;
    }
    return true;
}

/* Lists of a block, padded to fours. */
struct group_list {
    uint32_t which;               /* component of a head */
    uint32_t step;                /* rows of 16 bits come in pairs */
    uint32_t at_sources, at_rows; /* words of the packed skin */
    uint32_t parts;               /* per row: 1 or 3 */
    float scale;                  /* of its numbers, unless they have 16 bits */
    uint32_t places;              /* added to a source */
    uint32_t each;                /* joints and axes: a source is a multiple of this; subtracted afterwards */
    uint32_t *slots;              /* slots in a plane of joints or axes; NULL: neither */
};

static uint64_t count_groups(const pelt_gpu_skin *packed, const group_list *list) {
    const uint32_t *heads = packed->words + packed->numbers.at_heads + list->which;
    uint64_t groups = 0;
    for (uint32_t b = 0; b < packed->numbers.block_count; b++)
        groups += (list->step * (uint64_t)(heads[4 * (size_t)b + 4] - heads[4 * (size_t)b]) + 3) / TENSOR_GROUP;
    return groups;
}

/* Number `lane` of part `part` of item i, counting single rows: 16 bits, or two halves. */
static uint32_t number_of(const pelt_gpu_skin *packed, const group_list *list, uint64_t i, uint32_t part,
                          uint32_t lane) {
    uint32_t word = packed->words[list->at_rows + (i / list->step * list->parts + part) * PELT_BLOCK + lane];
    if (list->step == 2) return word >> i % 2 * 16 & 0xffff;
    float x;
    memcpy(&x, &word, sizeof x);
    return halves_of(list->scale * x);
}

/* Entry i of a coloured list: its joint or axis. */
static uint32_t member_of(const pelt_gpu_skin *packed, const group_list *list, uint64_t i) {
    return (packed->words[list->at_sources + i] - list->places) / list->each;
}

/* Gives each of `count` joints or axes a slot in a plane, such that those in the same block differ in the slot's last
   two bits as far as possible: each in turn takes the colour that the fewest of its neighbours have. If there are many,
   space matters more, and colours get equal shares. Returns the number of slots, a multiple of 4. */
static uint32_t find_slots(const pelt_gpu_skin *packed, group_list *list, uint32_t count) {
    enum { COLORS = 4, SWEEPS = 32, MANY = 64 };
    const uint32_t *heads = packed->words + packed->numbers.at_heads + list->which;
    uint32_t *neighbours = (uint32_t *)calloc(COLORS * (size_t)count + 1, sizeof *neighbours), *colors = list->slots;
    if (!neighbours) return 0;
    const uint32_t share = count > MANY ? (count + COLORS - 1) / COLORS + 1 : count;
    uint32_t used[COLORS] = {}, most = 0;
    for (uint32_t j = 0; j < count; j++) used[colors[j] = j % COLORS]++;
    for (uint32_t sweep = 0; sweep < SWEEPS; sweep++) {
        memset(neighbours, 0, COLORS * (size_t)count * sizeof *neighbours);
        for (uint32_t b = 0; b < packed->numbers.block_count; b++)
            for (uint32_t i = heads[4 * (size_t)b]; i < heads[4 * (size_t)b + 4]; i++)
                for (uint32_t other = heads[4 * (size_t)b]; other < heads[4 * (size_t)b + 4]; other++)
                    if (other != i)
                        neighbours[COLORS * member_of(packed, list, i) + colors[member_of(packed, list, other)]]++;
        for (uint32_t j = sweep % 3; j < count; j += 3) /* not all at once, or two neighbours would change alike */
            for (uint32_t c = 0; c < COLORS; c++)
                if (used[c] < share && neighbours[COLORS * j + c] < neighbours[COLORS * j + colors[j]])
                    used[colors[j]]--, used[colors[j] = c]++;
    }
    free(neighbours);
    memset(used, 0, sizeof used);
    for (uint32_t j = 0; j < count; j++) {
        uint32_t color = colors[j];
        colors[j] = COLORS * used[color]++ + color;
        most = most > used[color] ? most : used[color];
    }
    return COLORS * most;
}

/* Orders a block's list so that entries of one group have different colours as far as possible. */
static void order_list(const pelt_gpu_skin *packed, const group_list *list, uint64_t first, uint64_t end,
                       uint64_t *order) {
    for (uint64_t i = first; i < end; i++) order[i - first] = i;
    if (!list->slots) return;
    for (uint64_t at = 0; at < end - first; at++) {
        uint32_t taken = 0;
        for (uint64_t i = at / TENSOR_GROUP * TENSOR_GROUP; i < at; i++)
            taken |= 1u << list->slots[member_of(packed, list, order[i])] % 4;
        uint64_t found = at;
        for (uint64_t i = at; i < end - first; i++)
            if (!(taken >> list->slots[member_of(packed, list, order[i])] % 4 & 1)) {
                found = i;
                break;
            }
        uint64_t kept = order[at];
        order[at] = order[found], order[found] = kept;
    }
}

static uint32_t source_of(const pelt_gpu_skin *packed, const group_list *list, uint64_t i) {
    if (list->slots) return list->slots[member_of(packed, list, i)];
    return list->places + packed->words[list->at_sources + i / list->step] + (list->step == 2 ? i % 2 : 0);
}

/* False when out of memory. */
static bool fill_groups(const pelt_gpu_skin *packed, const group_list *list, const uint32_t *blocks, size_t sources,
                        size_t rows, uint32_t add, uint32_t *out) {
    const uint32_t *heads = packed->words + packed->numbers.at_heads + list->which;
    uint32_t group = 0, longest = 0;
    for (uint32_t b = 0; b < packed->numbers.block_count; b++) {
        uint32_t length = heads[4 * (size_t)b + 4] - heads[4 * (size_t)b];
        longest = longest > length ? longest : length;
    }
    uint64_t *order = (uint64_t *)malloc((list->step * (size_t)longest + 1) * sizeof *order);
    if (!order) return false;
    for (uint32_t place = 0; place < packed->numbers.block_count; place++) {
        uint32_t b = blocks[place];
        uint64_t first = (uint64_t)list->step * heads[4 * (size_t)b],
                 count = (uint64_t)list->step * heads[4 * (size_t)b + 4] - first;
        out[4 * (size_t)place + list->which] = group;
        order_list(packed, list, first, first + count, order);
        for (uint64_t i = 0; i < count; i += TENSOR_GROUP, group++)
            for (uint32_t t = 0; t < TENSOR_GROUP; t++) {
                bool there = i + t < count;
                uint64_t entry = order[there ? i + t : i]; /* missing entries have no weight */
                out[sources + TENSOR_GROUP * (size_t)group + t] = add + source_of(packed, list, entry);
                for (uint32_t part = 0; part < list->parts; part++)
                    for (uint32_t v = 0; there && v < PELT_BLOCK; v++) {
                        size_t lane = 4 * (v % 8) + t, at = (size_t)group * list->parts + part;
                        uint32_t number = number_of(packed, list, entry, part, v);
                        if (list->step == 2)
                            out[rows + 32 * at + lane] |= number << v / 8 * 16;
                        else
                            out[rows + 64 * at + 2 * lane + v / 8] = number;
                    }
            }
    }
    out[4 * (size_t)packed->numbers.block_count + list->which] = group;
    free(order);
    return true;
}

/* Whether every block has all centres, in order. */
static bool is_regular(const pelt_gpu_skin *packed) {
    const pelt_gpu_numbers *n = &packed->numbers;
    for (uint32_t b = 0; b < n->block_count; b++) {
        const uint32_t *head = packed->words + n->at_heads + 4 * (size_t)b + 1;
        for (uint32_t i = head[0]; i < head[4]; i++)
            for (uint32_t c = 0; c < 4; c++)
                if (packed->words[n->at_row_sources + 4 * (size_t)i + c] != 4 * (i - head[0]) + c) return false;
    }
    return true;
}

/* Converts rows of four centres from 16 bits to floats, those of a vertex side by side. */
static void fill_centers(const uint32_t *from, uint64_t groups, uint32_t *to) {
    for (uint64_t i = 0; i < 3 * groups; i++)
        for (uint32_t v = 0; v < PELT_BLOCK; v++)
            for (uint32_t c = 0; c < 4; c++) {
                uint32_t word = from[(i / 3 * 2 + c / 2) * 3 * PELT_BLOCK + i % 3 * PELT_BLOCK + v];
                float x = (float)(int32_t)(c % 2 ? word : word << 16);
                memcpy(to + i * 64 + v * 4 + c, &x, sizeof x);
            }
}

static uint32_t groups_in(const pelt_gpu_skin *packed, const group_list *list, uint32_t block) {
    const uint32_t *heads = packed->words + packed->numbers.at_heads + list->which + 4 * (size_t)block;
    return (list->step * (heads[4] - heads[0]) + 3) / TENSOR_GROUP;
}

/* Puts blocks whose lists a warp can keep first. Returns their number. */
static uint32_t order_blocks(const pelt_gpu_skin *packed, const group_list *lists, const bool *used, uint32_t *blocks) {
    uint32_t places = 0, few = 0;
    for (int others = 0; others < 2; others++)
        for (uint32_t b = 0; b < packed->numbers.block_count; b++) {
            uint32_t joints = groups_in(packed, &lists[TENSOR_JOINTS], b);
            bool is_few = joints && joints <= TENSOR_FEW;
            if (used[TENSOR_ROWS]) is_few &= groups_in(packed, &lists[TENSOR_ROWS], b) <= TENSOR_FEW;
            if (used[TENSOR_AXES]) is_few &= groups_in(packed, &lists[TENSOR_AXES], b) - 1 < TENSOR_FEW;
            if (is_few == !others) blocks[places++] = b, few += is_few;
        }
    return few;
}

/* 4 more than a multiple of `banks`. */
static uint32_t four_more(uint32_t x, uint32_t banks) { return (x + banks - 5) / banks * banks + 4; }

/* The shared-memory offset of each vec4 of a pose. */
static void fill_places(const pelt_gpu_skin *packed, const pelt_cuda_tensor *t, const group_list *lists, uint32_t fours,
                        uint32_t *places) {
    const pelt_gpu_numbers *n = &packed->numbers;
    for (uint32_t i = 0; i < packed->own_vec4s; i++) {
        uint32_t after = i - 3 * packed->matrix_count, of_axis = n->distance_stride / 4;
        if (i < 3 * packed->matrix_count)
            places[i] = lists[TENSOR_JOINTS].slots[i / 3] + i % 3 * t->joint_plane;
        else if (packed->form != PELT_GPU_WEIGHTED_SHORTS)
            places[i] = TENSOR_EXTRA + 4 * after;
        else if (after % of_axis < fours)
            places[i] =
                3 * t->joint_plane + after % of_axis * t->axis_plane + lists[TENSOR_AXES].slots[after / of_axis];
        else
            places[i] = TENSOR_NOWHERE;
    }
}

/* NULL when out of memory. */
static uint32_t *list_groups(const pelt_gpu_skin *packed, pelt_cuda_tensor *out, uint64_t *count) {
    const pelt_gpu_numbers *n = &packed->numbers;
    bool basis = packed->form == PELT_GPU_SHORTS, weighted = packed->form == PELT_GPU_WEIGHTED_SHORTS;
    uint32_t axes = weighted ? (4 * packed->own_vec4s - n->at_row_factors) / n->distance_stride : 0, fours = 0;
    uint32_t *slots = (uint32_t *)malloc(((size_t)packed->matrix_count + axes + 1) * sizeof *slots);
    if (!slots) return NULL;
    group_list lists[TENSOR_LISTS] = {
        {0, 1, n->at_joints, n->at_weights, 1, 1, 0, 3, slots},
        {1, 2, n->at_row_sources, n->at_rows, 3, 1, TENSOR_EXTRA},
        {2, 2, n->at_tilt_sources, n->at_tilts, 3, 1, TENSOR_EXTRA + n->at_tilt_factors - n->at_row_factors},
        {3, 1, n->at_axes, n->at_axis_weights, 1, 1 / DISTANCE_PARTS, n->at_row_factors, n->distance_stride,
         slots + packed->matrix_count}};
    const bool used[] = {true, basis, basis && packed->tilts == 2, weighted};
    out->joint_plane = find_slots(packed, &lists[TENSOR_JOINTS], packed->matrix_count);
    if (weighted) {
        out->axis_plane = find_slots(packed, &lists[TENSOR_AXES], axes);
        uint32_t most = 0, groups = packed->words[n->at_heads + 4 * (size_t)n->block_count + 1];
        for (uint32_t i = 0; i < 4 * groups; i++)
            most = most > packed->words[n->at_row_sources + i] ? most : packed->words[n->at_row_sources + i];
        fours = most / 4 + 1;
    }
    out->stride = four_more(3 * out->joint_plane + fours * out->axis_plane, 8);
    out->number_stride = four_more(TENSOR_EXTRA + (basis ? 4 * (packed->own_vec4s - 3 * packed->matrix_count) : 0), 32);
    uint64_t end = 4 * ((uint64_t)n->block_count + 1);
    for (int i = 0; i < TENSOR_LISTS; i++) {
        uint64_t groups = used[i] ? count_groups(packed, &lists[i]) : 0;
        out->at_sources[i] = (uint32_t)end, end += TENSOR_GROUP * groups;
        out->at_rows[i] = (uint32_t)end, end += 64 / lists[i].step * lists[i].parts * groups;
    }
    uint64_t groups = weighted ? packed->words[n->at_heads + 4 * (uint64_t)n->block_count + 1] : 0;
    out->at_centers = (uint32_t)end, end += groups * 3 * 64;
    out->at_center_tilts = (uint32_t)end, end += packed->tilts ? groups * 3 * 64 : 0;
    out->at_places = (uint32_t)end, end += packed->own_vec4s;
    out->at_blocks = (uint32_t)end, end += n->block_count;
    out->regular = is_regular(packed);
    *count = end;
    uint32_t *words = end < UINT32_MAX && out->joint_plane && (!weighted || out->axis_plane)
                          ? (uint32_t *)calloc((size_t)end, sizeof *words)
                          : NULL;
    bool done = words;
    if (done) out->few_blocks = order_blocks(packed, lists, used, words + out->at_blocks);
    for (int i = 0; i < TENSOR_LISTS && done; i++)
        if (used[i])
            done = fill_groups(packed, &lists[i], words + out->at_blocks, out->at_sources[i], out->at_rows[i],
                               i == TENSOR_AXES ? 3 * out->joint_plane : 0, words);
    if (done) fill_places(packed, out, lists, fours, words + out->at_places);
    if (done && weighted) {
        fill_centers(packed->words + n->at_rows, groups, words + out->at_centers);
        if (packed->tilts) fill_centers(packed->words + n->at_tilts, groups, words + out->at_center_tilts);
    }
    free(slots);
    if (!done) free(words);
    return done ? words : NULL;
}

int pelt_cuda_devices(void) {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) cudaGetLastError(), count = 0;
    return count;
}

static pelt_result take(void **out, uint64_t bytes, const char *what, pelt_error *error) {
    return check(cudaMalloc(out, (size_t)bytes), what, error);
}

static pelt_result make(pelt_cuda *cuda, pelt_error *error) {
    cudaDeviceProp properties;
    size_t pose = 16 * (size_t)cuda->packed.numbers.pose_stride, words = 4 * cuda->packed.word_count;
    pelt_result result = check(cudaSetDevice(cuda->device), "choosing the device", error);
    if (!result) result = check(cudaGetDeviceProperties(&properties, cuda->device), "asking for the device", error);
    if (result) return result;
    strncpy(cuda->name, properties.name, sizeof cuda->name - 1);
    cuda->shared_limit = (uint32_t)properties.sharedMemPerBlockOptin;
    cuda->processors = (uint32_t)properties.multiProcessorCount;
    cudaFuncAttributes built;
    result =
        check(cudaFuncGetAttributes(&built, one_kernel<PELT_GPU_BLEND, PELT_POSITIONS, ONE_SPLIT, ONE_THREADS, true>),
              "asking", error);
    cuda->waits = !result && built.ptxVersion >= 90; /* code for older devices lacks that instruction */
    if (!result) result = take((void **)&cuda->words, words, "the skin", error);
    if (!result) result = take((void **)&cuda->poses, cuda->room * (uint64_t)pose, "poses", error);
    if (!result) result = take((void **)&cuda->positions, cuda->room * (uint64_t)cuda->output_size, "positions", error);
    if (!result) result = check(cudaMallocHost((void **)&cuda->staged, cuda->room * pose), "poses on their way", error);
    if (!result) result = check(cudaEventCreateWithFlags(&cuda->fetched, cudaEventDisableTiming), "an event", error);
    if (!result)
        result = check(cudaMemcpy(cuda->words, cuda->packed.words, words, cudaMemcpyHostToDevice), "the skin", error);
    return result;
}

/* Builds the tensor data if it can be used. */
static pelt_result make_tensor(pelt_cuda *cuda, pelt_error *error) {
    const pelt_gpu_skin *packed = &cuda->packed;
    cudaFuncAttributes built;
    /* With a norm, terms cancel and need all digits of their distances; weighted displacements that fade take other
       loops. */
    bool form = packed->form == PELT_GPU_BLEND ||
                (packed->form == PELT_GPU_WEIGHTED_SHORTS && packed->parts == 3 && !packed->levels) ||
                (packed->form == PELT_GPU_SHORTS && packed->tilts != 1);
    pelt_result result =
        check(cudaFuncGetAttributes(&built, tensor_kernel<PELT_GPU_BLEND, TENSOR_POSITIONS>), "asking", error);
    if (result || !form || built.ptxVersion < 80 || packed->numbers.block_count < TENSOR_BLOCKS ||
        !weights_sum_to_one(cuda->skin))
        return result;
    uint64_t count = 0;
    uint32_t *words = list_groups(packed, &cuda->tensor, &count), *there = NULL;
    if (!words) return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for the skin");
    result = take((void **)&there, 4 * count, "the skin", error);
    if (!result) result = check(cudaMemcpy(there, words, 4 * count, cudaMemcpyHostToDevice), "the skin", error);
    free(words);
    cuda->tensor.words = there;
    measure(cuda->skin, &cuda->tensor);
    return result;
}

pelt_cuda *pelt_cuda_new(const pelt_skin *skin, const pelt_cuda_options *options, pelt_error *error) {
    if (!skin || !options) {
        pelt_fail(error, PELT_ERROR_ARGUMENT, "a skin and options are required");
        return NULL;
    }
    int devices = pelt_cuda_devices();
    if (options->device < 0 || options->device >= devices) {
        pelt_fail(error, PELT_ERROR_DEVICE, "CUDA device %d is requested, but there are %d", options->device, devices);
        return NULL;
    }
    if (pelt_gpu_check_crowd(options->characters, error)) return NULL;
    uint64_t wanted = options->characters ? options->characters : 1;
    pelt_cuda *cuda = (pelt_cuda *)calloc(1, sizeof *cuda);
    if (!cuda || !pelt_gpu_pack(skin, &cuda->packed)) {
        free(cuda);
        pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for the skin");
        return NULL;
    }
    cuda->skin = skin, cuda->device = options->device, cuda->output_size = pelt_output_size(skin);
    cuda->characters = (uint32_t)wanted, cuda->room = (uint32_t)((wanted + WHOLE - 1) / WHOLE * WHOLE);
    pelt_result result = make(cuda, error);
    if (!result && !options->plain) result = make_tensor(cuda, error);
    pelt_gpu_unpack(&cuda->packed);
    cuda->packed.words = NULL;
    if (!result) return cuda;
    pelt_cuda_free(cuda);
    return NULL;
}

void pelt_cuda_free(pelt_cuda *cuda) {
    if (!cuda) return;
    cudaFree(cuda->words), cudaFree((void *)cuda->tensor.words), cudaFree(cuda->poses), cudaFree(cuda->positions),
        cudaFree(cuda->normals);
    if (cuda->staged) cudaFreeHost(cuda->staged);
    if (cuda->fetched) cudaEventDestroy(cuda->fetched);
    cudaGetLastError();
    free(cuda);
}

const char *pelt_cuda_name(const pelt_cuda *cuda) { return cuda ? cuda->name : ""; }

/* -- Every frame ----------------------------------------------------------------------------------------------------- */

static pelt_result check_range(const pelt_cuda *cuda, uint32_t first, uint32_t count, pelt_error *error) {
    return pelt_gpu_check_range(first, count, cuda ? cuda->characters : 0, error);
}

/* Whether two halves can represent the joints' matrices, relative to the mesh's centre and size. */
static bool is_tame(const pelt_cuda *cuda, const float *pose) {
    const pelt_cuda_tensor *t = &cuda->tensor;
    float place[3], most = 0;
    for (uint32_t i = 0; i < 3 * cuda->packed.matrix_count; i++) {
        const float *m = pose + 4 * (size_t)i;
        float there = m[0] * t->middle.x + m[1] * t->middle.y + m[2] * t->middle.z + m[3];
        if (i < 3) place[i] = there;
        float off = fabsf(there - place[i % 3]) * t->per_size;
        for (int k = 0; k < 3; k++) off += fabsf(m[k]);
        most = most >= off ? most : off; /* NaN stays NaN */
    }
    return most <= 16;
}

pelt_result pelt_cuda_upload(pelt_cuda *cuda, uint32_t first, uint32_t count, const void *const *scratches,
                             void *stream, pelt_error *error) {
    pelt_result result = check_range(cuda, first, count, error);
    if (!result) result = pelt_gpu_check_poses(scratches, count, error);
    if (result || !count) return result;
    size_t vec4s = cuda->packed.numbers.pose_stride;
    result = check(cudaEventSynchronize(cuda->fetched), "waiting for poses", error);
    if (result) return result;
    float *from = cuda->staged + 4 * vec4s * first;
    for (uint32_t i = 0; i < count; i++) {
        float *pose = from + 4 * vec4s * i;
        cuda->scaled |= pelt_gpu_pose(cuda->skin, &cuda->packed, scratches[i], pose);
        if (cuda->tensor.size && !is_tame(cuda, pose)) cuda->wild = 1;
    }
    cudaStream_t on = (cudaStream_t)stream;
    result = check(cudaMemcpyAsync(cuda->poses + vec4s * first, from, 16 * vec4s * count, cudaMemcpyHostToDevice, on),
                   "uploading poses", error);
    return result ? result : check(cudaEventRecord(cuda->fetched, on), "uploading poses", error);
}

/* Work partition: threads per work group, vertices and characters per thread, kilobytes of shared memory for poses,
   passes over vertices. */
struct cut {
    int threads, lanes, characters, kilobytes, passes;
};

/* Many characters: a thread handles 4 vertices of several characters, as many as its registers can hold. Tuned on an
   H200. */
constexpr cut many_cuts[3][3] = {
    {{128, 4, 4, 40, 8}, {128, 4, 2, 40, 8}, {128, 4, 2, 64, 8}},   /* blend: positions, both, scaled */
    {{128, 4, 4, 40, 16}, {256, 4, 2, 64, 16}, {256, 4, 1, 64, 8}}, /* basis */
    {{128, 4, 2, 48, 8}, {128, 4, 2, 40, 16}, {256, 4, 1, 64, 8}},  /* weighted */
};

/* The number of poses that fit: a power of two from C to 16, or 0. */
static uint32_t poses_that_fit(const pelt_cuda *cuda, const cut &cut, uint32_t own, uint32_t stage) {
    uint32_t limit = min(1024u * cut.kilobytes, cuda->shared_limit), most = 16;
    while (most && (most < (uint32_t)cut.characters || (uint64_t)most * own * 16 + stage > limit)) most /= 2;
    return most >= (uint32_t)cut.characters ? most : 0;
}

/* The grid's y dimension is at most 65535 work groups of `each` characters: more take several launches. */
template <class LAUNCH> static cudaError_t launch_parts(const pelt_cuda_call &k, uint32_t each, LAUNCH launch) {
    cudaError_t code = cudaSuccess;
    for (uint32_t first = 0, all = k.n.character_count; first < all && code == cudaSuccess; first += 65535 * each) {
        pelt_cuda_call part = k;
        size_t skip = 48 * (size_t)first * k.n.block_count;
        part.n.character_count = min(all - first, 65535 * each);
        part.poses += (size_t)first * k.n.pose_stride;
        part.positions += skip;
        if (part.normals) part.normals += skip;
        code = launch(part, (part.n.character_count + each - 1) / each);
    }
    return code;
}

template <int FORM, int KIND, int T, int V, int C>
static cudaError_t launch_many(const pelt_cuda_call &k, cudaStream_t stream) {
    uint32_t bytes = k.shared * k.own_vec4s * 16 + T / 32 * 96 * V * sizeof(float);
    uint32_t each = T * V * k.passes, across = (16 * k.n.block_count + each - 1) / each;
    auto kernel = skin_kernel<FORM, KIND, V, C, T>;
    cudaError_t code = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (code != cudaSuccess) return code;
    return launch_parts(k, k.shared, [&](const pelt_cuda_call &part, uint32_t down) {
        kernel<<<dim3(across, down), T, bytes, stream>>>(part);
        return cudaGetLastError();
    });
}

/* If the device supports it, the kernel starts before its predecessor in the stream has ended, and waits inside. */
template <int FORM, int KIND, bool SHARED>
static cudaError_t launch_one(const pelt_cuda *cuda, const pelt_cuda_call &k, cudaStream_t stream) {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.blockDim = dim3(ONE_THREADS), config.dynamicSmemBytes = SHARED ? k.own_vec4s * 16 : 0,
    config.stream = stream;
    config.attrs = &attribute, config.numAttrs = cuda->waits ? 1 : 0;
    uint32_t each = ONE_THREADS / ONE_SPLIT, across = (16 * k.n.block_count + each - 1) / each;
    return launch_parts(k, 1, [&](const pelt_cuda_call &part, uint32_t down) {
        config.gridDim = dim3(across, down);
        return cudaLaunchKernelEx(&config, one_kernel<FORM, KIND, ONE_SPLIT, ONE_THREADS, SHARED>, part);
    });
}

/* Bytes of shared memory for this many characters. */
static uint64_t tensor_bytes(const pelt_cuda *cuda, uint32_t characters, int threads) {
    return 16ull * characters * cuda->tensor.stride + 4ull * characters * cuda->tensor.number_stride +
           threads / 32 * TENSOR_CHARACTERS * TENSOR_STAGE_STRIDE * sizeof(float);
}

/* False when poses do not fit. */
template <int FORM, int KIND>
static bool launch_tensor(const pelt_cuda *cuda, pelt_cuda_call k, cudaStream_t stream, cudaError_t *code) {
    using cut = tensor_cut<FORM, KIND>;
    pelt_cuda_tensor t = cuda->tensor;
    if (!t.size || cuda->wild || k.n.character_count < TENSOR_CHARACTERS) return false;
    constexpr uint32_t fewest = TENSOR_CHARACTERS * cut::tiles;
    uint32_t shared = cut::shared;
    while (shared > fewest && tensor_bytes(cuda, shared, cut::threads) > cuda->shared_limit) shared -= fewest;
    uint64_t bytes = tensor_bytes(cuda, shared, cut::threads);
    if (bytes > cuda->shared_limit) return false;
    k.shared = shared, k.own_vec4s = cuda->packed.own_vec4s;
    auto kernel = tensor_kernel<FORM, KIND>;
    *code = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (*code == cudaSuccess) kernel<<<cuda->processors, cut::threads, bytes, stream>>>(k, t);
    if (*code == cudaSuccess) *code = cudaGetLastError();
    return true;
}

template <int FORM, int KIND>
static cudaError_t launch_kind(const pelt_cuda *cuda, const pelt_cuda_call &k, cudaStream_t stream) {
    constexpr int group = FORM == PELT_GPU_BLEND ? 0 : FORM <= PELT_GPU_SHORTS ? 1 : 2;
    constexpr cut many = many_cuts[group][KIND];
    if constexpr (KIND != PELT_SCALED && FORM != PELT_GPU_FLOATS && FORM != PELT_GPU_WEIGHTED_FLOATS) {
        cudaError_t code = cudaSuccess;
        bool done = false;
        if constexpr (KIND == PELT_POSITIONS)
            done = launch_tensor<FORM, TENSOR_POSITIONS>(cuda, k, stream, &code);
        else if constexpr (FORM == PELT_GPU_BLEND)
            done = false; /* the plain loop is as fast */
        else
            done = k.tilts ? launch_tensor<FORM, TENSOR_TILTED>(cuda, k, stream, &code)
                           : launch_tensor<FORM, TENSOR_NORMALS>(cuda, k, stream, &code);
        if (done) return code;
    }
    pelt_cuda_call call = k;
    call.own_vec4s = KIND == PELT_SCALED ? k.n.pose_stride : cuda->packed.own_vec4s;
    call.shared = poses_that_fit(cuda, many, call.own_vec4s, many.threads / 32 * 96 * many.lanes * sizeof(float));
    call.passes = many.passes;
    if (k.n.character_count >= FEW && call.shared)
        return launch_many<FORM, KIND, many.threads, many.lanes, many.characters>(call, stream);
    if (call.own_vec4s * 16 <= ONE_POSE) return launch_one<FORM, KIND, true>(cuda, call, stream);
    return launch_one<FORM, KIND, false>(cuda, call, stream);
}

template <int FORM>
static cudaError_t launch_form(const pelt_cuda *cuda, const pelt_cuda_call &k, int kind, cudaStream_t stream) {
    return kind == PELT_POSITIONS ? launch_kind<FORM, PELT_POSITIONS>(cuda, k, stream)
           : kind == PELT_BOTH    ? launch_kind<FORM, PELT_BOTH>(cuda, k, stream)
                                  : launch_kind<FORM, PELT_SCALED>(cuda, k, stream);
}

template <bool BY_ANGLE, bool BENDS, int C>
static cudaError_t launch_shading(const pelt_cuda_call &k, cudaStream_t on) {
    const uint32_t across = (16 * k.n.block_count + SHADE_THREADS - 1) / SHADE_THREADS;
    return launch_parts(k, C, [&](const pelt_cuda_call &part, uint32_t down) {
        shade_kernel<BY_ANGLE, BENDS, C><<<dim3(across, down), SHADE_THREADS, 0, on>>>(part);
        return cudaGetLastError();
    });
}

template <bool BY_ANGLE, bool BENDS> static cudaError_t shade_some(const pelt_cuda_call &k, cudaStream_t on) {
    return k.n.character_count < FEW ? launch_shading<BY_ANGLE, BENDS, 1>(k, on)
                                     : launch_shading<BY_ANGLE, BENDS, SHADE_MANY>(k, on);
}

/* Normals of the deformed surface, after positions. */
static cudaError_t shade(const pelt_gpu_skin &packed, const pelt_cuda_call &k, cudaStream_t on) {
    if (packed.rings == 1) return packed.bends ? shade_some<false, true>(k, on) : shade_some<false, false>(k, on);
    return packed.bends ? shade_some<true, true>(k, on) : shade_some<true, false>(k, on);
}

pelt_result pelt_cuda_run(pelt_cuda *cuda, uint32_t count, unsigned outputs, void *stream, pelt_error *error) {
    pelt_result result = check_range(cuda, 0, count, error);
    if (!result) result = pelt_gpu_check_outputs(outputs, error);
    if (result || !count) return result;
    bool normals = outputs & PELT_CUDA_NORMALS, of_surface = normals && cuda->packed.rings;
    int kind = !normals || of_surface ? PELT_POSITIONS : cuda->scaled ? PELT_SCALED : PELT_BOTH;
    if (normals && !cuda->normals)
        result = take((void **)&cuda->normals, cuda->room * (uint64_t)cuda->output_size, "normals", error);
    if (result) return result;
    pelt_cuda_call k = {};
    k.n = cuda->packed.numbers, k.n.character_count = count;
    k.skin = cuda->words, k.poses = cuda->poses, k.positions = cuda->positions, k.normals = cuda->normals;
    k.phi = cuda->packed.phi, k.parts = cuda->packed.parts, k.tilts = cuda->packed.tilts;
    cudaError_t code = cudaErrorUnknown;
    cudaStream_t on = (cudaStream_t)stream;
    switch (cuda->packed.form) {
    case PELT_GPU_BLEND:
        code = launch_form<PELT_GPU_BLEND>(cuda, k, kind, on);
        break;
    case PELT_GPU_FLOATS:
        code = launch_form<PELT_GPU_FLOATS>(cuda, k, kind, on);
        break;
    case PELT_GPU_SHORTS:
        code = launch_form<PELT_GPU_SHORTS>(cuda, k, kind, on);
        break;
    case PELT_GPU_WEIGHTED_FLOATS:
        code = launch_form<PELT_GPU_WEIGHTED_FLOATS>(cuda, k, kind, on);
        break;
    case PELT_GPU_WEIGHTED_SHORTS:
        code = launch_form<PELT_GPU_WEIGHTED_SHORTS>(cuda, k, kind, on);
        break;
    }
    if (code == cudaSuccess && of_surface) code = shade(cuda->packed, k, on);
    return check(code, "skinning", error);
}

pelt_cuda_pointers pelt_cuda_output(const pelt_cuda *cuda) {
    pelt_cuda_pointers out = {};
    if (cuda) out.positions = cuda->positions, out.normals = cuda->normals, out.stride = cuda->output_size;
    return out;
}

pelt_result pelt_cuda_read(pelt_cuda *cuda, uint32_t character, float *positions, float *normals, void *stream,
                           pelt_error *error) {
    pelt_result result = check_range(cuda, character, 1, error);
    if (!result && normals && !cuda->normals)
        result = pelt_fail(error, PELT_ERROR_ARGUMENT, "normals have not been computed yet");
    if (result) return result;
    float *to[] = {positions, normals};
    const float *from[] = {cuda->positions, cuda->normals};
    for (int i = 0; i < 2 && !result; i++)
        if (to[i])
            result = check(cudaMemcpyAsync(to[i], (const char *)from[i] + character * cuda->output_size,
                                           cuda->output_size, cudaMemcpyDeviceToHost, (cudaStream_t)stream),
                           "reading the result", error);
    pelt_result waited = check(cudaStreamSynchronize((cudaStream_t)stream), "skinning", result ? NULL : error);
    return result ? result : waited;
}
