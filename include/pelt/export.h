/* export.h: writes skins, and clips deformed by them, as files that other programs read. Part of `libpelt-fit`.

       pelt_export_options options = {.clips = &walk, .clip_count = 1};
       pelt_export(&skin, body, &options, "plain.glb", NULL, &error);             // for any engine
       pelt_export_frames(&skin, body, walk, NULL, "walk.pc2", &error);           // positions, frame by frame

   Errors, options and lifetimes are as in fit.h. Files appear whole or not at all. */

#ifndef PELT_EXPORT_H
#define PELT_EXPORT_H

#include <pelt/fit.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- A character with a skin, as plain glTF ------------------------------------------------------------------------ */

/* Morph targets that every player supports. three.js and Babylon.js keep targets in texture layers, of which WebGL2
   guarantees 256, and their weights in a uniform array, of which it guarantees 256 in total: this leaves 64 for
   matrices, lights and materials. */
enum { PELT_EXPORT_TARGETS = 192 };

typedef struct pelt_export_options {
    /* [clip_count] clips of the bundle: driven joints and correctives are baked into these, frame by frame; the
       others stay as in the file. */
    const pelt_clip *const *clips;
    size_t clip_count;
    uint32_t targets;  /* maximum morph targets, 2 to 65535; 0: PELT_EXPORT_TARGETS. Without clips there is no limit */
    int plain_normals; /* 1: omit normal deltas: of correctives, and those for driven joints that scale */
    uint32_t threads;  /* 0: as many as the machine has */
    uint32_t influences; /* maximum nodes that a vertex may follow: vertices on more are refitted to the poses of all
                            clips; 0: any number. Many players, three.js among them, read four and deform the
                            others wrongly */
    /* A skin to embed in the file for players that support pelt, usually the same one; NULL: none. Only with a bundle
       read from a file. */
    const pelt_bytes *embed;
} pelt_export_options;

/* What the skin became in the file. */
typedef struct pelt_export_report {
    uint32_t driven_count; /* driven joints, which are nodes now */
    uint32_t pair_count;   /* nodes for pairs of joints, which replace negative weights */
    uint32_t target_count; /* morph targets: of the corrective, or of normals alone, where driven joints scale */
    uint32_t whole_count;  /* targets that the corrective is a sum of; 0: it is not a sum (wpsd) */
    uint32_t beyond_four;  /* vertices that follow more than four nodes, which some engines leave out */
    double shear;          /* largest element by which a node's matrix differs from what it should be: joints that are
                              scaled unevenly shear, and nodes cannot */
    int compressed;        /* 1: the targets are not the corrective's, but fitted to the clips. Then: */
    double worst, rms;     /* distance of their vertices from the skin's */
    double normal_rms_degrees; /* how far they turn normals; 0 without */
    int has_truth;             /* 1: some of the clips have true positions: */
    double true_rms[2];        /* RMS error of the skin, and of the targets, in those */
    uint32_t refitted_count;   /* vertices that followed more nodes than allowed; their weights were refitted. Then: */
    uint32_t refitted_frames;  /* poses that they were refitted to; 0: there is no clip, and it was the rest pose */
    double refitted_worst, refitted_rms; /* how far that moves these vertices in these poses */
} pelt_export_report;

/* Writes the bundle's own file with the skin in it, which any engine plays: a .glb, or a .gltf and a .bin.
   Materials, images, nodes, cameras, extras and clips stay as they are. Weights and rest positions come from the skin,
   driven joints become nodes, and correctives morph targets with weight tracks from 0 to 1; if these would be too many,
   or the corrective is not a sum, they are the best approximation over the frames of the clips. Where driven joints
   scale, targets turn the normals, to half a degree, because players move normals as if they were points.
   `options` and `report` may be NULL. True positions of clips are loaded if they exist, for the report. */
PELT_API pelt_result pelt_export(const pelt_skin *skin, pelt_bundle *bundle, const pelt_export_options *options,
                                 const char *path, pelt_export_report *report, pelt_error *error);

/* -- A clip, deformed --------------------------------------------------------------------------------------------- */

typedef struct pelt_export_frames_options {
    /* What deforms: from a pose (as pelt_player_pose gives it) to positions in slot order, pelt_output_size bytes.
       NULL: pelt_deform. */
    pelt_result (*deform)(void *user, const void *pose, float *slots, pelt_error *error);
    void *user;
    pelt_progress progress;
    uint32_t *flattened; /* becomes the number of vertices that joints with a scale of 0 flatten in the rest pose of the
                            file; in a .glb or .gltf these stay there. NULL: not wanted */
    /* A cache of the character whose layout to match: its point order, axes, scale, offset and frame numbers, so that
       the program it came from can read the result; if the character has several objects, the cache of one of them.
       Frames before and after the clip repeat its ends. NULL: in the order of the mesh. */
    const char *like;
    const pelt_clip *like_clip; /* the clip of `like`; NULL: the same clip, and then it has as many frames as `like` */
} pelt_export_frames_options;

/* Writes a clip deformed by the skin; the extension of the path chooses the format: a cache (.pc2, .mdd, .npy, a folder
   of .obj files); the bundle's own file as .glb or .gltf, where frames are morph targets shown in turn; .poses: the
   poses alone, for `pelt eval --live`. `options` may be NULL. */
PELT_API pelt_result pelt_export_frames(const pelt_skin *skin, const pelt_bundle *bundle, const pelt_clip *clip,
                                        const pelt_export_frames_options *options, const char *path, pelt_error *error);

/* -- A character with its examples --------------------------------------------------------------------------------- */

/* Writes a character and its examples as the files that pelt_bundle_read and pelt_bundle_clip read: a .glb (or .gltf and
   .bin), and next to it, for a path such as body.glb, body.CLIP.pc2 for each clip with true positions and body.CLIP.csv
   for each with controls. A character from arrays gets a new file; one from a file keeps everything in it, and clips
   that were added to it are added there. */
PELT_API pelt_result pelt_export_bundle(const pelt_bundle *bundle, const char *path, pelt_error *error);

#ifdef __cplusplus
}
#endif
#endif
