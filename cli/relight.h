/* relight.h: what the parts of `pelt relight` share.

       relight_stage.c    the scene, its points, the lights of a grid
       relight_train.c    training frames, kept in a folder as they come; then key points
       relight_run.c      a picture from the key points
       relight_measure.c  how wrong and how fast that is, and the figure
       cmd_relight.c      the command */

#ifndef PELT_CLI_RELIGHT_H
#define PELT_CLI_RELIGHT_H

#include "cli/cli.h"
#include "light/light.h"

/* A grid of lights in a plane of the scene: `columns` x `rows` places between two corners. */
typedef struct light_grid {
    uint32_t columns, rows;
    float low[3], high[3];
} light_grid;

/* A scene, what its camera sees, and the light that moves. */
typedef struct stage {
    const char *name;
    pelt_scene *scene;
    pelt_tracer *tracer;
    uint32_t width, height;
    uint32_t bounces;
    size_t point_count;       /* pixels that see something */
    pelt_light_point *points; /* [point_count] their ids are their pixels */
    pelt_light light;         /* white, of intensity 1; only its place changes in training */
    pelt_arena *arena;
} stage;

/* Opens "cornell" or a glTF file. False after a message. */
bool stage_open(stage *s, const char *name, uint32_t width, uint32_t height, uint32_t bounces);
void stage_close(stage *s);

/* "12x12" or "12x12@x,y,z:x,y,z". False after a message. */
bool grid_parse(const stage *s, const char *text, light_grid *grid);
/* The i-th light of a grid. */
pelt_light grid_light(const stage *s, const light_grid *grid, uint32_t index);
/* A light in the grid's plane, at fractions of its sides. */
pelt_light grid_light_at(const stage *s, const light_grid *grid, double u, double v);

/* Values at points as a picture of all pixels, [height][width][3]; the others are 0. */
void stage_spread(const stage *s, const float *values, float *picture);

/* --size WxH. False after a message. */
bool relight_size(const cli_args *args, uint32_t size[2]);

int relight_train(const cli_args *args);
int relight_run(const cli_args *args);
int relight_measure(const cli_args *args);

#endif
