/* rays.c: ray packets by Embree 3 or 4. Of what is used here, the two differ only in how a query's context is passed.
   */

#include "light/rays.h"
#if PELT_EMBREE == 4
#include <embree4/rtcore.h>
#else
#include <embree3/rtcore.h>
#endif
#include <stdlib.h>
#include <string.h>

struct rays {
    RTCDevice device;
    RTCScene scene;
};

/* Embree reads 16 bytes at a time, so the last vertex needs 4 bytes of padding. */
static bool add_triangles(rays *r, const float *positions, uint32_t vertex_count, const uint32_t *triangles,
                          uint32_t triangle_count) {
    RTCGeometry geometry = rtcNewGeometry(r->device, RTC_GEOMETRY_TYPE_TRIANGLE);
    void *points = rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, 3 * sizeof(float),
                                           (size_t)vertex_count + 1);
    void *corners = rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, 3 * sizeof(uint32_t),
                                            triangle_count);
    if (points && corners) {
        memset(points, 0, 3 * sizeof(float) * ((size_t)vertex_count + 1));
        memcpy(points, positions, 3 * sizeof(float) * vertex_count);
        memcpy(corners, triangles, 3 * sizeof(uint32_t) * triangle_count);
        rtcCommitGeometry(geometry);
        rtcAttachGeometry(r->scene, geometry);
    }
    rtcReleaseGeometry(geometry);
    return points && corners;
}

/* A single thread builds, so that the tree, and every last bit of a hit, is the same on all machines. */
rays *rays_new(const float *positions, uint32_t vertex_count, const uint32_t *triangles, uint32_t triangle_count) {
    rays *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->device = rtcNewDevice("threads=1,set_affinity=0");
    r->scene = r->device ? rtcNewScene(r->device) : NULL;
    bool done = r->scene && add_triangles(r, positions, vertex_count, triangles, triangle_count);
    if (done) {
        rtcSetSceneFlags(r->scene, RTC_SCENE_FLAG_ROBUST); /* no light through the edge between two triangles */
        rtcSetSceneBuildQuality(r->scene, RTC_BUILD_QUALITY_HIGH);
        rtcCommitScene(r->scene);
        done = rtcGetDeviceError(r->device) == RTC_ERROR_NONE;
    }
    if (done) return r;
    rays_free(r);
    return NULL;
}

void rays_free(rays *r) {
    if (!r) return;
    if (r->scene) rtcReleaseScene(r->scene);
    if (r->device) rtcReleaseDevice(r->device);
    free(r);
}

static void set_rays(struct RTCRay16 *ray, const packet *in) {
    memcpy(ray->org_x, in->origin[0], sizeof ray->org_x);
    memcpy(ray->org_y, in->origin[1], sizeof ray->org_y);
    memcpy(ray->org_z, in->origin[2], sizeof ray->org_z);
    memcpy(ray->dir_x, in->direction[0], sizeof ray->dir_x);
    memcpy(ray->dir_y, in->direction[1], sizeof ray->dir_y);
    memcpy(ray->dir_z, in->direction[2], sizeof ray->dir_z);
    memset(ray->tnear, 0, sizeof ray->tnear);
    memset(ray->time, 0, sizeof ray->time);
    memcpy(ray->tfar, in->length, sizeof in->length);
    memset(ray->mask, 0xFF, sizeof ray->mask);
    memset(ray->flags, 0, sizeof ray->flags);
}

static void set_valid(int *valid, const packet *in) {
    for (int i = 0; i < LANES; i++) valid[i] = in->active[i] ? -1 : 0;
}

void rays_first_hits(const rays *r, const packet *in, hits *out) {
    _Alignas(64) int valid[LANES];
    struct RTCRayHit16 query;
    set_valid(valid, in);
    set_rays(&query.ray, in);
    memset(query.hit.geomID, 0xFF, sizeof query.hit.geomID);
    memset(query.hit.instID, 0xFF, sizeof query.hit.instID);
#if PELT_EMBREE == 4
    rtcIntersect16(valid, r->scene, &query, NULL);
#else
    struct RTCIntersectContext context;
    rtcInitIntersectContext(&context);
    rtcIntersect16(valid, r->scene, &context, &query);
#endif
    memcpy(out->distance, query.ray.tfar, sizeof out->distance);
    memcpy(out->normal[0], query.hit.Ng_x, sizeof out->normal[0]);
    memcpy(out->normal[1], query.hit.Ng_y, sizeof out->normal[1]);
    memcpy(out->normal[2], query.hit.Ng_z, sizeof out->normal[2]);
    for (int i = 0; i < LANES; i++)
        out->triangle[i] = valid[i] && query.hit.geomID[i] != RTC_INVALID_GEOMETRY_ID ? query.hit.primID[i] : RAYS_MISS;
}

void rays_blocked(const rays *r, const packet *in, bool blocked[LANES]) {
    _Alignas(64) int valid[LANES];
    struct RTCRay16 ray;
    set_valid(valid, in);
    set_rays(&ray, in);
#if PELT_EMBREE == 4
    rtcOccluded16(valid, r->scene, &ray, NULL);
#else
    struct RTCIntersectContext context;
    rtcInitIntersectContext(&context);
    rtcOccluded16(valid, r->scene, &context, &ray);
#endif
    for (int i = 0; i < LANES; i++) blocked[i] = ray.tfar[i] < 0;
}
