/* keys_faces.c: the frames on the page of `pelt keys measure`: the worst of the keys alone, the worst of the soft
   cache, the worst it trusted, and two ordinary ones. They are kept as the measurement runs. */

#include "cli/keys_faces.h"
#include <stdio.h>
#include <string.h>

enum { WORST_KEYS, WORST_FINAL, WORST_TRUSTED, ONE_THIRD, TWO_THIRDS };

static const char *const reasons[KEYS_FACES] = {"worst of the keys alone", "worst with the soft cache",
                                                "worst that was trusted", "at one third", "at two thirds"};

pelt_result keys_faces_open(keys_faces *f, pelt_arena *arena, const pelt_keys *keys, uint32_t frame_count,
                            pelt_error *error) {
    *f = (keys_faces){.keys = keys, .frame_count = frame_count};
    size_t count = (size_t)keys->point_count * keys->component_count;
    for (int i = 0; i < KEYS_FACES; i++) {
        f->faces[i].rank = -1;
        for (int k = 0; k < 3; k++) f->faces[i].values[k] = PELT_NEW(arena, count, float);
    }
    return pelt_arena_failed(arena) ? pelt_no_memory(error) : PELT_OK;
}

/* How well a frame suits a place in the picture; negative: not at all. */
static double rank_of(const keys_faces *f, int place, uint32_t frame, const pelt_keys_frame *k) {
    if (place == WORST_KEYS) return k->error;
    if (place == WORST_FINAL) return k->final;
    if (place == WORST_TRUSTED) return k->verdict == PELT_CACHE_HIT ? k->error : -1;
    return frame == (uint64_t)f->frame_count * (place == ONE_THIRD ? 1 : 2) / 3 ? 1 : -1;
}

void keys_faces_look(void *user, uint32_t frame, const pelt_keys_frame *k, const float *truth, const float *keys,
                     const float *final) {
    keys_faces *f = user;
    const float *values[3] = {truth, keys, final};
    size_t size = (size_t)f->keys->point_count * f->keys->component_count * sizeof(float);
    for (int i = 0; i < KEYS_FACES; i++) {
        double rank = rank_of(f, i, frame, k);
        if (!(rank > f->faces[i].rank)) continue;
        f->faces[i].rank = rank, f->faces[i].frame = frame;
        for (int n = 0; n < 3; n++) memcpy(f->faces[i].values[n], values[n], size);
    }
}

static const char *verdict_word(pelt_soft_cache_verdict verdict) {
    static const char *const words[PELT_CACHE_VERDICTS] = {"trusted", "trusted in part", "trusted in part",
                                                           "not trusted", "in doubt"};
    return words[verdict];
}

void keys_faces_show(keys_faces *f, const pelt_keys_measure *m, const char *clip, pelt_keys_page *page) {
    for (int i = 0; i < KEYS_FACES; i++) {
        const keys_face *face = &f->faces[i];
        size_t same = 0;
        if (face->rank < 0) continue;
        while (same < f->shown_count && f->shown[same].frame != face->frame) same++;
        char *why = f->why[same];
        size_t used = strlen(why), room = sizeof f->why[same] - used;
        if (same < f->shown_count) { /* a frame can be the worst in more than one way */
            snprintf(why + used, room, ", %s", reasons[i]);
            continue;
        }
        snprintf(why, room, "%s; %s", verdict_word(m->frames[face->frame].verdict), reasons[i]);
        f->shown[same] = (pelt_report_picture){clip, face->frame, why, face->values[0]};
        f->keys_alone[same] = face->values[1], f->soft_cache[same] = face->values[2];
        f->shown_count++;
    }
    page->picture_count = f->shown_count, page->pictures = f->shown;
    page->keys_alone = f->keys_alone, page->soft_cache = f->soft_cache;
}
