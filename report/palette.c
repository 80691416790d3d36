/* palette.c: the colours of an image reduced to at most 256, for pages that must stay small.

   Clay and heat have few hues, so that 256 well-chosen colours look like all of them; a byte a pixel instead of four
   then leaves a quarter of the file. Median cut by variance: the colours are one box at first; the box with the largest
   squared error is split at the mean of its most spread channel, until there are enough boxes; each colour becomes the
   mean of its box. The result depends on the pixels alone. */

#include "report/palette.h"
#include <stdlib.h>
#include <string.h>

typedef struct colour {
    uint8_t channels[4];
    uint32_t pixels;
    uint32_t box;
} colour;

typedef struct box {
    uint32_t first, count; /* of the colours */
    int channel;           /* the most spread one */
    double mean[4], error; /* of that channel: the sum of squares about the mean */
} box;

typedef struct colours {
    colour *list;
    uint32_t *table; /* [mask + 1] index into the list plus 1; 0: free */
    uint32_t count, mask;
} colours;

/* Invisible pixels have no colour. */
static void read_pixel(const uint8_t *rgba, uint8_t out[4]) {
    memcpy(out, rgba, 4);
    if (!out[3]) memset(out, 0, 4);
}

/* The place of a colour in the table: its own, or a free one. */
static uint32_t *find(const colours *all, const uint8_t channels[4]) {
    uint32_t key;
    memcpy(&key, channels, 4);
    uint32_t at = key * 2654435761u >> 7 & all->mask;
    while (all->table[at] && memcmp(all->list[all->table[at] - 1].channels, channels, 4)) at = (at + 1) & all->mask;
    return &all->table[at];
}

static void count_colours(colours *all, const pelt_image *image, size_t pixels) {
    for (size_t i = 0; i < pixels; i++) {
        uint8_t channels[4];
        read_pixel(image->rgba + 4 * i, channels);
        uint32_t *place = find(all, channels);
        if (!*place) {
            memcpy(all->list[all->count].channels, channels, 4);
            *place = ++all->count;
        }
        all->list[*place - 1].pixels++;
    }
}

static box look_at(const colour *list, uint32_t first, uint32_t count) {
    box b = {.first = first, .count = count};
    double pixels = 0, sums[4] = {0}, squares[4] = {0};
    for (uint32_t i = first; i < first + count; i++) {
        pixels += list[i].pixels;
        for (int c = 0; c < 4; c++) {
            double value = list[i].channels[c];
            sums[c] += list[i].pixels * value, squares[c] += list[i].pixels * value * value;
        }
    }
    for (int c = 0; c < 4; c++) {
        b.mean[c] = sums[c] / pixels;
        double error = squares[c] - sums[c] * b.mean[c];
        if (error > b.error) b.error = error, b.channel = c;
    }
    return b;
}

/* Colours up to the mean to the front; returns how many. */
static uint32_t split(colour *list, const box *b) {
    uint32_t front = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        colour one = list[b->first + i];
        if (one.channels[b->channel] > b->mean[b->channel]) continue;
        list[b->first + i] = list[b->first + front];
        list[b->first + front++] = one;
    }
    return front;
}

static uint32_t cut(colour *list, uint32_t count, box boxes[PELT_PALETTE_COLOURS]) {
    uint32_t found = 1;
    boxes[0] = look_at(list, 0, count);
    while (found < PELT_PALETTE_COLOURS) {
        uint32_t worst = 0;
        for (uint32_t k = 1; k < found; k++)
            if (boxes[k].error > boxes[worst].error) worst = k;
        box whole = boxes[worst];
        uint32_t front = whole.error > 0.5 ? split(list, &whole) : 0;
        if (!front || front == whole.count) break; /* every box is one colour */
        boxes[worst] = look_at(list, whole.first, front);
        boxes[found++] = look_at(list, whole.first + front, whole.count - front);
    }
    return found;
}

/* Those that can be seen through first, because a file lists the opacity of no others; then from dark to light, so that
   neighbours in the picture have neighbouring numbers. */
static double rank(const box *b) {
    return (b->mean[3] < 254.5 ? b->mean[3] : 1000) * 1000 + 2 * b->mean[0] + 5 * b->mean[1] + b->mean[2];
}

static int by_rank(const void *a, const void *b) {
    double x = rank(a), y = rank(b);
    return x < y ? -1 : x > y;
}

static void fill_palette(const box *boxes, uint32_t count, colour *list, pelt_palette *palette) {
    palette->count = count;
    for (uint32_t k = 0; k < count; k++) {
        for (int c = 0; c < 4; c++) palette->rgba[k][c] = (uint8_t)(boxes[k].mean[c] + 0.5);
        for (uint32_t i = 0; i < boxes[k].count; i++) list[boxes[k].first + i].box = k;
    }
}

/* Splitting has moved the colours: the table must be filled again. */
static void find_again(colours *all) {
    memset(all->table, 0, ((size_t)all->mask + 1) * sizeof *all->table);
    for (uint32_t i = 0; i < all->count; i++) *find(all, all->list[i].channels) = i + 1;
}

bool pelt_image_palette(const pelt_image *image, pelt_palette *palette, uint8_t *indices) {
    size_t pixels = (size_t)image->width * image->height, room = 64;
    box boxes[PELT_PALETTE_COLOURS];
    while (room < 2 * pixels) room *= 2;
    colours all = {calloc(pixels + 1, sizeof *all.list), calloc(room, sizeof *all.table), 0, (uint32_t)(room - 1)};
    bool ready = all.list && all.table && pixels;
    if (ready) {
        count_colours(&all, image, pixels);
        uint32_t count = cut(all.list, all.count, boxes);
        qsort(boxes, count, sizeof *boxes, by_rank);
        fill_palette(boxes, count, all.list, palette);
        find_again(&all);
    }
    for (size_t i = 0; ready && i < pixels; i++) {
        uint8_t channels[4];
        read_pixel(image->rgba + 4 * i, channels);
        indices[i] = (uint8_t)all.list[*find(&all, channels) - 1].box;
    }
    free(all.list), free(all.table);
    return ready;
}
