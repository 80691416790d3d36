/* test_mistakes.c: mistakes that must not go unnoticed, through the program: outputs that are inputs, caches with the
   wrong timing, skins that are worse than none, misplaced arguments. Each is refused or warned about in a message that
   names it; and correct input causes no message. */

#define _GNU_SOURCE /* terminals */
#include "test/program.h"
#include <fcntl.h>
#include <sys/stat.h>

#include "io/io.h"

/* -- Files ----------------------------------------------------------------------------------------------------------- */

static char *read_bytes(const char *name, size_t *size) {
    FILE *file = fopen(file_path(name), "rb");
    if (!file) fail_msg("%s is not there", name);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*size + 1);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    bytes[*size] = 0;
    fclose(file);
    return bytes;
}

static void write_bytes(const char *name, const void *bytes, size_t size) {
    FILE *file = fopen(file_path(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* arm.glb with its clips renamed, and their caches next to it. */
static void rename_clips(const char *stem, const char *train, const char *test) {
    pelt_error error;
    char path[400];
    pelt_bundle *bundle = pelt_bundle_read(file_path("arm.glb"), &error);
    assert_non_null(bundle);
    for (uint32_t c = 0; c < bundle->clip_count; c++) {
        pelt_clip *clip = (pelt_clip *)bundle->clips[c];
        clip->name = strcmp(clip->name, "train") ? test : train;
    }
    snprintf(path, sizeof path, "%s/%s.glb", test_folder(), stem);
    pelt_gltf_content content = {
        .mesh = &bundle->mesh, .skeleton = &bundle->skeleton, .clips = bundle->clips, .clip_count = bundle->clip_count};
    if (pelt_gltf_write(path, &content, &error)) fail_msg("%s", error.text);
    for (int i = 0; i < 2; i++) {
        size_t size;
        char *bytes = read_bytes(i ? "arm.test.pc2" : "arm.train.pc2", &size);
        snprintf(path, sizeof path, "%s.%s.pc2", stem, i ? test : train);
        write_bytes(path, bytes, size);
        free(bytes);
    }
    pelt_bundle_free(bundle);
}

/* The frames of a .pc2 in another order. */
static void reorder_frames(const char *from, const char *to, int (*frame)(int f, int count)) {
    size_t size;
    char *bytes = read_bytes(from, &size), *other = malloc(size);
    int32_t count;
    memcpy(&count, bytes + 28, 4);
    size_t row = (size - 32) / (size_t)count;
    memcpy(other, bytes, 32);
    for (int f = 0; f < count; f++)
        memcpy(other + 32 + (size_t)f * row, bytes + 32 + (size_t)frame(f, count) * row, row);
    write_bytes(to, other, size);
    free(bytes), free(other);
}

static int one_late(int f, int count) { return (void)count, f ? f - 1 : 0; }
static int frozen(int f, int count) { return (void)f, count / 2; }

static int make_sample(void **state) {
    (void)state;
    return pelt("sample arm --vertices 400 --frames 16 -o .") ||
           pelt("fit arm.glb --train train --method ssd -o arm.pelt --quiet") ||
           pelt("sample biceps --vertices 400 --frames 6 -o .");
}

static int remove_folder(void **state) {
    (void)state;
    char line[200];
    snprintf(line, sizeof line, "rm -rf %s", test_folder());
    return system(line);
}

/* -- Outputs that are inputs ------------------------------------------------------------------------------------------ */

static void no_verb_writes_over_what_it_reads(void **state) {
    (void)state;
    shell("ln -sf arm.glb link.glb && ln -f arm.pelt hard.pelt && ln -sf ../$(basename $PWD)/arm.test.pc2 link.pc2 && "
          "ln -f arm.train.pc2 hard.pc2 && echo 3 > locked.txt && mkdir -p known");
    assert_int_equal(pelt("eval arm.pelt arm.glb --clip test -o frames/"), 0);
    shell("rm -rf arm.made && cp -r frames arm.made && cp arm.glb made.glb && cp -r frames made.train");
    static const struct {
        const char *words, *file; /* what must not change */
    } cases[] = {
        {"fit arm.glb --train train -o arm.glb", "arm.glb"},
        {"fit arm.glb --train train -o link.glb", "arm.glb"},
        {"fit arm.glb --train train -o arm.train.pc2", "arm.train.pc2"},
        {"fit arm.glb --train train -o hard.pc2", "arm.train.pc2"},
        {"fit arm.glb --train test=hard.pc2 -o ./hard.pc2", "hard.pc2"},
        {"fit arm.glb --train train --blend fit --lock-vertices locked.txt -o locked.txt", "locked.txt"},
        {"fit biceps.glb --train train -o biceps.train.csv", "biceps.train.csv"},
        {"eval arm.pelt arm.glb --clip test -o arm.test.pc2", "arm.test.pc2"},
        {"eval arm.pelt arm.glb --clip train -o link.pc2", "arm.test.pc2"},
        {"eval arm.pelt arm.glb --clip train -o hard.pelt", "arm.pelt"},
        {"eval arm.pelt ./link.glb --clip train -o arm.glb", "arm.glb"},
        {"eval arm.pelt made.glb --clip train -o made.train", "made.train/frame_000000.obj"},
        {"eval arm.pelt made.glb --clip train -o made.train/frame_000000.obj", "made.train/frame_000000.obj"},
        {"measure arm.pelt arm.glb --clip test --frame-errors arm.pelt", "arm.pelt"},
        {"measure arm.pelt arm.glb --clip test --vertex-errors arm.test.pc2", "arm.test.pc2"},
        {"compare arm.glb --train train --test test --methods ssd --report arm.test.pc2", "arm.test.pc2"},
        {"compare arm.glb --train train --test test --methods ssd --picture arm.glb", "arm.glb"},
        {"export arm.pelt arm.glb --clip test -o arm.glb", "arm.glb"},
        {"export arm.pelt arm.glb --clip test -o plain.glb --convex --train train --refitted arm.pelt", "arm.pelt"},
        {"render arm.pelt arm.glb --clip test -o known --movie arm.pelt.mp4 --size 32 --clip=test", NULL},
        {"sample arm.glb -o .", "arm.glb"},
        {"keys train arm.train.pc2 --mesh arm.glb -o arm.train.pc2", "arm.train.pc2"},
        {"keys train arm.train.pc2 --mesh arm.glb -o link.glb", "arm.glb"},
        {"keys train biceps.train.pc2 -o biceps.train.csv", "biceps.train.csv"},
        {"relight run arm.glb --full --light 0,0,0 -o arm.glb", "arm.glb"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size = 0, after;
        char *before = cases[i].file ? read_bytes(cases[i].file, &size) : NULL;
        int code = pelt("%s", cases[i].words);
        if (code != 2 || !(strstr(program_errors, "would be overwritten") || strstr(program_errors, "given twice")))
            fail_msg("pelt %s: %d, %s", cases[i].words, code, program_errors);
        if (cases[i].file && !strstr(program_errors, "--overwrite")) fail_msg("%s", program_errors);
        char *now = before ? read_bytes(cases[i].file, &after) : NULL;
        if (before) assert_int_equal(size, after), assert_memory_equal(before, now, size);
        free(before), free(now);
    }
}

/* A model's own output in place of a truth would be measured against itself. */
static void no_output_takes_the_place_of_a_truth(void **state) {
    (void)state;
    rename_clips("bare", "train", "walk");
    shell("rm bare.walk.pc2 && ln -sfn . here");
    static const char *const names[] = {"bare.walk.pc2", "./bare.walk.npy", "here/bare.walk.mdd", "bare.walk"};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pelt("eval arm.pelt bare.glb --clip walk -o %s", names[i]), 2);
        assert_non_null(strstr(program_errors, "would be mistaken for the truth"));
        assert_non_null(strstr(program_errors, "clip \"walk\""));
    }
    assert_int_equal(pelt("eval arm.pelt bare.glb --clip walk -o bare.walk2.pc2"), 0);
    assert_int_equal(pelt("eval arm.pelt bare.glb --clip walk -o bare.walk2.pc2"), 0); /* a second time */
}

static void overwrite_is_for_those_who_mean_it(void **state) {
    (void)state;
    size_t size, over;
    shell("cp arm.glb mine.glb && cp arm.train.pc2 mine.train.pc2");
    assert_int_equal(pelt("eval arm.pelt mine.glb --clip train -o mine.train.pc2"), 2);
    assert_int_equal(pelt("eval arm.pelt mine.glb --clip train -o mine.train.pc2 --overwrite"), 0);
    assert_int_equal(pelt("eval arm.pelt mine.glb --clip train -o other.pc2"), 0);
    char *a = read_bytes("mine.train.pc2", &size), *b = read_bytes("other.pc2", &over);
    assert_int_equal(size, over);
    assert_memory_equal(a, b, size);
    free(a), free(b);
    assert_int_equal(pelt("export arm.pelt mine.glb --clip train -o mine.glb --overwrite"), 0);
    assert_int_equal(pelt("info mine.glb"), 0);
}

/* -- Caches and skins that are not what they should be ----------------------------------------------------------------- */

static void a_late_cache_is_warned_of_and_a_frozen_one_refused(void **state) {
    (void)state;
    reorder_frames("arm.test.pc2", "late.pc2", one_late);
    reorder_frames("arm.test.pc2", "frozen.pc2", frozen);
    assert_int_equal(pelt("fit arm.glb --train test=late.pc2 --method kernel -o late.pelt"), 0);
    assert_non_null(strstr(program_errors, "warning: late.pc2: is 1 frame late"));
    assert_int_equal(pelt("measure arm.pelt arm.glb --clip test=late.pc2"), 0);
    assert_non_null(strstr(program_errors, "late.pc2: is 1 frame late"));
    assert_int_equal(pelt("compare arm.glb --train train --test test=late.pc2 --methods ssd"), 0);
    assert_non_null(strstr(program_errors, "late.pc2: is 1 frame late"));
    assert_int_equal(pelt("fit arm.glb --train test=frozen.pc2 -o frozen.pelt"), 1);
    assert_non_null(strstr(program_errors, "frozen.pc2: all 16 frames have the same shape"));
    assert_int_equal(access(file_path("frozen.pelt"), F_OK), -1);
    assert_int_equal(pelt("info arm.glb"), 0);
    assert_null(strstr(program_output, "warning"));
    assert_null(strstr(program_output, "error"));
}

static void a_skin_that_is_worse_than_the_plain_blend_is_warned_of(void **state) {
    (void)state;
    json_t *fit = pelt_json("fit arm.glb --train train --method ssd --blend distance -o distance.pelt");
    double held = number(json_object_get(fit, "holdout"), "rel_err");
    const char *said = json_string_value(json_array_get(json_object_get(fit, "warnings"), 0));
    assert_true(held > 1.01 && said && strstr(said, "worse than a plain blend") && strstr(said, "by distance"));
    json_decref(fit);
    assert_int_equal(pelt("measure distance.pelt arm.glb --clip test"), 0);
    assert_non_null(strstr(program_errors, "distance.pelt is worse here than plain blending"));
    assert_int_equal(pelt("compare arm.glb --train train --test test --methods ssd,ssd/distance"), 0);
    assert_non_null(strstr(program_output, "worse than the plain blend with the file's weights: ssd/distance\n"));
    assert_int_equal(pelt("measure arm.pelt arm.glb --clip test"), 0);
    assert_string_equal(program_errors, "");
}

/* With 16 examples kernel learns every one; the error on others is far more than twice that. */
static void a_method_that_goes_through_its_examples_is_not_told_off(void **state) {
    (void)state;
    static const char *const methods[] = {"kernel", "psd"};
    for (int i = 0; i < 2; i++) {
        json_t *fit = pelt_json("fit arm.glb --train train --method %s -o exact.pelt", methods[i]);
        double train = number(json_object_get(fit, "train"), "rms"),
               held = number(json_object_get(fit, "holdout"), "rms");
        assert_true(held > 2 * train && number(json_object_get(fit, "holdout"), "rel_err") < 1);
        assert_int_equal(json_array_size(json_object_get(fit, "warnings")), 0);
        json_decref(fit);
    }
}

/* The cache equals the plain blend: there is no error to be relative to. */
static void nothing_is_relative_to_a_blend_that_is_exact(void **state) {
    (void)state;
    assert_int_equal(pelt("eval arm.pelt arm.glb --clip train -o blended.pc2"), 0);
    json_t *m = pelt_json("measure distance.pelt arm.glb --clip train=blended.pc2");
    assert_true(json_is_null(json_object_get(m, "rel_err")) && json_is_null(json_object_get(m, "roughness")));
    assert_true(number(m, "rms") > 0);
    json_decref(m);
    assert_int_equal(pelt("measure arm.pelt arm.glb --clip train=blended.pc2"), 0);
    assert_null(strstr(program_output, "rel_err"));
    assert_non_null(strstr(program_output, "is exact here"));
    assert_int_equal(pelt("fit arm.glb --train train=blended.pc2 --method psd -o x.pelt"), 0);
    assert_null(strstr(program_output, "rel_err"));
    assert_int_equal(pelt("compare arm.glb --train train=blended.pc2 --test test --methods ssd"), 0);
    assert_non_null(strstr(program_output, "     -  |"));
}

/* -- Words ------------------------------------------------------------------------------------------------------------- */

static void words_in_the_wrong_place_are_named(void **state) {
    (void)state;
    write_bytes("bad.csv", "a,jaw\n1,2\n3,x7\n", 15);
    write_bytes("few.csv", "a,jaw\n1,2\n3\n", 12);
    write_bytes("cut.pc2", "POINTCACHE2", 11);
    static const struct {
        const char *words;
        int code;
        const char *said[3];
    } cases[] = {
        {"measure arm.glb arm.pelt --clip test",
         2,
         {"arm.pelt is a skin", "arm.glb a glTF file", "the skin comes first"}},
        {"eval arm.glb arm.pelt --clip test -o x.pc2", 2, {"the skin comes first", "pelt eval arm.pelt arm.glb"}},
        {"export ./arm.glb arm.pelt -o x.glb", 2, {"the skin comes first"}},
        {"measure arm.pelt arm.glb --clip test --clip train", 2, {"--clip was given twice", "with commas"}},
        {"eval arm.pelt arm.glb --clip test --clip train -o x.pc2", 2, {"--clip was given twice", "one clip"}},
        {"fit arm.glb --train train=cut.pc2 -o x.pelt", 1, {"cut.pc2", "does not begin with"}},
        {"info bad.csv", 1, {"bad.csv", "line 3", "column \"jaw\": \"x7\""}},
        {"info few.csv", 1, {"few.csv", "line 3", "1 cell"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int code = pelt("%s", cases[i].words);
        for (int k = 0; k < 3; k++)
            if (code != cases[i].code || (cases[i].said[k] && !strstr(program_errors, cases[i].said[k])))
                fail_msg("pelt %s: %d, %s", cases[i].words, code, program_errors);
    }
}

static void clips_may_have_commas_in_their_names(void **state) {
    (void)state;
    rename_clips("odd", "walk, slow", "a\\b,c");
    json_t *both = pelt_json("measure arm.pelt odd.glb --clip 'walk\\, slow,a\\\\b\\,c'");
    json_t *clips = json_object_get(both, "clips");
    assert_int_equal(json_array_size(clips), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(clips, 0), "clip")), "walk, slow");
    assert_string_equal(json_string_value(json_object_get(json_array_get(clips, 1), "clip")), "a\\b,c");
    json_decref(both);
    assert_int_equal(pelt("measure arm.pelt odd.glb --clip 'walk, slow'"), 0); /* all of it is the name of a clip */
    assert_int_equal(pelt("eval arm.pelt odd.glb --clip 'walk, slow' -o slow.pc2"), 0);
    assert_int_equal(pelt("measure arm.pelt odd.glb --clip 'walk, fast'"), 1);
    assert_non_null(strstr(program_errors, "\\,"));
}

/* Names from a file are text on the page: of clips, of joints (shown by EigenSkin), of the file itself. */
static void names_of_files_are_no_html(void **state) {
    (void)state;
    static const char clip[] = "<script>alert(\"a\")<\\script>", joint[] = "</style><b onclick='x'>&amp;";
    pelt_error error;
    pelt_bundle *bundle = pelt_bundle_read(file_path("arm.glb"), &error);
    assert_non_null(bundle);
    for (uint32_t c = 0; c < bundle->clip_count; c++)
        if (!strcmp(bundle->clips[c]->name, "test")) ((pelt_clip *)bundle->clips[c])->name = clip;
    for (uint32_t j = 0; j < bundle->skeleton.joint_count; j++)
        bundle->skeleton.names[j] = pelt_arena_format(bundle->arena, "%s%u", joint, j);
    pelt_gltf_content content = {
        .mesh = &bundle->mesh, .skeleton = &bundle->skeleton, .clips = bundle->clips, .clip_count = bundle->clip_count};
    char path[400], name[] = "<i>'x\xff\".glb";
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    if (pelt_gltf_write(path, &content, &error)) fail_msg("%s", error.text);
    pelt_bundle_free(bundle);
    shell("cp arm.train.pc2 '<i>'\\''x'$(printf '\\377')'\".train.pc2'");
    if (pelt("compare '<i>'\\''x'$(printf '\\377')'\".glb' --train train --test '%s=arm.test.pc2' --methods ssd,eigen "
             "--report '<b>.html' --picture-size 64",
             clip))
        fail_msg("%s", program_errors);
    size_t size;
    char *html = read_bytes("<b>.html", &size);
    assert_null(strstr(html, "<script")), assert_null(strstr(html, "<b onclick")), assert_null(strstr(html, "<i>"));
    assert_null(strchr(html, '\xff'));
    assert_non_null(strstr(html, "&lt;script&gt;alert(&quot;a&quot;)&lt;"));
    assert_non_null(strstr(html, "&lt;/style&gt;&lt;b onclick=&#39;x&#39;&gt;&amp;amp;"));
    assert_non_null(strstr(html, "&lt;i&gt;&#39;x&#xFFFD;&quot;.glb"));
    free(html);
}

/* -- Errors for programs ----------------------------------------------------------------------------------------------- */

static void the_worst_clip_is_named(void **state) {
    (void)state;
    json_t *one[2] = {pelt_json("measure arm.pelt arm.glb --clip train"),
                      pelt_json("measure arm.pelt arm.glb --clip test")};
    json_t *both = pelt_json("measure arm.pelt arm.glb --clip train,test");
    int worst = number(one[1], "max") > number(one[0], "max"), by_rms = number(one[1], "rms") > number(one[0], "rms");
    static const char *const names[] = {"train", "test"};
    assert_string_equal(json_string_value(json_object_get(both, "worst_clip")), names[worst]);
    assert_string_equal(json_string_value(json_object_get(both, "worst_clip_by_rms")), names[by_rms]);
    assert_int_equal(number(both, "worst_frame"), number(one[worst], "worst_frame"));
    for (int i = 0; i < 2; i++) {
        const json_t *clip = json_array_get(json_object_get(both, "clips"), (size_t)i);
        assert_near(number(clip, "rms"), number(one[i], "rms"), 1e-6 * number(one[i], "rms"));
        json_decref(one[i]);
    }
    json_decref(both);
    assert_int_equal(pelt("measure arm.pelt arm.glb --clip train,test"), 0);
    char said[60];
    snprintf(said, sizeof said, "worst: clip \"%s\", frame ", names[worst]);
    assert_non_null(strstr(program_output, said));
}

/* The header of a .npy of single precision; its values. */
static const float *npy_values(const char *bytes, size_t size, const char *shape, size_t count) {
    char expected[80];
    snprintf(expected, sizeof expected, "'shape': (%s)", shape);
    assert_memory_equal(bytes, "\x93NUMPY\x01", 7);
    if (!strstr(bytes + 10, expected)) fail_msg("%s is not in %.100s", expected, bytes + 10);
    assert_non_null(strstr(bytes + 10, "'<f4'"));
    assert_int_equal(size, 128 + 4 * count);
    return (const float *)(bytes + 128);
}

/* Compared with the errors of the positions written by eval. */
static void errors_of_frames_and_vertices_are_those_of_the_files(void **state) {
    (void)state;
    enum { FRAMES = 16 };
    assert_int_equal(pelt("eval arm.pelt arm.glb --clip test -o model.pc2"), 0);
    json_t *m = pelt_json("measure arm.pelt arm.glb --clip test --frame-errors f.npy --vertex-errors v.npy");
    size_t sizes[4], n = (size_t)number(m, "vertices");
    char *model = read_bytes("model.pc2", &sizes[0]), *truth = read_bytes("arm.test.pc2", &sizes[1]);
    char *frames = read_bytes("f.npy", &sizes[2]), *vertices = read_bytes("v.npy", &sizes[3]), shape[40];
    snprintf(shape, sizeof shape, "%zu,", n);
    const float *by_frame = npy_values(frames, sizes[2], "16, 2", 2 * FRAMES);
    const float *by_vertex = npy_values(vertices, sizes[3], shape, n);
    double *sums = calloc(n, sizeof *sums);
    for (size_t f = 0; f < FRAMES; f++) {
        double sum = 0, most = 0;
        for (size_t v = 0; v < n; v++) {
            float a[3], b[3];
            memcpy(a, model + 32 + 12 * (f * n + v), 12), memcpy(b, truth + 32 + 12 * (f * n + v), 12);
            double square = pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2);
            sum += square, sums[v] += square, most = fmax(most, square);
        }
        assert_near(by_frame[2 * f], sqrt(sum / (double)n), 1e-5 * sqrt(sum / (double)n));
        assert_near(by_frame[2 * f + 1], sqrt(most), 1e-5 * sqrt(most));
        assert_near(json_number_value(json_array_get(json_object_get(m, "frame_rms"), f)), by_frame[2 * f], 1e-9);
        assert_near(json_number_value(json_array_get(json_object_get(m, "frame_max"), f)), by_frame[2 * f + 1], 1e-9);
    }
    for (size_t v = 0; v < n; v++) assert_near(by_vertex[v], sqrt(sums[v] / FRAMES), 1e-6);
    json_decref(m);
    m = pelt_json("compare arm.glb --train train --test test --methods ssd/distance,ssd --frame-errors cf.npy "
                  "--vertex-errors cv.npy");
    size_t size;
    char *both = read_bytes("cf.npy", &size);
    const float *methods = npy_values(both, size, "2, 16, 2", 4 * FRAMES);
    for (size_t i = 0; i < 2 * FRAMES; i++) assert_near(methods[2 * FRAMES + i], by_frame[i], 1e-7);
    free(both);
    both = read_bytes("cv.npy", &size);
    snprintf(shape, sizeof shape, "2, %zu", n);
    methods = npy_values(both, size, shape, 2 * n);
    for (size_t v = 0; v < n; v++) assert_near(methods[n + v], by_vertex[v], 1e-7);
    const json_t *row = json_array_get(json_object_get(m, "methods"), 1);
    const json_t *listed = json_object_get(json_object_get(json_object_get(row, "test"), "test"), "frame_max");
    assert_int_equal(json_array_size(listed), FRAMES);
    json_decref(m);
    free(both), free(model), free(truth), free(frames), free(vertices), free(sums);
    assert_int_equal(pelt("measure arm.pelt arm.glb --clip test --vertex-errors no/such/v.npy"), 1);
}

static void failures_come_as_json_too(void **state) {
    (void)state;
    static const struct {
        const char *words, *kind, *text;
        int code;
    } cases[] = {
        {"fit nothing.glb --train train -o x.pelt --json", "failed", "nothing.glb", 1},
        {"fit arm.glb --train nowhere -o x.pelt --json", "failed", "nowhere", 1},
        {"fit arm.glb --json --train test=frozen.pc2 -o x.pelt", "failed", "frozen.pc2", 1},
        {"fit arm.glb --trian train -o x.pelt --json", "misuse", "did you mean --train?", 2},
        {"measure --json", "misuse", "an input is missing", 2},
        {"frobnicate --json", "misuse", "no command", 2},
        {"eval arm.pelt arm.glb --clip test -o arm.glb --json", "misuse", "would be overwritten", 2},
        {"keys train --json", "misuse", "an input is missing", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int code = pelt("%s", cases[i].words);
        json_t *said = json_loads(program_output, 0, NULL), *error = json_object_get(said, "error");
        const char *text = json_string_value(json_object_get(error, "text"));
        if (code != cases[i].code || !text || !strstr(text, cases[i].text) || number(error, "status") != code ||
            strcmp(json_string_value(json_object_get(error, "kind")), cases[i].kind))
            fail_msg("pelt %s: %d, %s", cases[i].words, code, program_output);
        if (!strstr(program_errors, text)) fail_msg("%s is not in %s", text, program_errors);
        json_decref(said);
    }
    assert_int_equal(pelt("fit nothing.glb --train train -o x.pelt"), 1);
    assert_string_equal(program_output, "");
}

/* -- Progress ---------------------------------------------------------------------------------------------------------- */

/* Progress reported by a fit, and where to stop it. */
typedef struct listener {
    double last, stop_at;
    int calls, steps, tasks; /* all calls; those that go on; changes of the task */
    bool backwards;
    char task[60];
} listener;

static int listen_to(void *user, const char *task, double fraction) {
    listener *l = user;
    l->calls++;
    l->steps += fraction > l->last + 1e-9;
    l->backwards |= fraction < l->last - 1e-9 || fraction < 0 || fraction > 1;
    l->tasks += strcmp(l->task, task) != 0;
    snprintf(l->task, sizeof l->task, "%s", task);
    l->last = fraction;
    return fraction >= l->stop_at;
}

static void progress_goes_on_with_every_method_and_stops_on_request(void **state) {
    (void)state;
    static const pelt_fit_options fits[] = {{.method = PELT_METHOD_SSD},
                                            {.method = PELT_METHOD_SSD, .blend = PELT_BLEND_DISTANCE},
                                            {.method = PELT_METHOD_SSD, .blend = PELT_BLEND_FIT},
                                            {.method = PELT_METHOD_JOINTS},
                                            {.method = PELT_METHOD_PSD},
                                            {.method = PELT_METHOD_WPSD},
                                            {.method = PELT_METHOD_EIGEN},
                                            {.method = PELT_METHOD_KERNEL}};
    pelt_error error;
    pelt_bundle *bundle = pelt_bundle_read(file_path("arm.glb"), &error);
    const pelt_clip *clip = pelt_bundle_clip(bundle, "train", PELT_NEED_POSITIONS, &error);
    assert_non_null(clip);
    pelt_examples examples = pelt_bundle_examples(bundle, &clip, 1);
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++) {
        pelt_fit_options options = fits[i];
        pelt_fit_report report;
        for (int stopped = 0; stopped < 2; stopped++) {
            listener l = {.stop_at = stopped ? 0.3 : 2};
            options.progress = (pelt_progress){listen_to, &l};
            pelt_bytes *skin = pelt_fit(bundle, examples, &options, &report, &error);
            if (l.backwards) fail_msg("method %zu goes backwards at %s", i, l.task);
            if (stopped) {
                assert_null(skin);
                assert_int_equal(error.code, PELT_ERROR_CANCELLED);
                continue;
            }
            if (!skin) fail_msg("%s", error.text);
            if (l.steps < (i < 2 ? 3 : 8) || l.tasks < 4 || l.last < 0.999)
                fail_msg("method %zu: %d steps, %d tasks, up to %g", i, l.steps, l.tasks, l.last);
            assert_true(report.options.progress.user == &l); /* what the caller gave */
            pelt_bytes_free(skin);
            pelt_fit_report_free(&report);
        }
    }
    pelt_bundle_free(bundle);
}

/* What the program shows on a terminal. */
static void run_on_a_terminal(const char *words, char *shown, size_t size) {
    char line[1000];
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0) {
        print_message("skipped: there are no terminals here\n");
        skip();
    }
    assert_true(!grantpt(terminal) && !unlockpt(terminal));
    snprintf(line, sizeof line, "cd %s && $PELT_PROGRAM %s >out.txt 2>%s", test_folder(), words, ptsname(terminal));
    int held = open(ptsname(terminal), O_RDWR | O_NOCTTY); /* what is written waits there */
    fcntl(terminal, F_SETFL, O_NONBLOCK);
    pid_t child = fork();
    if (!child) execl("/bin/sh", "sh", "-c", line, NULL), _exit(9);
    size_t used = 0;
    int status = -1;
    for (bool over = false; !over;) {
        over = waitpid(child, &status, WNOHANG) == child;
        for (ssize_t got; (got = read(terminal, shown + used, size - 1 - used)) > 0;) used += (size_t)got;
        usleep(5000);
    }
    shown[used] = 0;
    close(held), close(terminal);
    if (status) fail_msg("%s: %d, %s", words, status, shown);
}

static void a_terminal_sees_what_is_done_and_for_how_long(void **state) {
    (void)state;
    static char shown[200000];
    run_on_a_terminal(
        "compare arm.glb --train train --test test --methods ssd,kernel,joints --report slow.html --picture-size 96",
        shown, sizeof shown);
    static const char *const parts[] = {
        "1 of 3, ssd/file: ", "2 of 3, kernel/file: ", "3 of 3, joints/joints: ", "pictures", "%", "[#"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(shown, parts[i])) fail_msg("%s is not in %s", parts[i], shown);
    run_on_a_terminal("eval arm.pelt arm.glb --clip test -o seen.pc2", shown, sizeof shown);
    assert_non_null(strstr(shown, "deforming"));
    run_on_a_terminal("eval arm.pelt arm.glb --clip test -o seen.pc2 --quiet", shown, sizeof shown);
    assert_string_equal(shown, "");
    assert_int_equal(pelt("eval arm.pelt arm.glb --clip test -o seen.pc2"), 0); /* no terminal */
    assert_string_equal(program_errors, "");
}

/* -- Help -------------------------------------------------------------------------------------------------------------- */

static size_t widest_line(const char *text) {
    size_t widest = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
        widest = strcspn(line, "\n") > widest ? strcspn(line, "\n") : widest;
    return widest;
}

/* The overview lists all verbs; the examples of those that need only the arm must work. */
static void help_fits_100_columns_and_its_examples_work(void **state) {
    (void)state;
    char *overview, example[400];
    assert_int_equal(pelt("help"), 0);
    assert_true(widest_line(program_output) <= 100);
    overview = strdup(program_output);
    int verbs = 0, ran = 0;
    for (const char *line = strstr(overview, "\n  "); line; line = strstr(line + 3, "\n  ")) {
        char verb[30];
        if (sscanf(line, "\n  %29s", verb) != 1 || line[3] == ' ') continue;
        verbs++;
        assert_int_equal(pelt("%s --help", verb), 0);
        if (widest_line(program_output) > 100) fail_msg("%s: %zu columns", verb, widest_line(program_output));
        const char *shown = strstr(program_output, "\nExample:\n  pelt ");
        if (!shown) fail_msg("%s has no example", verb);
        snprintf(example, sizeof example, "%.*s", (int)strcspn(shown + 17, "\n"), shown + 17);
        if (strncmp(example, verb, strlen(verb))) fail_msg("%s: %s", verb, example);
        static const char *const quick[] = {"info",    "fit",    "eval",   "measure",
                                            "compare", "export", "sample", "completion"};
        for (size_t i = 0; i < sizeof quick / sizeof *quick; i++) {
            if (strcmp(verb, quick[i])) continue;
            shell("mkdir -p examples && cp arm.glb arm.pelt arm.t*.pc2 examples");
            const char *smaller = strcmp(verb, "compare") ? "" : "--picture-size 64";
            if (pelt("--version >/dev/null && cd examples && $PELT_PROGRAM %s %s", example, smaller))
                fail_msg("%s: %s", example, program_errors);
            ran++;
        }
    }
    assert_true(verbs >= 13);
    assert_int_equal(ran, 8);
    free(overview);
}

/* -- Completion -------------------------------------------------------------------------------------------------------- */

/* The reply of bash's completion function to a line, its words quoted as in bash; the last one is unfinished. */
static const char *complete_in_bash(const char *words) {
    char line[3000];
    snprintf(
        line, sizeof line,
        "cd %s && mkdir -p bin && ln -sf $PELT_PROGRAM bin/pelt && cat > c.sh <<'END'\n"
        "PATH=$PWD/bin:$PATH\nsource <(pelt completion bash)\n"
        "[ \"$(complete -p pelt)\" = 'complete -F _pelt pelt' ] || echo not registered\n"
        "COMP_WORDS=(pelt %s)\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_pelt\nprintf '%%s\\n' \"${COMPREPLY[@]}\"\nEND\n"
        "bash --norc c.sh >out.txt 2>err.txt",
        test_folder(), words);
    if (system(line)) fail_msg("%s", line);
    program_read("out.txt", program_output, sizeof program_output);
    return program_output;
}

static void bash_completes_verbs_options_methods_and_clips(void **state) {
    (void)state;
    rename_clips("wild", "$(touch pwned)", "two words");
    static const struct {
        const char *words, *answer;
    } cases[] = {
        {"mea", "measure\n"},
        {"fit arm.glb --hold", "--holdout\n"},
        {"fit arm.glb --method k", "kernel\n"},
        {"fit arm.glb --method = k", "kernel\n"},
        {"fit arm.glb --blend ''", "file\ndistance\nfit\njoints\n"},
        {"compare arm.glb --methods psd,w", "psd,wpsd\n"},
        {"compare arm.glb --train tr", "train\n"},
        {"compare arm.glb --train train --test te", "test\n"},
        {"measure arm.pelt arm.glb --clip train,t", "train,train\ntrain,test\n"},
        {"measure arm.pelt wild.glb --clip t", "two\\ words\n"},
        {"measure arm.pelt wild.glb --clip \\$", "\\$\\(touch\\ pwned\\)\n"},
        {"measure arm.pelt odd.glb --clip w", "walk\\\\\\,\\ slow\n"},
        {"keys mea", "measure\n"},
        {"help rend", "render\n"},
        {"fit arm.gl", "arm.glb\n"},
        {"measure arm.pelt arm.glb --clip test = late.pc", "late.pc2\n"},
        {"fit no_such.glb --train t", "\n"},
        {"frobnicate --tr", "\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(complete_in_bash(cases[i].words), cases[i].answer))
            fail_msg("pelt %s: %s", cases[i].words, program_output);
    complete_in_bash("fit arm.glb --");
    for (const char *const *flag = (const char *const[]){"--train\n", "--overwrite\n", "--json\n", NULL}; *flag; flag++)
        assert_non_null(strstr(program_output, *flag));
    assert_int_equal(access(file_path("pwned"), F_OK), -1);
}

static void fish_and_zsh_complete_too(void **state) {
    (void)state;
    bool any = false;
    if (!system("command -v fish >/dev/null")) {
        any = true;
        static const struct {
            const char *line, *answer;
        } cases[] = {{"pelt mea", "measure\t"},
                     {"pelt fit arm.glb --method k", "kernel\n"},
                     {"pelt compare arm.glb --train tr", "train\n"},
                     {"pelt measure arm.pelt wild.glb --clip t", "two words\n"}};
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            shell(
                "HOME=$PWD PATH=$PWD/bin:$PATH fish --no-config -c 'pelt completion fish | source; complete -C \"%s\"' "
                ">out.txt 2>err.txt",
                cases[i].line);
            program_read("out.txt", program_output, sizeof program_output);
            if (!strstr(program_output, cases[i].answer)) fail_msg("%s: %s", cases[i].line, program_output);
        }
    }
    if (!system("command -v zsh >/dev/null")) {
        any = true;
        /* The shell's function, with its own `compadd` replaced. */
        shell("cat > z.zsh <<'END'\n"
              "PATH=$PWD/bin:$PATH\nsource <(print -r -- 'compdef() { : }'; pelt completion zsh)\n"
              "compadd() { print -rl -- $found }\n_files() { print files }\n"
              "try() { words=(\"$@\") CURRENT=$# _pelt }\n"
              "try pelt mea; try pelt measure arm.pelt arm.glb --clip tra; try pelt measure --js; try pelt fit "
              "--method k\n"
              "try pelt measure arm.pelt wild.glb --clip t; try pelt measure arm.pelt wild.glb --clip '$'; try pelt "
              "info a\n"
              "END\nzsh -f z.zsh >out.txt 2>err.txt");
        program_read("out.txt", program_output, sizeof program_output);
        assert_string_equal(program_output, "measure\ntrain\n--json\nkernel\ntwo words\n$(touch pwned)\nfiles\n");
        assert_int_equal(access(file_path("pwned"), F_OK), -1);
    }
    if (any) return;
    print_message("skipped: neither fish nor zsh is here\n");
    skip();
}

int main(void) {
    if (!getenv("PELT_PROGRAM")) setenv("PELT_PROGRAM", "build/pelt", 1);
    char absolute[4096];
    if (realpath(getenv("PELT_PROGRAM"), absolute)) setenv("PELT_PROGRAM", absolute, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_verb_writes_over_what_it_reads),
        cmocka_unit_test(no_output_takes_the_place_of_a_truth),
        cmocka_unit_test(overwrite_is_for_those_who_mean_it),
        cmocka_unit_test(a_late_cache_is_warned_of_and_a_frozen_one_refused),
        cmocka_unit_test(a_skin_that_is_worse_than_the_plain_blend_is_warned_of),
        cmocka_unit_test(a_method_that_goes_through_its_examples_is_not_told_off),
        cmocka_unit_test(nothing_is_relative_to_a_blend_that_is_exact),
        cmocka_unit_test(words_in_the_wrong_place_are_named),
        cmocka_unit_test(clips_may_have_commas_in_their_names),
        cmocka_unit_test(names_of_files_are_no_html),
        cmocka_unit_test(the_worst_clip_is_named),
        cmocka_unit_test(errors_of_frames_and_vertices_are_those_of_the_files),
        cmocka_unit_test(failures_come_as_json_too),
        cmocka_unit_test(progress_goes_on_with_every_method_and_stops_on_request),
        cmocka_unit_test(a_terminal_sees_what_is_done_and_for_how_long),
        cmocka_unit_test(help_fits_100_columns_and_its_examples_work),
        cmocka_unit_test(bash_completes_verbs_options_methods_and_clips),
        cmocka_unit_test(fish_and_zsh_complete_too),
    };
    return cmocka_run_group_tests(tests, make_sample, remove_folder);
}
