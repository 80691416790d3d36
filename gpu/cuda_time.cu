/* cuda_time.cu: times skinning, and writing and copying the same number of bytes, by the device's clock. */

extern "C" {
#include "gpu/pack.h"
}
#include "gpu/cuda_time.h"
#include <chrono>
#include <cuda_runtime.h>
#include <vector>

static __global__ void fill(float4 *to, size_t count, float4 value) {
    size_t at = blockIdx.x * (size_t)blockDim.x * 4 + threadIdx.x;
    for (int i = 0; i < 4; i++, at += blockDim.x)
        if (at < count) __stcs(to + at, value);
}

static __global__ void copy(float4 *to, const float4 *from, size_t count) {
    size_t at = blockIdx.x * (size_t)blockDim.x * 4 + threadIdx.x;
    float4 kept[4];
    for (int i = 0; i < 4; i++)
        if (at + i * blockDim.x < count) kept[i] = __ldcs(from + at + i * blockDim.x);
    for (int i = 0; i < 4; i++)
        if (at + i * blockDim.x < count) __stcs(to + at + i * blockDim.x, kept[i]);
}

static pelt_result refuse(cudaError_t code, pelt_error *error) {
    cudaGetLastError();
    return pelt_fail(error, code == cudaErrorMemoryAllocation ? PELT_ERROR_MEMORY : PELT_ERROR_DEVICE,
                     "CUDA fails at timing: %s", cudaGetErrorString(code));
}

pelt_result pelt_cuda_wait(pelt_error *error) {
    cudaError_t code = cudaDeviceSynchronize();
    return code == cudaSuccess ? PELT_OK : refuse(code, error);
}

struct timing {
    pelt_cuda *cuda;
    pelt_device_work work;
    uint32_t count;
    int normals;
    float4 *from;
    cudaStream_t stream;
};

static pelt_result once(const timing *t, pelt_error *error) {
    if (t->work == PELT_WORK_SKIN)
        return pelt_cuda_run(t->cuda, t->count, t->normals ? PELT_CUDA_NORMALS : 0, t->stream, error);
    pelt_cuda_pointers out = pelt_cuda_output(t->cuda);
    size_t quads = t->count * out.stride / 16;
    unsigned groups = (unsigned)((quads + 1023) / 1024);
    for (int i = 0; i <= t->normals; i++) {
        float4 *to = (float4 *)(i ? out.normals : out.positions);
        if (t->work == PELT_WORK_FILL)
            fill<<<groups, 256, 0, t->stream>>>(to, quads, make_float4(1, 2, 3, 4));
        else
            copy<<<groups, 256, 0, t->stream>>>(to, t->from, quads);
    }
    cudaError_t code = cudaGetLastError();
    return code == cudaSuccess ? PELT_OK : refuse(code, error);
}

/* Repeats the work of a few characters as one graph, so that launch overhead does not count. */
static pelt_result make_row(const timing *t, cudaGraphExec_t *out, pelt_error *error) {
    cudaGraph_t graph = nullptr;
    cudaError_t code = cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeThreadLocal);
    if (code != cudaSuccess) return refuse(code, error);
    pelt_result result = PELT_OK;
    for (int i = 0; i < PELT_WORK_ROW && !result; i++) result = once(t, error);
    code = cudaStreamEndCapture(t->stream, &graph);
    if (!result && code == cudaSuccess) code = cudaGraphInstantiate(out, graph, 0);
    if (graph) cudaGraphDestroy(graph);
    return result ? result : code == cudaSuccess ? PELT_OK : refuse(code, error);
}

static pelt_result run_rounds(const timing *t, uint32_t rounds, double *seconds, pelt_error *error) {
    cudaGraphExec_t row = nullptr;
    std::vector<cudaEvent_t> events(2 * rounds);
    cudaError_t code = cudaSuccess;
    pelt_result result = t->count < PELT_WORK_FEW ? make_row(t, &row, error) : PELT_OK;
    for (auto &event : events)
        if (code == cudaSuccess) code = cudaEventCreate(&event);
    auto work = [&]() {
        if (row)
            code = cudaGraphLaunch(row, t->stream);
        else
            result = once(t, error);
    };
    auto begin = std::chrono::steady_clock::now();
    do { /* until the device's clock has ramped up */
        work();
        if (code == cudaSuccess) code = cudaStreamSynchronize(t->stream);
    } while (code == cudaSuccess && !result &&
             std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(PELT_WORK_WARM));
    for (uint32_t i = 0; i < rounds && code == cudaSuccess && !result; i++) {
        code = cudaEventRecord(events[2 * i], t->stream);
        if (code == cudaSuccess) work();
        if (code == cudaSuccess) code = cudaEventRecord(events[2 * i + 1], t->stream);
    }
    if (code == cudaSuccess) code = cudaStreamSynchronize(t->stream);
    for (uint32_t i = 0; i < rounds && code == cudaSuccess && !result; i++) {
        float milliseconds = 0;
        code = cudaEventElapsedTime(&milliseconds, events[2 * i], events[2 * i + 1]);
        seconds[i] = 1e-3 * milliseconds / (row ? PELT_WORK_ROW : 1);
    }
    for (auto &event : events)
        if (event) cudaEventDestroy(event);
    if (row) cudaGraphExecDestroy(row);
    return result ? result : code == cudaSuccess ? PELT_OK : refuse(code, error);
}

pelt_result pelt_cuda_time(pelt_cuda *cuda, pelt_device_work work, uint32_t count, int normals, uint32_t rounds,
                           double *seconds, pelt_error *error) {
    timing t = {cuda, work, count, normals, nullptr, nullptr};
    pelt_result result = pelt_cuda_run(cuda, count, normals ? PELT_CUDA_NORMALS : 0, 0, error); /* buffers exist */
    if (!result) result = pelt_cuda_wait(error);
    if (result) return result;
    size_t bytes = count * pelt_cuda_output(cuda).stride;
    cudaError_t code = cudaStreamCreate(&t.stream);
    if (code == cudaSuccess && work == PELT_WORK_COPY) code = cudaMalloc((void **)&t.from, bytes);
    if (code == cudaSuccess && t.from) code = cudaMemset(t.from, 1, bytes);
    result = code == cudaSuccess ? run_rounds(&t, rounds, seconds, error) : refuse(code, error);
    cudaFree(t.from);
    if (t.stream) cudaStreamDestroy(t.stream);
    return result;
}
