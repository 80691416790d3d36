/* test_rays.c: rays in pages (web/pelt-fit-wasm/shim/rays.c) against those of Embree, and against a closed surface. The
   other tests of light run with them too, as test_light_page and test_relight_page. */

#include "light/light.h"
#include "light/rays.h"
#include "test/test.h"
#include <float.h>

/* The same functions by other names. */
rays *page_rays_new(const float *positions, uint32_t vertex_count, const uint32_t *triangles, uint32_t triangle_count);
void page_rays_free(rays *scene);
void page_first_hits(const rays *scene, const packet *in, hits *out);
void page_blocked(const rays *scene, const packet *in, bool blocked[LANES]);
#define rays_new page_rays_new
#define rays_free page_rays_free
#define rays_first_hits page_first_hits
#define rays_blocked page_blocked
#include "web/pelt-fit-wasm/shim/rays.c"
#undef rays_new
#undef rays_free
#undef rays_first_hits
#undef rays_blocked

enum { PACKETS = 4000, MOST = 3000 };

static uint64_t seed;

static float random_float(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (float)(seed >> 40) * 0x1p-24f;
}

/* From anywhere, in any direction, in lanes at random; some along an axis or in one of its planes. */
static packet random_rays(float size) {
    packet p = {0};
    for (int i = 0; i < LANES; i++) {
        int kind = (int)(8 * random_float());
        for (int c = 0; c < 3; c++) {
            p.origin[c][i] = size * random_float();
            p.direction[c][i] = (kind & 1) && c != kind / 2 ? 0 : random_float() - 0.5f;
        }
        if ((kind & 1) && kind / 2 == 3) p.direction[kind % 3][i] = 1;
        p.length[i] = random_float() < 0.5f ? FLT_MAX : 2 * size * random_float();
        p.active[i] = random_float() < 0.9f;
    }
    return p;
}

typedef struct counts {
    size_t rays, hits, others, blocked_others;
} counts;

static void compare(const float *positions, uint32_t vertices, const uint32_t *triangles, uint32_t count, float size,
                    counts *n) {
    rays *embree = rays_new(positions, vertices, triangles, count);
    rays *page = page_rays_new(positions, vertices, triangles, count);
    assert_non_null(embree), assert_non_null(page);
    for (int k = 0; k < PACKETS; k++) {
        packet p = random_rays(size);
        hits a, b;
        bool blocked[2][LANES];
        rays_first_hits(embree, &p, &a), page_first_hits(page, &p, &b);
        rays_blocked(embree, &p, blocked[0]), page_blocked(page, &p, blocked[1]);
        for (int i = 0; i < LANES; i++) {
            if (!p.active[i]) {
                assert_true(b.triangle[i] == RAYS_MISS && !blocked[1][i]);
                continue;
            }
            assert_int_equal(blocked[1][i], b.triangle[i] != RAYS_MISS);
            n->rays++, n->hits += a.triangle[i] != RAYS_MISS, n->blocked_others += blocked[0][i] != blocked[1][i];
            if (a.triangle[i] != b.triangle[i]) {
                n->others++;
                continue;
            }
            if (a.triangle[i] == RAYS_MISS) continue;
            float product = 0, lengths[2] = {0}, towards = 0;
            for (int c = 0; c < 3; c++) {
                towards += a.normal[c][i] * p.direction[c][i];
                product += a.normal[c][i] * b.normal[c][i];
                lengths[0] += a.normal[c][i] * a.normal[c][i], lengths[1] += b.normal[c][i] * b.normal[c][i];
            }
            assert_true(product > 0.9999f * sqrtf(lengths[0] * lengths[1]));
            assert_near(b.distance[i], a.distance[i], 2e-6 * size * sqrtf(lengths[0]) / fabsf(towards)); /* grazing */
        }
    }
    rays_free(embree), page_rays_free(page);
}

/* Rays that touch an edge may round to either side of it; nothing else may differ. */
static void rays_hit_what_those_of_embree_hit(void **state) {
    (void)state;
    static float positions[9 * MOST];
    static uint32_t triangles[3 * MOST];
    const uint32_t sizes[] = {1, 5, 40, MOST};
    seed = 1;
    for (int s = 0; s < 4; s++) {
        counts n = {0};
        for (uint32_t t = 0; t < sizes[s]; t++)
            for (int k = 0; k < 9; k++)
                positions[9 * t + k] = (k < 3 ? random_float() : positions[9 * t + k % 3] + 0.3f * random_float());
        for (uint32_t k = 0; k < 3 * sizes[s]; k++) triangles[k] = k;
        compare(positions, 3 * sizes[s], triangles, sizes[s], 1, &n);
        assert_true(n.rays > 50000 && n.hits > 100);
        assert_true(n.others <= n.rays / 10000 && n.blocked_others <= n.rays / 10000);
    }
}

static void and_in_the_box_they_see_the_same(void **state) {
    (void)state;
    counts n = {0};
    pelt_scene *box = pelt_cornell_box(NULL);
    seed = 2;
    compare(box->positions, box->vertex_count, box->triangles, box->triangle_count, 0.55f, &n);
    assert_true(n.hits > n.rays / 2);
    assert_true(n.others <= n.rays / 10000 && n.blocked_others <= n.rays / 10000);
    pelt_scene_free(box);
}

/* From inside a sphere, towards its vertices and points on its edges, as exactly as floats can say. */
static void no_ray_leaves_a_closed_surface(void **state) {
    (void)state;
    enum { ROWS = 16, COLUMNS = 32, VERTICES = (ROWS + 1) * COLUMNS };
    static float positions[3 * VERTICES];
    static uint32_t triangles[6 * ROWS * COLUMNS];
    uint32_t count = 0;
    for (uint32_t r = 0; r <= ROWS; r++)
        for (uint32_t c = 0; c < COLUMNS; c++) {
            double down = M_PI * r / ROWS, around = 2 * M_PI * c / COLUMNS, ring = r % ROWS ? sin(down) : 0;
            float *to = positions + 3 * (r * COLUMNS + c);
            to[0] = (float)(ring * cos(around)), to[1] = (float)cos(down), to[2] = (float)(ring * sin(around));
        }
    for (uint32_t r = 0; r < ROWS; r++)
        for (uint32_t c = 0; c < COLUMNS; c++) {
            uint32_t a = r * COLUMNS + c, b = r * COLUMNS + (c + 1) % COLUMNS;
            const uint32_t corners[6] = {a, b, b + COLUMNS, a, b + COLUMNS, a + COLUMNS};
            for (int k = 0; k < 6; k++) triangles[count++] = corners[k];
        }
    rays *page = page_rays_new(positions, VERTICES, triangles, count / 3);
    assert_non_null(page);
    seed = 3;
    for (uint32_t k = 0; k < count; k++) {
        const float *a = positions + 3 * triangles[k], *b = positions + 3 * triangles[k - k % 3 + (k + 1) % 3];
        packet p = {0};
        hits h;
        for (int i = 0; i < LANES; i++) {
            float along = i < 4 ? 0 : random_float();
            for (int c = 0; c < 3; c++) {
                p.origin[c][i] = 0.5f * (random_float() - 0.5f);
                p.direction[c][i] = a[c] + along * (b[c] - a[c]) - p.origin[c][i];
            }
            p.length[i] = FLT_MAX, p.active[i] = 1;
        }
        page_first_hits(page, &p, &h);
        for (int i = 0; i < LANES; i++) {
            assert_true(h.triangle[i] != RAYS_MISS);
            assert_near(h.distance[i], 1, 1e-4);
        }
    }
    page_rays_free(page);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rays_hit_what_those_of_embree_hit),
        cmocka_unit_test(and_in_the_box_they_see_the_same),
        cmocka_unit_test(no_ray_leaves_a_closed_surface),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
