/* test_sort.c: quantiles against sorted lists. */

#include "rig/sort.h"
#include "test/test.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1000 };

static uint32_t seed = 1;
static double draw(void) { return (seed = seed * 1664525u + 1013904223u) / 4294967296.0; }

/* Values in an order that is hard on some way of choosing a pivot. */
static double value(int shape, size_t i) {
    switch (shape) {
    case 0:
        return draw();
    case 1:
        return (double)i;
    case 2:
        return (double)(COUNT - i);
    case 3:
        return 7;
    case 4:
        return (double)(i < COUNT / 2 ? i : COUNT - i); /* up and down again */
    case 5:
        return floor(4 * draw());
    default:
        return i % 2 ? -(double)i : (double)i;
    }
}

static void a_quantile_is_where_sorting_puts_it(void **state) {
    (void)state;
    static const double shares[] = {0, 0.05, 0.5, 0.95, 0.995, 1};
    for (int shape = 0; shape < 7; shape++)
        for (size_t count = 1; count <= COUNT; count = 3 * count + 1)
            for (size_t s = 0; s < sizeof shares / sizeof *shares; s++) {
                double list[COUNT], sorted[COUNT];
                float floats[COUNT];
                for (size_t i = 0; i < count; i++) list[i] = sorted[i] = floats[i] = (float)value(shape, i);
                qsort(sorted, count, sizeof *sorted, pelt_rising_doubles);
                double wanted = sorted[(size_t)(shares[s] * (double)(count - 1) + 0.5)];
                assert_true(pelt_quantile(list, count, shares[s]) == wanted);
                assert_true(pelt_quantile_floats(floats, count, shares[s]) == (float)wanted);
                qsort(list, count, sizeof *list, pelt_rising_doubles);
                assert_memory_equal(list, sorted, count * sizeof *list); /* none is lost */
            }
}

static void nothing_has_the_quantile_zero(void **state) {
    (void)state;
    assert_true(pelt_quantile(NULL, 0, 0.5) == 0);
    assert_true(pelt_quantile_floats(NULL, 0, 0.5) == 0);
}

static void values_that_are_no_numbers_end_too(void **state) {
    (void)state;
    for (size_t step = 1; step < 20; step++) {
        double list[COUNT];
        for (size_t i = 0; i < COUNT; i++) list[i] = i % step ? draw() : (double)NAN;
        pelt_quantile(list, COUNT, 0.5);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quantile_is_where_sorting_puts_it),
        cmocka_unit_test(nothing_has_the_quantile_zero),
        cmocka_unit_test(values_that_are_no_numbers_end_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
