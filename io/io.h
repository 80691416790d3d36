/* io.h: files in and out. The only room that opens files.

   Readers check everything and fail with a message; they never crash, hang, or allocate more than 64 times the size of
   the file plus 16 MiB. Writers write to a temporary file and rename it, so a file appears whole or not at all. */

#ifndef PELT_IO_H
#define PELT_IO_H

#include "rig/rig.h"
#include <pelt/keys_fit.h>
#include <signal.h>

/* -- Files (file.c, beside.c, temporary.c) ---------------------------------------------------------------------------------- */

/* The memory limit: a reading arena starts at PELT_READ_LIMIT, and every file read into it raises the limit by
   PELT_READ_FACTOR times its size, which includes the file's own bytes. */
#define PELT_READ_LIMIT ((size_t)16 << 20)
#define PELT_READ_FACTOR 64

typedef struct pelt_file {
    const uint8_t *bytes; /* aligned to 64, in the arena; followed by a zero byte */
    size_t size;
} pelt_file;

/* Whether a path ends like this, ignoring case. */
bool pelt_is_gltf(const char *path); /* .glb or .gltf */
bool pelt_ends_with(const char *path, const char *ending);

/* What to say of a character or motion in a format that pelt does not read, by its name; NULL: any other file. */
const char *pelt_foreign_format(const char *path);

bool pelt_file_exists(const char *path);

/* Whether two paths name the same file or folder, links resolved. */
bool pelt_same_file(const char *a, const char *b);

/* Whether a file starts with this text of at most 16 bytes. */
bool pelt_file_begins(const char *path, const char *bytes);

/* The clip of a bundle whose true positions or controls a file holds, or would be taken for once it exists, links
   resolved; NULL: none (beside.c). */
const pelt_clip *pelt_bundle_claims(const pelt_bundle *bundle, const char *path);

/* Refuses ways to change a cache that make no sense, as pelt_bundle_clip does (bundle.c). */
pelt_result pelt_check_cache_options(const pelt_cache_options *options, pelt_error *error);

/* Whether a clip seems to have true positions, without reading them (bundle.c). */
bool pelt_bundle_has_positions(const pelt_bundle *bundle, const pelt_clip *clip);

/* Removes a file if it exists. */
pelt_result pelt_file_remove(const char *path, pelt_error *error);

/* Makes a folder unless it exists. */
pelt_result pelt_folder_make(const char *path, pelt_error *error);

/* Reads a whole regular file. */
pelt_result pelt_file_read(pelt_arena *arena, const char *path, pelt_file *file, pelt_error *error);
/* The same, but a file that is large for the memory there is (rig/spill.h) stays where it is and is read as it is used. It
   must not change meanwhile. */
pelt_result pelt_file_view(pelt_arena *arena, const char *path, pelt_file *file, pelt_error *error);

/* Reads bytes from the offset on, all of them, from a regular file that is open. */
pelt_result pelt_read_all(int descriptor, uint64_t offset, void *bytes, size_t size, const char *path,
                          pelt_error *error);

/* The error of readers when an arena fails: the file needs more memory than is available, or allowed for its size. */
pelt_result pelt_file_no_memory(const char *path, pelt_error *error);

/* Writing: open, put any number of times, then commit (the file appears) or drop (it never does). After a failure,
   further calls do nothing and commit reports the first error. */
typedef struct pelt_writer pelt_writer;
pelt_writer *pelt_writer_open(const char *path, pelt_error *error);
void pelt_writer_put(pelt_writer *writer, const void *bytes, size_t size);
pelt_result pelt_writer_commit(pelt_writer *writer, pelt_error *error);
/* Floats, little-endian on any machine. */
void pelt_put_floats_little(pelt_writer *writer, const float *values, size_t count);
/* The same to standard output, where there is nothing to drop. */
pelt_writer *pelt_writer_standard(pelt_error *error);
/* Flushes buffered bytes. PELT_OK, or the first error. */
pelt_result pelt_writer_flush(pelt_writer *writer, pelt_error *error);
/* Overwrites the first bytes, which have already been put; not for pipes. */
void pelt_writer_put_first(pelt_writer *writer, const void *bytes, size_t size);
void pelt_writer_drop(pelt_writer *writer);
/* Commits two files that belong together, where the second refers to the first: at any moment the second exists along
   with the first it refers to, or not at all. */
pelt_result pelt_writer_commit_pair(pelt_writer *first, pelt_writer *second, pelt_error *error);

/* Removes the unfinished files of all open writers; safe to call in a signal handler. */
void pelt_writer_abandon_all(void);

/* -- glTF (gltf.h, gltf_out.h) ------------------------------------------------------------------------------------ */

/* Parses glTF held in memory: a .glb, or the JSON of a .gltf. Side files (.bin) are looked for in the folder of `path`;
   with path NULL there are none (fuzzing). */
pelt_result pelt_gltf_parse(pelt_bundle *bundle, const pelt_file *file, const char *path, pelt_error *error);

/* The content of a glTF file. Without a source, a new file is made from it: mesh, skeleton, influences (at most 4 per
   set, as many sets as needed) and clips.

   With a source, the glTF file that the mesh was read from, that file is rewritten and keeps everything that the
   content does not change: meshes and their primitives, names, materials, images, nodes, cameras, lights, extras,
   extensions. Positions, normals and weights are replaced where they differ from the file's. Joints of the skeleton are
   matched to nodes of the file by name; the others become new nodes, and only their channels are taken from the clips.
   Targets are added to the file's. Clips add to the animations of the same name. */
typedef struct pelt_gltf_content {
    const pelt_mesh *mesh;
    const pelt_skeleton *skeleton; /* NULL: a plain mesh without skin; with a source: skins and weights stay */
    const pelt_clip *const *clips; /* written with their channels */
    uint32_t clip_count;
    const float *const *clip_weights;  /* [clip_count], each [frame_count][target_count]: target weights at the clip's
                                          times; NULL: none */
    const pelt_target *target_normals; /* [target_count] normal deltas of the targets; NULL: none */
    const pelt_clip *play_targets;     /* an animation that shows target i at time i of this clip; NULL: none */
    const char *name;                  /* of a new mesh */
    float color[4];                    /* base colour of a new mesh; all zero: a plain skin tone */
    const char *source;                /* the file to change; NULL: make a new one */
    const pelt_bytes *embed;           /* a skin to embed in the file (docs/format.md); NULL: none */
    bool only_clips;                   /* the file's own animations go: the clips are all that is left */
    uint32_t embed_joints; /* the first so many joints of the skeleton are the skin's, the others are new nodes;
                                          0: all are */
} pelt_gltf_content;

/* Writes a .glb, or a .gltf and a .bin. */
pelt_result pelt_gltf_write(const char *path, const pelt_gltf_content *content, pelt_error *error);

/* The same with a source held in memory; `source` is its path, NULL: no folder (fuzzing). */
pelt_result pelt_gltf_rewrite(const char *path, const pelt_gltf_content *content, const pelt_file *file,
                              const char *source, pelt_error *error);

/* The skin embedded in a glTF file; NULL after an error, including when there is none. */
pelt_bytes *pelt_embedded_skin(const pelt_file *file, const char *path, pelt_error *error);

/* -- Point caches (pc2.c, mdd.c, npy.c, obj.c; cache.c chooses by name) ------------------------------------------- */

typedef struct pelt_cache {
    uint32_t frame_count, point_count;
    const float *positions; /* [frame_count][point_count][3], in the arena */
    const char *format;     /* "pc2", ... */
    const float *normals;   /* the same, unit length, zero where not given; NULL: the cache has none */
} pelt_cache;

/* Reads .pc2, .mdd, .npy, .obj (one frame), or a folder of .obj files (sorted by the number in their names). */
pelt_result pelt_cache_read(pelt_arena *arena, const char *path, pelt_cache *cache, pelt_error *error);

/* Parsers of bytes in memory; `path` is only for messages. */
pelt_result pelt_pc2_parse(pelt_arena *arena, const pelt_file *file, const char *path, pelt_cache *, pelt_error *);
pelt_result pelt_mdd_parse(pelt_arena *arena, const pelt_file *file, const char *path, pelt_cache *, pelt_error *);
pelt_result pelt_npy_parse(pelt_arena *arena, const pelt_file *file, const char *path, pelt_cache *, pelt_error *);
/* One .obj: its vertex positions, their normals (NULL if the file has none; zero where a point has none), and the
   triangles of its faces. Outputs may be NULL. */
pelt_result pelt_obj_parse(pelt_arena *arena, const pelt_file *file, const char *path, uint32_t *point_count,
                           float **positions, float **normals, uint32_t *triangle_count, uint32_t **triangles,
                           pelt_error *error);

/* Writes a cache frame by frame; the extension of the path chooses the format (.pc2 .mdd .npy, or a folder of .obj). A
   name means a folder if it ends with /, has no dot in it, or the folder exists; a folder is only replaced if it holds
   nothing but frame_000000.obj, ... `mesh` provides the faces for .obj. Commit fails unless frame_count frames were
   written; 0: any number, which only .npy allows. */
typedef struct pelt_cache_writer pelt_cache_writer;
pelt_cache_writer *pelt_cache_writer_open(const char *path, uint32_t frame_count, const pelt_mesh *mesh,
                                          double frames_per_second, pelt_error *error);
void pelt_cache_writer_frame(pelt_cache_writer *writer, const float *positions);
pelt_result pelt_cache_writer_commit(pelt_cache_writer *writer, pelt_error *error);
void pelt_cache_writer_drop(pelt_cache_writer *writer);

/* Writes an array of up to three dimensions as .npy, in single precision; a size of 0 ends the list of sizes. */
pelt_result pelt_npy_write(const char *path, const uint32_t sizes[3], const float *values, pelt_error *error);

/* -- Frames of a calculation (frames.c) ---------------------------------------------------------------------------- */

/* Frames read in batches: .npy in little-endian single precision [frames, points, values] and .pc2 are read from the
   file as needed, so that files of any size need no memory; other caches are loaded whole. Fills in *frames, whose
   `name` is the path. */
typedef struct pelt_frame_file pelt_frame_file;
pelt_frame_file *pelt_frame_file_open(const char *path, pelt_frames *frames, pelt_error *error);
void pelt_frame_file_close(pelt_frame_file *file);

/* -- Poses that come line by line (pose_stream.c) -------------------------------------------------------------------- */

typedef struct pelt_pose_stream pelt_pose_stream;

typedef enum pelt_stream_event {
    PELT_STREAM_POSE,   /* a pose arrived */
    PELT_STREAM_BAD,    /* a line was not a pose, as the error says; the next may be */
    PELT_STREAM_END,    /* of the stream, or *stop was set */
    PELT_STREAM_FAILED, /* with an error, for good */
} pelt_stream_event;

/* "-" is standard input. Once *stop is not 0, all waiting ends within a tenth of a second. */
pelt_pose_stream *pelt_pose_stream_open(const char *path, const pelt_bundle *bundle, const volatile sig_atomic_t *stop,
                                        pelt_error *error);
void pelt_pose_stream_close(pelt_pose_stream *stream); /* NULL is fine */
/* Ends the wait of another thread that opens a named pipe, which nobody writes to. */
void pelt_pose_stream_wake(const char *path);
/* Whether the stream is a regular file, complete from the start. */
bool pelt_pose_stream_is_recorded(const pelt_pose_stream *stream);
/* The next pose: locals [joint_count], controls [control count], and when the end of its line arrived, in seconds of
   the monotonic clock. */
pelt_stream_event pelt_pose_stream_next(pelt_pose_stream *stream, pelt_transform *locals, float *controls,
                                        double *arrived, pelt_error *error);

/* Writes the poses of a clip in this format. */
pelt_result pelt_poses_write(const char *path, const pelt_bundle *bundle, const pelt_clip *clip, pelt_error *error);

/* -- Tables of controls (table.c, controls.c) ---------------------------------------------------------------------- */

/* A CSV file: a line of names, then a line of numbers per frame. */
typedef struct pelt_table {
    uint32_t row_count, column_count;
    const char **names;
    float *values;     /* [row_count][column_count] */
    size_t empty_line; /* the first line with an empty cell, which counts as 0; 0: none */
} pelt_table;
pelt_result pelt_table_read(pelt_arena *arena, const char *path, pelt_table *table, pelt_error *error);
pelt_result pelt_table_parse(pelt_arena *arena, const pelt_file *file, const char *path, pelt_table *table,
                             pelt_error *error);
/* Gives a clip the controls of a table: a column per control, a row per frame. */
pelt_result pelt_controls_read(pelt_bundle *bundle, pelt_clip *clip, const char *path, pelt_error *error);
pelt_result pelt_controls_from_table(pelt_bundle *bundle, pelt_clip *clip, const pelt_table *table, const char *path,
                                     pelt_error *error);
pelt_result pelt_table_write(const char *path, const pelt_table *table, pelt_error *error);

/* -- Rules for driven joints (drive_rules.c) ----------------------------------------------------------------------- */

/* Parses a JSON text; `path` is only for messages. The arena owns the rules. The fit checks whether the numbers make
   sense. */
pelt_result pelt_drive_rules_parse(pelt_arena *arena, const char *text, const char *path, pelt_drive_rules *rules,
                                   pelt_error *error);

/* -- Limits of joints (limits.c) ----------------------------------------------------------------------------------- */

/* Parses a JSON text; `path` is only for messages. The arena owns the list. Whether names and numbers make sense is
   checked by who takes them. */
struct pelt_joint_limit;
pelt_result pelt_limits_parse(pelt_arena *arena, const char *text, const char *path,
                              const struct pelt_joint_limit **limits, size_t *count, pelt_error *error);

/* -- Sculpts (sculpts.c) --------------------------------------------------------------------------------------------- */

/* Reads shapes and their poses, and adds them to the bundle as a clip named after the file. */
const pelt_clip *pelt_sculpts_read(pelt_bundle *bundle, const char *path, pelt_error *error);
/* The same for a text in memory; files it names are looked for in the folder of `path`. */
const pelt_clip *pelt_sculpts_parse(pelt_bundle *bundle, const char *text, const char *path, pelt_error *error);

/* -- The log of missed frames (misslog.c) -------------------------------------------------------------------------- */

/* A frame that the soft cache missed: its controls, and the true values of all points. */
typedef struct pelt_miss {
    uint32_t control_count, point_count, component_count;
    float e;
    const float *controls, *values;
} pelt_miss;

typedef struct pelt_misses {
    size_t count;
    const pelt_miss *list;
    size_t damaged; /* bytes outside whole records: an interrupted write, or a damaged disk */
} pelt_misses;

/* Appends to a log. Records are whole or ignored; several programs may append to one file, and logs from several
   machines are merged by reading them in turn, or by `cat`. */
typedef struct pelt_misslog pelt_misslog;
pelt_misslog *pelt_misslog_open(const char *path, pelt_error *error);
pelt_result pelt_misslog_put(pelt_misslog *log, const pelt_miss *miss, pelt_error *error);
pelt_result pelt_misslog_close(pelt_misslog *log, pelt_error *error);

/* All whole records of a log, in order, without duplicates. */
pelt_result pelt_misslog_read(pelt_arena *arena, const char *path, pelt_misses *misses, pelt_error *error);
pelt_result pelt_misslog_parse(pelt_arena *arena, const pelt_file *file, const char *path, pelt_misses *misses,
                               pelt_error *error);

#endif
