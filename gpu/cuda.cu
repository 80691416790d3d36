/* cuda.cu: a skin on an NVIDIA device: the host side, and which kernel for what. */

#include "gpu/cuda_kernels.cuh"
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <pelt/cuda.h>

enum { FEW = 4, WHOLE = 16 };

struct pelt_cuda {
    const pelt_skin *skin;
    pelt_gpu_skin packed;
    uint32_t characters; /* room for, a multiple of WHOLE */
    int device, scaled;
    uint32_t shared_limit; /* bytes of shared memory that a work group may have */
    uint32_t *words;
    float4 *poses;
    float *positions, *normals;
    size_t output_size;
    float *staged; /* poses on their way, where the device can fetch them */
    cudaEvent_t fetched;
    char name[256];
};

static pelt_result check(cudaError_t code, const char *doing, pelt_error *error) {
    if (code == cudaSuccess) return PELT_OK;
    cudaGetLastError();
    if (code == cudaErrorMemoryAllocation)
        return pelt_gpu_fail(error, PELT_ERROR_MEMORY, "the device has not enough memory for %s", doing);
    return pelt_gpu_fail(error, PELT_ERROR_DEVICE, "CUDA fails at %s: %s", doing, cudaGetErrorString(code));
}

/* -- Making ---------------------------------------------------------------------------------------------------------- */

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
    if (!result) result = take((void **)&cuda->words, words, "the skin", error);
    if (!result) result = take((void **)&cuda->poses, cuda->characters * (uint64_t)pose, "poses", error);
    if (!result)
        result = take((void **)&cuda->positions, cuda->characters * (uint64_t)cuda->output_size, "positions", error);
    if (!result)
        result = check(cudaMallocHost((void **)&cuda->staged, cuda->characters * pose), "poses on their way", error);
    if (!result) result = check(cudaEventCreateWithFlags(&cuda->fetched, cudaEventDisableTiming), "an event", error);
    if (!result)
        result = check(cudaMemcpy(cuda->words, cuda->packed.words, words, cudaMemcpyHostToDevice), "the skin", error);
    return result;
}

pelt_cuda *pelt_cuda_new(const pelt_skin *skin, const pelt_cuda_options *options, pelt_error *error) {
    if (!skin || !options) {
        pelt_gpu_fail(error, PELT_ERROR_ARGUMENT, "a skin and options are needed");
        return NULL;
    }
    int devices = pelt_cuda_devices();
    if (options->device < 0 || options->device >= devices) {
        pelt_gpu_fail(error, PELT_ERROR_DEVICE, "CUDA's device %d is wanted, but there are %d here", options->device,
                      devices);
        return NULL;
    }
    uint64_t wanted = options->characters ? options->characters : 1;
    pelt_cuda *cuda = wanted <= UINT32_MAX / 32 ? (pelt_cuda *)calloc(1, sizeof *cuda) : NULL;
    if (!cuda || !pelt_gpu_pack(skin, &cuda->packed)) {
        free(cuda);
        pelt_gpu_fail(error, PELT_ERROR_MEMORY, "not enough memory for the skin");
        return NULL;
    }
    cuda->skin = skin, cuda->device = options->device, cuda->output_size = pelt_output_size(skin);
    cuda->characters = (uint32_t)((wanted + WHOLE - 1) / WHOLE * WHOLE);
    pelt_result result = make(cuda, error);
    pelt_gpu_unpack(&cuda->packed);
    cuda->packed.words = NULL;
    if (!result) return cuda;
    pelt_cuda_free(cuda);
    return NULL;
}

void pelt_cuda_free(pelt_cuda *cuda) {
    if (!cuda) return;
    cudaFree(cuda->words), cudaFree(cuda->poses), cudaFree(cuda->positions), cudaFree(cuda->normals);
    if (cuda->staged) cudaFreeHost(cuda->staged);
    if (cuda->fetched) cudaEventDestroy(cuda->fetched);
    cudaGetLastError();
    free(cuda);
}

const char *pelt_cuda_name(const pelt_cuda *cuda) { return cuda->name; }

/* -- Every frame ----------------------------------------------------------------------------------------------------- */

static pelt_result check_range(const pelt_cuda *cuda, uint32_t first, uint32_t count, pelt_error *error) {
    if ((uint64_t)first + count <= cuda->characters) return PELT_OK;
    return pelt_gpu_fail(error, PELT_ERROR_ARGUMENT, "characters %u to %llu are wanted, but there is room for %u",
                         first, (unsigned long long)first + count - 1, cuda->characters);
}

pelt_result pelt_cuda_upload(pelt_cuda *cuda, uint32_t first, uint32_t count, const void *const *scratches,
                             void *stream, pelt_error *error) {
    pelt_result result = check_range(cuda, first, count, error);
    size_t vec4s = cuda->packed.numbers.pose_stride;
    if (!result) result = check(cudaEventSynchronize(cuda->fetched), "waiting for poses", error);
    if (result) return result;
    float *from = cuda->staged + 4 * vec4s * first;
    for (uint32_t i = 0; i < count; i++)
        cuda->scaled |= pelt_gpu_pose(cuda->skin, &cuda->packed, scratches[i], from + 4 * vec4s * i);
    cudaStream_t on = (cudaStream_t)stream;
    result = check(cudaMemcpyAsync(cuda->poses + vec4s * first, from, 16 * vec4s * count, cudaMemcpyHostToDevice, on),
                   "uploading poses", error);
    return result ? result : check(cudaEventRecord(cuda->fetched, on), "uploading poses", error);
}

/* How work is cut: threads of a work group, vertices and characters of a thread, kilobytes of shared memory for poses,
   turns over vertices. */
struct cut {
    int threads, lanes, characters, kilobytes, passes;
};

/* One character: a thread for each vertex. Many: a thread takes 4 vertices of several characters, as many as its registers
   have room for. Found by trying on an H200. */
constexpr cut one_cut = {128, 1, 1, 0, 1};
constexpr cut many_cuts[3][3] = {
    {{128, 4, 4, 40, 8}, {128, 4, 2, 40, 8}, {128, 4, 2, 64, 8}},   /* blend: positions, both, scaled */
    {{128, 4, 4, 40, 16}, {256, 4, 2, 64, 16}, {256, 4, 1, 64, 8}}, /* basis */
    {{128, 4, 2, 48, 8}, {128, 4, 2, 40, 16}, {256, 4, 1, 64, 8}},  /* weighted */
};

/* How many poses fit: a power of two from C to 16, or 0. */
static uint32_t poses_that_fit(const pelt_cuda *cuda, const cut &cut, uint32_t own, uint32_t stage) {
    uint32_t limit = min(1024u * cut.kilobytes, cuda->shared_limit), most = 16;
    while (most && (most < (uint32_t)cut.characters || (uint64_t)most * own * 16 + stage > limit)) most /= 2;
    return most >= (uint32_t)cut.characters ? most : 0;
}

template <int FORM, int KIND, int T, int V, int C, bool SHARED>
static cudaError_t launch(pelt_cuda_call k, cudaStream_t stream) {
    uint32_t bytes = (SHARED ? k.shared * k.own_vec4s * 16 : 0) + T / 32 * 96 * V * sizeof(float);
    auto kernel = skin_kernel<FORM, KIND, V, C, T, SHARED>;
    cudaError_t code = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (code != cudaSuccess) return code;
    uint32_t each = T * V * k.passes, slots = 16 * k.n.block_count;
    /* Work groups down are at most 65535: more characters go in several launches. */
    for (uint32_t first = 0, all = k.n.character_count; first < all; first += 65535 * k.shared) {
        pelt_cuda_call part = k;
        size_t skip = 3 * (size_t)first * slots;
        part.n.character_count = min(all - first, 65535 * k.shared);
        part.poses += (size_t)first * k.n.pose_stride;
        part.positions += skip;
        if (part.normals) part.normals += skip;
        kernel<<<dim3((slots + each - 1) / each, (part.n.character_count + k.shared - 1) / k.shared), T, bytes,
                 stream>>>(part);
    }
    return cudaGetLastError();
}

template <int FORM, int KIND>
static cudaError_t launch_kind(const pelt_cuda *cuda, const pelt_cuda_call &k, cudaStream_t stream) {
    constexpr int group = FORM == PELT_GPU_BLEND ? 0 : FORM <= PELT_GPU_SHORTS ? 1 : 2;
    constexpr cut one = one_cut, many = many_cuts[group][KIND];
    pelt_cuda_call call = k;
    call.own_vec4s = KIND == PELT_SCALED ? k.n.pose_stride : cuda->packed.own_vec4s;
    call.shared = poses_that_fit(cuda, many, call.own_vec4s, many.threads / 32 * 96 * many.lanes * sizeof(float));
    call.passes = many.passes;
    if (k.n.character_count >= FEW && call.shared)
        return launch<FORM, KIND, many.threads, many.lanes, many.characters, true>(call, stream);
    call.shared = one.characters, call.passes = one.passes;
    return launch<FORM, KIND, one.threads, one.lanes, one.characters, false>(call, stream);
}

template <int FORM>
static cudaError_t launch_form(const pelt_cuda *cuda, const pelt_cuda_call &k, int kind, cudaStream_t stream) {
    return kind == PELT_POSITIONS ? launch_kind<FORM, PELT_POSITIONS>(cuda, k, stream)
           : kind == PELT_BOTH    ? launch_kind<FORM, PELT_BOTH>(cuda, k, stream)
                                  : launch_kind<FORM, PELT_SCALED>(cuda, k, stream);
}

pelt_result pelt_cuda_run(pelt_cuda *cuda, uint32_t count, unsigned outputs, void *stream, pelt_error *error) {
    pelt_result result = check_range(cuda, 0, count, error);
    if (result || !count) return result;
    int kind = !(outputs & PELT_CUDA_NORMALS) ? PELT_POSITIONS : cuda->scaled ? PELT_SCALED : PELT_BOTH;
    if (kind != PELT_POSITIONS && !cuda->normals)
        result = take((void **)&cuda->normals, cuda->characters * (uint64_t)cuda->output_size, "normals", error);
    if (result) return result;
    pelt_cuda_call k = {};
    k.n = cuda->packed.numbers, k.n.character_count = count;
    k.skin = cuda->words, k.poses = cuda->poses, k.positions = cuda->positions, k.normals = cuda->normals;
    k.phi = cuda->packed.phi, k.parts = cuda->packed.parts, k.turns = cuda->packed.turns;
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
    return check(code, "skinning", error);
}

pelt_cuda_pointers pelt_cuda_output(const pelt_cuda *cuda) {
    pelt_cuda_pointers out = {cuda->positions, cuda->normals, cuda->output_size};
    return out;
}

pelt_result pelt_cuda_read(pelt_cuda *cuda, uint32_t character, float *positions, float *normals, void *stream,
                           pelt_error *error) {
    pelt_result result = check_range(cuda, character, 1, error);
    if (!result && normals && !cuda->normals)
        result = pelt_gpu_fail(error, PELT_ERROR_ARGUMENT, "normals have not been computed yet");
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
