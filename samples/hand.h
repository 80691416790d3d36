/* hand.h: what hand.c and hand_shape.c share. */

#ifndef PELT_SAMPLES_HAND_H
#define PELT_SAMPLES_HAND_H

#include "rig/rig.h"

enum { HAND_THUMB = 4, HAND_FINGERS };

/* The ends of a finger's three bones at rest, in metres. */
void hand_finger_points(int finger, double points[4][3]);

/* Where the metacarpal of a finger begins; it ends where the finger begins. */
void hand_wrist_point(int finger, double point[3]);

/* The skin of the hand, with at most mesh->vertex_count vertices, and nearly as many. */
void hand_mesh(pelt_arena *arena, pelt_mesh *mesh);

#endif
