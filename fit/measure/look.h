/* look.h: the visible side of an error: how rough it is, and how it jumps from frame to frame. */

#ifndef PELT_LOOK_H
#define PELT_LOOK_H

#include "fit/examples/points.h"

/* The two surfaces compared with the truth. */
enum { PELT_LOOK_MODEL, PELT_LOOK_BLEND, PELT_LOOKS };

/* Constant over all frames. */
typedef struct pelt_look {
    uint32_t vertex_count;
    pelt_points points;  /* vertices with the same rest position, however they move */
    const double *share; /* [vertex] of its point: 1 / number of twins */
    pelt_neighbours neighbours;
    double mean_edge;
    bool has_blend;      /* every vertex has weights in the file */
    const bool *follows; /* [example] it is the frame after the previous example, in a motion */
} pelt_look;

/* One frame. */
typedef struct pelt_look_frame {
    float *errors[PELT_LOOKS]; /* [point][3] */
    float *rough;              /* [point] square of the Laplacian of the model's error */
    double rough_sum[PELT_LOOKS];
    double jump[PELT_LOOKS]; /* since the previous frame, largest over all points; 0 if it is not consecutive */
    uint32_t jump_vertex;
} pelt_look_frame;

/* Sums over all frames. */
typedef struct pelt_look_sums {
    double *rough; /* [point] */
    double rough_sum[PELT_LOOKS], jump[PELT_LOOKS];
    bool motion; /* frames are consecutive, so jumps are defined */
    uint32_t jump_frame, jump_vertex;
} pelt_look_sums;

/* Runs in a stage. */
void pelt_look_open(pelt_arena *arena, const pelt_bundle *bundle, pelt_examples examples, pelt_look *look);

/* Errors and roughness of a frame: the positions of skin and blend against the truth. */
void pelt_look_at(const pelt_look *look, const float *positions, const double *blended, const float *truth,
                  pelt_look_frame *frame);

/* The jump from the previous frame, if this one follows it. */
void pelt_look_jump(const pelt_look *look, size_t example, const pelt_look_frame *before, pelt_look_frame *frame);

/* Adds a frame; frames come in example order. */
void pelt_look_add(const pelt_look *look, size_t example, const pelt_look_frame *frame, pelt_look_sums *sums);

/* Sets roughness, jump and related figures. */
void pelt_look_finish(const pelt_look *look, const pelt_look_sums *sums, pelt_measure *measure);

#endif
