/* test_blocks.c: the order of vertices in blocks. Its cost is the number of (block, joint) pairs. */

#include "test/character.h"
#include <time.h>

/* Sets of joints as bits, for skeletons of at most 64 joints. */
typedef struct crowd {
    pelt_arena *arena;
    uint32_t count;
    uint64_t *sets;
    pelt_influences influences;
    uint32_t *order;
} crowd;

static crowd crowd_new(uint32_t count, const uint64_t *sets) {
    crowd c = {.arena = pelt_arena_new(0), .count = count};
    c.sets = PELT_NEW(c.arena, count, uint64_t);
    c.order = PELT_NEW(c.arena, count, uint32_t);
    c.influences = (pelt_influences){PELT_NEW(c.arena, (size_t)count + 1, uint32_t),
                                     PELT_NEW(c.arena, (size_t)count * 64, uint32_t),
                                     PELT_NEW(c.arena, (size_t)count * 64, float)};
    memcpy(c.sets, sets, count * sizeof *sets);
    uint32_t at = 0;
    for (uint32_t v = 0; v < count; v++) {
        for (uint32_t i = 0; i < 64; i++) { /* in another order for every vertex, which must not matter */
            uint32_t j = v % 2 ? (i + 7 * v) % 64 : 63 - i;
            if (!(sets[v] >> j & 1)) continue;
            c.influences.joints[at] = j;
            c.influences.weights[at++] = 0.25f;
        }
        c.influences.first[v + 1] = at;
    }
    return c;
}

static void crowd_order(crowd *c) {
    pelt_block_order(c->arena, &c->influences, c->count, (pelt_block_columns){64, 64}, c->order);
    uint8_t *seen = PELT_NEW(c->arena, c->count, uint8_t);
    for (uint32_t s = 0; s < c->count; s++) {
        assert_true(c->order[s] < c->count);
        assert_false(seen[c->order[s]]++);
    }
}

static uint32_t bits(uint64_t set) { return (uint32_t)__builtin_popcountll(set); }

/* Entries of an order; NULL is the mesh's order. */
static uint32_t cost(const crowd *c, const uint32_t *order) {
    uint32_t total = 0;
    for (uint32_t s = 0; s < c->count; s += 16) {
        uint64_t joined = 0;
        for (uint32_t k = s; k < s + 16 && k < c->count; k++) joined |= c->sets[order ? order[k] : k];
        total += bits(joined);
    }
    return total;
}

static uint64_t random_set(uint64_t *seed, uint32_t joints, uint32_t most) {
    uint64_t set = 0;
    uint32_t size = 1 + (uint32_t)(test_random(seed) * most);
    while (size--) set |= 1ull << (uint32_t)(test_random(seed) * joints);
    return set;
}

static void the_order_is_a_permutation_for_any_number_of_vertices(void **state) {
    (void)state;
    uint64_t seed = 1, sets[100];
    for (uint32_t count = 1; count <= 100; count++) {
        for (uint32_t v = 0; v < count; v++) sets[v] = random_set(&seed, 1 + count % 30, 4);
        crowd c = crowd_new(count, sets);
        crowd_order(&c);
        pelt_arena_free(c.arena);
    }
}

static void sets_that_fill_whole_blocks_are_never_mixed(void **state) {
    (void)state;
    enum { KINDS = 9, EACH = 48 };
    uint64_t seed = 2, kinds[KINDS], sets[KINDS * EACH];
    uint32_t best = 0;
    for (uint32_t k = 0; k < KINDS; k++) kinds[k] = 1ull << k | 1ull << (k + 1) | 1ull << (2 * k + 20);
    for (uint32_t k = 0; k < KINDS; k++) best += EACH / 16 * bits(kinds[k]);
    for (uint32_t v = 0; v < KINDS * EACH; v++) sets[v] = kinds[v % KINDS];
    for (uint32_t v = KINDS * EACH - 1; v > 0; v--) { /* shuffled */
        uint32_t other = (uint32_t)(test_random(&seed) * (v + 1));
        uint64_t swap = sets[v];
        sets[v] = sets[other], sets[other] = swap;
    }
    crowd c = crowd_new(KINDS * EACH, sets);
    crowd_order(&c);
    for (uint32_t s = 0; s < c.count; s++) assert_true(c.sets[c.order[s]] == c.sets[c.order[s / 16 * 16]]);
    assert_int_equal(cost(&c, c.order), best);
    pelt_arena_free(c.arena);
}

static void joints_of_weight_zero_cost_nothing(void **state) {
    (void)state;
    uint64_t sets[32];
    for (int v = 0; v < 32; v++) sets[v] = v % 2 ? 3 : 5;
    crowd c = crowd_new(32, sets);
    for (uint32_t i = 0; i < c.influences.first[32]; i++)
        if (c.influences.joints[i] > 0 && i < 32) c.influences.weights[i] = 0;
    for (uint32_t v = 0; v < 16; v++) c.sets[v] = 1;
    crowd_order(&c);
    assert_int_equal(cost(&c, c.order), 1 + 3);
    pelt_arena_free(c.arena);
}

static void the_order_never_costs_more_than_that_of_the_mesh(void **state) {
    (void)state;
    static uint64_t sets[3000];
    uint64_t seed = 3;
    for (int trial = 0; trial < 300; trial++) {
        uint32_t count = 17 + (uint32_t)(test_random(&seed) * (trial % 10 ? 300 : 2900));
        uint32_t joints = 2 + (uint32_t)(test_random(&seed) * 60), most = 1 + (uint32_t)(test_random(&seed) * 8);
        uint64_t set = random_set(&seed, joints, most);
        for (uint32_t v = 0; v < count; v++) {
            /* Odd trials are like meshes: neighbours usually have the set of the vertex before. */
            if (trial % 2 == 0 || test_random(&seed) < 0.1) set = random_set(&seed, joints, most);
            sets[v] = set;
        }
        crowd c = crowd_new(count, sets);
        crowd_order(&c);
        assert_true(cost(&c, c.order) <= cost(&c, NULL));
        pelt_arena_free(c.arena);
    }
}

/* The cheapest way to choose the 16 vertices of the first of two blocks, by exhaustive search. */
static uint32_t cheapest_pair_of_blocks(const crowd *c) {
    uint32_t best = UINT32_MAX;
    for (uint32_t chosen = 0xffff; chosen < 1u << c->count;) {
        uint64_t first = 0, second = 0;
        for (uint32_t v = 0; v < c->count; v++) *(chosen >> v & 1 ? &first : &second) |= c->sets[v];
        uint32_t total = bits(first) + bits(second);
        if (total < best) best = total;
        uint32_t low = chosen & -chosen, carry = chosen + low; /* the next number with as many bits */
        chosen = carry | ((chosen ^ carry) >> 2) / low;
    }
    return best;
}

static void small_crowds_cost_at_most_three_halves_of_the_optimum(void **state) {
    (void)state;
    uint64_t seed = 4, sets[21];
    double worst = 0, sum = 0;
    for (int trial = 0; trial < 60; trial++) {
        uint32_t joints = 3 + (uint32_t)(test_random(&seed) * 12), kinds = 2 + (uint32_t)(test_random(&seed) * 10);
        uint64_t kind[12];
        for (uint32_t k = 0; k < kinds; k++) kind[k] = random_set(&seed, joints, 4);
        for (int v = 0; v < 21; v++) sets[v] = kind[(uint32_t)(test_random(&seed) * kinds)];
        crowd c = crowd_new(21, sets);
        crowd_order(&c);
        double ratio = (double)cost(&c, c.order) / cheapest_pair_of_blocks(&c);
        worst = fmax(worst, ratio), sum += ratio;
        pelt_arena_free(c.arena);
    }
    print_message("cost over optimum: %.3f on average, %.3f at worst\n", sum / 60, worst);
    assert_true(sum / 60 <= 1.07 && worst <= 1.5);
}

/* Vertices of a family follow any 4 of its 6 joints, one of which is shared with the next family: hardly two are alike,
   but 6 joints per block are enough. */
static void families_of_different_sets_are_found(void **state) {
    (void)state;
    enum { FAMILIES = 12, EACH = 64, COUNT = FAMILIES * EACH };
    uint64_t seed = 6, sets[COUNT];
    for (uint32_t v = 0; v < COUNT; v++) {
        for (sets[v] = 0; bits(sets[v]) < 4;)
            sets[v] |= 1ull << (5 * (v % FAMILIES) + (uint32_t)(test_random(&seed) * 6)) % 60;
    }
    crowd c = crowd_new(COUNT, sets);
    crowd_order(&c);
    print_message("%.2f joints to a block\n", cost(&c, c.order) / (COUNT / 16.0));
    assert_true(cost(&c, c.order) <= 5.6 * COUNT / 16);
    pelt_arena_free(c.arena);
}

/* A joint costs as much as PELT_JOINT_COST coefficients: vertices that can share either share the joints. */
static void dear_columns_are_shared_first(void **state) {
    (void)state;
    enum { COUNT = 32 };
    uint64_t sets[COUNT];
    for (uint32_t v = 0; v < COUNT; v++) sets[v] = 1ull << v % 2 | 1ull << (32 + v / 2 % 2);
    crowd c = crowd_new(COUNT, sets);
    pelt_block_order(c.arena, &c.influences, COUNT, (pelt_block_columns){32, 64}, c.order);
    for (uint32_t s = 0; s < COUNT; s++) assert_int_equal(c.order[s] % 2, c.order[s / 16 * 16] % 2);
    pelt_block_order(c.arena, &c.influences, COUNT, (pelt_block_columns){0, 64}, c.order);
    assert_int_equal(cost(&c, c.order), 6);
    pelt_arena_free(c.arena);
}

/* Sets of hundreds of columns are compared by some of them: vertices of a family have most of 500 columns, half of which are
   the next family's too. */
static void families_of_large_sets_are_found(void **state) {
    (void)state;
    enum { JOINTS = 4, FAMILIES = 8, EACH = 40, COUNT = FAMILIES * EACH, SHIFT = 250, COLUMNS = FAMILIES * SHIFT };
    uint64_t seed = 7, cost_of[2] = {0};
    pelt_arena *arena = pelt_arena_new(0);
    pelt_influences in = {PELT_NEW(arena, COUNT + 1, uint32_t), PELT_NEW(arena, COUNT * COLUMNS, uint32_t),
                          PELT_NEW(arena, COUNT * COLUMNS, float)};
    uint32_t *order = PELT_NEW(arena, COUNT, uint32_t), *last = PELT_NEW(arena, JOINTS + COLUMNS, uint32_t), at = 0;
    for (uint32_t v = 0; v < COUNT; in.first[++v] = at) {
        in.joints[at++] = v % FAMILIES % JOINTS;
        for (uint32_t k = 0; k < 2 * SHIFT; k++)
            if (test_random(&seed) < 0.9) in.joints[at++] = JOINTS + (v % FAMILIES * SHIFT + k) % COLUMNS;
    }
    for (uint32_t i = 0; i < at; i++) in.weights[i] = 1;
    pelt_block_order(arena, &in, COUNT, (pelt_block_columns){JOINTS, JOINTS + COLUMNS}, order);
    for (uint32_t which = 0; which < 2; which++) /* family by family, and as found */
        for (uint32_t s = 0; s < COUNT; s++) {
            uint32_t v = which ? order[s] : s % EACH * FAMILIES + s / EACH, mark = which * COUNT + s / 16 + 1;
            for (uint32_t i = in.first[v]; i < in.first[v + 1]; i++)
                if (last[in.joints[i]] != mark)
                    last[in.joints[i]] = mark, cost_of[which] += in.joints[i] < JOINTS ? PELT_JOINT_COST : 1;
        }
    print_message("cost over that of whole families: %.3f\n", (double)cost_of[1] / (double)cost_of[0]);
    assert_true((double)cost_of[1] <= 1.02 * (double)cost_of[0]);
    pelt_arena_free(arena);
}

static void many_vertices_that_are_all_different_are_ordered_quickly(void **state) {
    (void)state;
    enum { COUNT = 50000 };
    uint64_t seed = 5, *sets = calloc(COUNT, sizeof *sets);
    for (int v = 0; v < COUNT; v++) {
        for (int k = 0; k < 4; k++) sets[v] |= 1ull << (uint32_t)(test_random(&seed) * 64);
    }
    crowd c = crowd_new(COUNT, sets);
    clock_t begin = clock();
    crowd_order(&c);
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    print_message("%d vertices with 4 random joints of 64: %.2f s, %.2f of the cost of the mesh's order\n", COUNT,
                  seconds, (double)cost(&c, c.order) / cost(&c, NULL));
    assert_true(seconds < 20); /* linear is well below a second; quadratic would be minutes */
    free(sets);
    pelt_arena_free(c.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_is_a_permutation_for_any_number_of_vertices),
        cmocka_unit_test(sets_that_fill_whole_blocks_are_never_mixed),
        cmocka_unit_test(joints_of_weight_zero_cost_nothing),
        cmocka_unit_test(the_order_never_costs_more_than_that_of_the_mesh),
        cmocka_unit_test(small_crowds_cost_at_most_three_halves_of_the_optimum),
        cmocka_unit_test(families_of_different_sets_are_found),
        cmocka_unit_test(dear_columns_are_shared_first),
        cmocka_unit_test(families_of_large_sets_are_found),
        cmocka_unit_test(many_vertices_that_are_all_different_are_ordered_quickly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
