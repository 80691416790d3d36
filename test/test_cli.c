/* test_cli.c: the program as users see it: arguments in, text and files out, exit codes. JSON keys are those of the
   documentation; figures are compared with ones recomputed here from the files. */

#include "test/program.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "io/io.h"

static void *file_bytes(const char *name, size_t *size) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    void *bytes = malloc(*size + 1);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static int files_that_contain(const char *part) {
    int count = 0;
    DIR *folder = opendir(test_folder());
    for (struct dirent *entry; (entry = readdir(folder));) count += strstr(entry->d_name, part) != NULL;
    closedir(folder);
    return count;
}

static int make_sample(void **state) {
    (void)state;
    return pelt("sample arm --vertices 2972 --frames 20 -o .") ||
           pelt("fit arm.glb --train train --method ssd -o arm.pelt --quiet");
}

/* -- What it says ------------------------------------------------------------------------------------------------- */

static void help_is_there_for_every_command(void **state) {
    (void)state;
    assert_int_equal(pelt("help"), 0);
    static const char *const verbs[] = {"info", "fit", "eval", "measure", "compare", "bench", "sample", "demo"};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        assert_int_equal(pelt("%s --help", verbs[i]), 0);
        assert_non_null(strstr(program_output, "--threads"));
    }
    assert_int_equal(pelt("fit --help"), 0);
    const char *examples = strstr(program_output, "\nExamples:\n"),
               *caches = strstr(program_output, "\nPoint caches:\n");
    const char *train = strstr(program_output, "\n  --train"), *axes = strstr(program_output, "\n  --axes");
    assert_true(examples && examples < train && train < caches && caches < axes);
    assert_int_equal(pelt("--version"), 0);
    assert_string_equal(program_output, "pelt " PELT_VERSION "\n");
    assert_int_equal(pelt("help --man"), 0);
    assert_non_null(strstr(program_output, "\\-\\-influences"));
}

static void misuse_is_2_and_says_what_was_expected(void **state) {
    (void)state;
    static const struct {
        const char *words, *said;
    } cases[] = {
        {"", "usage"},
        {"frobnicate", "`pelt help` lists them"},
        {"fitt", "did you mean `pelt fit`?"},
        {"help smaple", "did you mean `pelt sample`?"},
        {"/dev/null", "`pelt info /dev/null`"},
        {"fit", "an input is missing"},
        {"fit arm.glb -o x.pelt", "--train"},
        {"fit arm.glb --train train", "-o SKIN.pelt"},
        {"fit arm.glb --trian train -o x.pelt", "did you mean --train?"},
        {"fit arm.glb --train train -o x.pelt --influences 0", "between 1 and "},
        {"fit arm.glb --train train -o x.pelt --influences 2.5", "must be an integer"},
        {"fit arm.train.pc2 arm.glb --train train -o x.pelt", "as in pelt fit arm.glb ... CLIP=arm.train.pc2"},
        {"fit arm.glb --train train -o x.pelt --influences 65", "--influences must be between 1 and 64, not 65"},
        {"fit arm.glb --train train -o x.pelt --holdout nan", "expected a number"},
        {"fit arm.glb --train train -o x.pelt --method psd --holdout 0.95", "--holdout must be at most 0.9, not 0.95"},
        {"fit arm.glb --train train -o x.pelt --weigh train:1=2e6 --blend fit", "at most 1e+06"},
        {"fit arm.glb --train train -o x.pelt --scale 1e10", "--scale must be between 1e-9 and 1e9"},
        {"fit arm.glb --train train -o x.pelt --frames 2000000", "--frames must be between"},
        {"fit arm.glb --train train -o x.pelt --frames 1e30", "--frames 1e30"},
        {"compare arm.glb --train train --test test --picture-size 5000",
         "--picture-size must be between 32 and 4096 pixels, not 5000"},
        {"render arm.pelt arm.glb --clip test -o x --size 20", "--size must be between 32 and 4096 pixels, not 20"},
        {"export arm.pelt arm.glb -o x.glb --targets 1", "--targets must be between 2 and 65535, not 1"},
        {"bench --turns 2", "--turns must be between 3 and "},
        {"bench --vertices 0", "--vertices: expected"},
        {"keys speed --points 20000000", "--points must be between "},
        {"keys speed --basis 200000", "--basis must be between "},
        {"sample arm -o x --frames 200000", "frames"},
        {"sample face -o x --frames 2000000", "--frames must be at most"},
        {"keys train x.csv -o x.keys --engine face --timeout 1e7", "--timeout must be between"},
        {"keys train x.csv -o x.keys --engine face --cost -1", "--cost must be between"},
        {"keys train x.csv -o x.keys --engine x.so --engine-controls 2000000", "--engine-controls must be at most"},
        {"fit arm.glb --train train -o x.pelt --method magic", "choose from"},
        {"fit arm.glb --train train -o x.pelt --blend magic", "choose from"},
        {"fit arm.glb extra --train train -o x.pelt", "one input too many"},
        {"fit arm.glb --train", "needs a value"},
        {"measure arm.pelt arm.glb", "--clip"},
        {"export arm.pelt arm.glb -o x.fbx", "x.fbx: has no glTF extension"},
        {"compare arm.glb --train train --test train", "in both --train and --test"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int code = pelt("%s", cases[i].words);
        if (code != 2 || !strstr(program_errors, cases[i].said))
            fail_msg("pelt %s: %d, %s", cases[i].words, code, program_errors);
    }
    assert_int_equal(files_that_contain("x.pelt"), 0);
}

static void a_failed_job_is_1_and_names_the_file(void **state) {
    (void)state;
    static const struct {
        const char *words, *said;
    } cases[] = {
        {"fit nothing.glb --train train -o x.pelt", "nothing.glb"},
        {"fit arm.glb --train nowhere -o x.pelt", "nowhere"},
        {"fit arm.glb --train train=arm.glb -o x.pelt", "arm.glb"},
        {"measure arm.glb arm.glb --clip test", "arm.glb"},
        {"eval arm.pelt arm.glb --clip test -o no/such/folder/x.pc2", "no/such/folder"},
        {"eval arm.pelt arm.glb --clip test -o x.strange", "x.strange"},
        {"sample arm -o /proc/nowhere", "/proc/nowhere"},
        {"info nothing.pc2", "nothing.pc2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int code = pelt("%s", cases[i].words);
        if (code != 1 || !strstr(program_errors, cases[i].said))
            fail_msg("pelt %s: %d, %s", cases[i].words, code, program_errors);
        if (strncmp(program_errors, "pelt: ", 6)) fail_msg("pelt %s: %s", cases[i].words, program_errors);
    }
    assert_int_equal(files_that_contain("x."), 0);
}

/* -- What it computes --------------------------------------------------------------------------------------------- */

static void fit_reports_training_and_held_out_errors_apart(void **state) {
    (void)state;
    json_t *fit = pelt_json("fit arm.glb --train train --blend distance --influences 3 -o distance.pelt");
    assert_string_equal(json_string_value(json_object_get(fit, "method")), "ssd");
    assert_string_equal(json_string_value(json_object_get(fit, "blend")), "distance");
    json_t *train = json_object_get(fit, "train"), *holdout = json_object_get(fit, "holdout");
    assert_int_equal(number(train, "frames"), 20);
    assert_int_equal(number(holdout, "frames"), 4);
    assert_true(number(train, "rel_err") > 0 && number(fit, "bytes") > 0 && number(fit, "seconds") >= 0);
    assert_near(number(fit, "bytes_per_vertex"), number(fit, "bytes") / 2972, 1e-6 * number(fit, "bytes"));
    json_decref(fit);
    fit = pelt_json("fit arm.glb --train train --method ssd --holdout 0 -o none.pelt");
    assert_true(json_is_null(json_object_get(fit, "holdout")));
    json_decref(fit);
}

/* eval writes the positions, measure reports their distance from the truth: recompute it from the two files. */
static void measure_agrees_with_the_files_that_eval_writes(void **state) {
    (void)state;
    assert_int_equal(pelt("eval arm.pelt arm.glb --clip test -o deformed.pc2"), 0);
    json_t *measure = pelt_json("measure arm.pelt arm.glb --clip test");
    size_t size, size_truth;
    char *model = file_bytes("deformed.pc2", &size), *truth = file_bytes("arm.test.pc2", &size_truth);
    assert_int_equal(size, size_truth);
    double sum = 0, worst = 0;
    size_t count = (size - 32) / 12;
    for (size_t i = 0; i < count; i++) {
        float a[3], b[3];
        memcpy(a, model + 32 + 12 * i, 12), memcpy(b, truth + 32 + 12 * i, 12);
        double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2], square = x * x + y * y + z * z;
        sum += square, worst = fmax(worst, square);
    }
    assert_near(number(measure, "rms"), sqrt(sum / (double)count), 1e-5 * sqrt(sum / (double)count));
    assert_near(number(measure, "max"), sqrt(worst), 1e-5 * sqrt(worst));
    assert_near(number(measure, "rel_err"), 1, 1e-4); /* the file's own weights are the baseline */
    assert_near(number(measure, "roughness"), 1, 1e-4);
    assert_near(number(measure, "jump"), 1, 1e-4);
    assert_int_equal(number(measure, "points"), 2972);
    assert_int_equal(number(measure, "vertices"), 2972);
    free(model), free(truth);
    json_decref(measure);
}

static void every_output_format_of_eval_holds_the_same_motion(void **state) {
    (void)state;
    static const char *const names[] = {"e.pc2", "e.mdd", "e.npy", "e_obj"};
    pelt_arena *arena = pelt_arena_new(0);
    pelt_cache caches[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pelt("eval arm.pelt arm.glb --clip test -o %s", names[i]), 0);
        char path[300];
        pelt_error error;
        snprintf(path, sizeof path, "%s/%s", test_folder(), names[i]);
        if (pelt_cache_read(arena, path, &caches[i], &error)) fail_msg("%s", error.text);
        assert_int_equal(caches[i].frame_count, caches[0].frame_count);
        assert_int_equal(caches[i].point_count, 2972);
        for (size_t k = 0; k < 3 * (size_t)caches[0].frame_count * 2972; k++)
            assert_near(caches[i].positions[k], caches[0].positions[k], 1e-6);
    }
    pelt_arena_free(arena);
}

/* A glTF file with a skin in it is accepted wherever a skin is. */
static void a_skin_inside_of_a_file_is_a_skin(void **state) {
    (void)state;
    assert_int_equal(pelt("export arm.pelt arm.glb --embed -o inside.gltf"), 0);
    json_t *own = pelt_json("measure arm.pelt arm.glb --clip test"), *inside;
    double rms = number(own, "rms");
    inside = pelt_json("measure inside.gltf inside.gltf --clip test=arm.test.pc2");
    assert_true(number(inside, "rms") == rms && rms > 0);
    json_decref(own), json_decref(inside);
    json_t *info = pelt_json("info inside.gltf"), *file = json_array_get(json_object_get(info, "files"), 0);
    assert_string_equal(json_string_value(json_object_get(file, "kind")), "bundle");
    assert_true(number(json_object_get(file, "skin"), "vertices") == number(file, "vertices"));
    json_decref(info);
    assert_int_equal(pelt("measure arm.glb arm.glb --clip test"), 1);
    assert_non_null(strstr(program_errors, "arm.glb: contains no skin"));
}

/* The .glb of eval is one morph target per frame: read it back as targets. */
static void eval_writes_a_gltf_file_with_one_target_per_frame(void **state) {
    (void)state;
    assert_int_equal(pelt("eval arm.pelt arm.glb --clip test -o e.glb"), 0);
    assert_int_equal(pelt("eval arm.pelt arm.glb --clip test -o e2.pc2"), 0);
    char path[300];
    pelt_error error;
    snprintf(path, sizeof path, "%s/e.glb", test_folder());
    pelt_bundle *bundle = pelt_bundle_read(path, &error);
    if (!bundle) fail_msg("%s", error.text);
    size_t size;
    char *model = file_bytes("e2.pc2", &size);
    size_t frames = (size - 32) / 12 / 2972;
    assert_int_equal(bundle->mesh.target_count, frames);
    for (size_t f = 0; f < frames; f++) {
        const pelt_target *target = &bundle->mesh.targets[f];
        for (uint32_t k = 0; k < target->count; k++)
            for (size_t i = 0; i < 3; i++) {
                float x;
                memcpy(&x, model + 32 + 4 * (3 * (f * 2972 + target->vertices[k]) + i), 4);
                assert_near(bundle->mesh.positions[3 * (size_t)target->vertices[k] + i] + target->deltas[3 * k + i], x,
                            1e-6);
            }
    }
    free(model);
    pelt_bundle_free(bundle);
}

static void compare_has_a_row_for_every_method_and_writes_the_report(void **state) {
    (void)state;
    json_t *table = pelt_json(
        "compare arm.glb --train train --test test --methods ssd,ssd/distance --report r.html --picture p.png "
        "--picture-size 96");
    json_t *methods = json_object_get(table, "methods");
    assert_int_equal(json_array_size(methods), 2);
    for (size_t i = 0; i < 2; i++) {
        json_t *row = json_array_get(methods, i), *test = json_object_get(row, "test");
        assert_true(number(json_object_get(row, "train"), "rms") > 0);
        /* one test clip: it is all there is */
        assert_near(number(json_object_get(test, "all"), "rms"), number(json_object_get(test, "test"), "rms"), 1e-12);
        assert_true(number(row, "ns_per_vertex") > 0 && number(row, "fit_seconds") >= 0);
    }
    assert_near(number(json_object_get(json_object_get(json_array_get(methods, 0), "test"), "all"), "rel_err"), 1,
                1e-4);
    json_decref(table);
    size_t size;
    char *html = file_bytes("r.html", &size), *png = file_bytes("p.png", &size);
    assert_memory_equal(html, "<!DOCTYPE html>", 15);
    assert_memory_equal(png, "\x89PNG\r\n\x1a\n", 8);
    free(html), free(png);
}

static void any_number_of_threads_gives_the_same_bytes(void **state) {
    (void)state;
    size_t size_one, size_two;
    assert_int_equal(pelt("fit arm.glb --train train --blend distance --threads 1 -o one.pelt"), 0);
    assert_int_equal(pelt("fit arm.glb --train train --blend distance --threads 2 -o two.pelt"), 0);
    char *one = file_bytes("one.pelt", &size_one), *two = file_bytes("two.pelt", &size_two);
    assert_int_equal(size_one, size_two);
    assert_memory_equal(one, two, size_one);
    free(one), free(two);
}

static void info_counts_and_finds_problems(void **state) {
    (void)state;
    json_t *info = pelt_json("info arm.glb arm.train.pc2 arm.pelt"), *files = json_object_get(info, "files");
    assert_int_equal(number(json_array_get(files, 0), "vertices"), 2972);
    assert_int_equal(number(json_array_get(files, 1), "frames"), 20);
    assert_int_equal(number(json_array_get(files, 2), "vertices"), 2972);
    json_decref(info);
    /* the same cache in centimetres */
    size_t size;
    char *bytes = file_bytes("arm.train.pc2", &size);
    for (size_t i = 32; i < size; i += 4) {
        float x;
        memcpy(&x, bytes + i, 4);
        x *= 100;
        memcpy(bytes + i, &x, 4);
    }
    char path[300];
    snprintf(path, sizeof path, "%s/cm.pc2", test_folder());
    FILE *file = fopen(path, "wb");
    fwrite(bytes, 1, size, file);
    fclose(file);
    free(bytes);
    assert_int_equal(pelt("fit arm.glb --train train=cm.pc2 -o cm.pelt"), 1);
    assert_non_null(strstr(program_errors, "centimetres against metres"));
    assert_int_equal(files_that_contain("cm.pelt"), 0);
}

static void bench_reports_every_instruction_set_that_works(void **state) {
    (void)state;
    json_t *bench = pelt_json("bench --vertices 1000 --turns 3 --threads 1"), *rows = json_object_get(bench, "rows");
    for (pelt_isa isa = 0; isa < PELT_ISA_COUNT; isa++) {
        int found = 0;
        for (size_t i = 0; i < json_array_size(rows); i++) {
            json_t *row = json_array_get(rows, i);
            const char *output = json_string_value(json_object_get(row, "output"));
            bool plain = !strcmp(output, "none") || !strcmp(output, "normals") || !strcmp(output, "tangents");
            found += plain && !strcmp(json_string_value(json_object_get(row, "method")), "ssd") &&
                     !strcmp(json_string_value(json_object_get(row, "isa")), pelt_isa_name(isa));
            assert_true(number(row, "ns_per_vertex") >= number(row, "ns_per_vertex_best"));
        }
        assert_int_equal(found, pelt_isa_works(isa) ? 3 : 0); /* alone, with normals, with tangents too */
    }
    json_t *frames = json_object_get(bench, "frames");
    size_t works = 0;
    for (pelt_isa isa = 0; isa < PELT_ISA_COUNT; isa++) works += pelt_isa_works(isa) != 0;
    assert_int_equal(json_array_size(frames), 5 * works); /* ssd, eigen-5, psd-8, wpsd-8, kernel-5 */
    for (size_t i = 0; i < json_array_size(frames); i++) {
        json_t *row = json_array_get(frames, i);
        assert_true(number(row, "pose_us") >= number(row, "pose_us_best") && number(row, "pose_us_best") > 0);
        assert_near(number(row, "frame_ns_per_vertex"), number(row, "pose_us") + number(row, "deform_us"), 1e-6);
    }
    json_decref(bench);
    assert_int_equal(pelt("bench nothing.pelt"), 1);
    assert_int_equal(pelt("bench no.pelt 2.pelt 3.pelt 4.pelt 5.pelt 6.pelt 7.pelt 8.pelt 9.pelt"), 1);
    assert_non_null(strstr(program_errors, "no.pelt"));
    assert_int_equal(pelt("bench one.pelt two.pelt --device gl"), 2);
}

/* -- What it leaves behind ----------------------------------------------------------------------------------------- */

/* -- Untrusted names ----------------------------------------------------------------------------------------------- */

static bool commands_a_terminal(const char *text) {
    for (const uint8_t *c = (const uint8_t *)text; *c; c++)
        if ((*c < ' ' && *c != '\n') || *c == 0x7f || (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)) return true;
    return false;
}

static void write_table(const char *name, const char *text) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void names_are_shown_and_never_obeyed(void **state) {
    (void)state;
    /* A text direction override, and bytes that are not UTF-8; tables have no control characters. */
    write_table("strange.csv", "a,\xe2\x80\xaegnp,bad\xff\xfe\n1,2,3\n");
    assert_int_equal(pelt("info strange.csv"), 0);
    assert_non_null(strstr(program_output, "bad\\xff\\xfe"));
    assert_null(strstr(program_output, "\xe2\x80\xae"));
    json_t *info = pelt_json("info strange.csv");
    json_decref(info);
    assert_non_null(strstr(program_output, "bad\\\\xff\\\\xfe"));
    assert_int_equal(pelt("info $(printf 'no\\033[2J\\377.glb') --json"), 1);
    assert_false(commands_a_terminal(program_errors));
    assert_non_null(strstr(program_errors, "no\\x1b[2J\\xff.glb"));
    json_t *said = json_loads(program_output, 0, NULL);
    if (!said) fail_msg("no JSON in %s", program_output);
    json_decref(said);
    assert_int_equal(pelt("fit arm.glb --train $(printf 'tr\\033[1main') -o x.pelt"), 1);
    assert_false(commands_a_terminal(program_errors));
    assert_int_equal(pelt("$(printf 'verb\\033[1m')"), 2);
    assert_false(commands_a_terminal(program_errors));
    /* What an engine says. */
    write_table("one.csv", "a\n1\n");
    assert_int_equal(
        pelt("keys train one.csv --engine \"pipe:printf 'PERR\\011\\000\\000\\000bad\\033[31mx'\" -o x.keys"), 1);
    assert_false(commands_a_terminal(program_errors));
    assert_non_null(strstr(program_errors, "bad\\x1b[31m"));
    /* A newline in a name does not fake a second message. */
    assert_int_equal(pelt("info \"$(printf 'a\\npelt: all is well.glb')\""), 1);
    assert_null(strstr(program_errors, "\npelt: all"));
}

static void signals_that_were_ignored_stay_ignored(void **state) {
    (void)state;
    char line[1200];
    const char *program = getenv("PELT_PROGRAM");
    signal(SIGHUP, SIG_DFL); /* under nohup this signal would already be ignored */
    snprintf(line, sizeof line,
             "cd %s && trap '' HUP && { %s sample arm --frames 60 --vertices 8000 -o hup >hup.txt 2>&1 & } && p=$! && "
             "while kill -HUP $p 2>/dev/null; do sleep 0.02; done; wait $p",
             test_folder(), program ? program : "build/pelt");
    assert_int_equal(system(line), 0);
    char *cut = strstr(line, "trap '' HUP && ");
    memset(cut, ' ', strlen("trap '' HUP && "));
    assert_int_not_equal(system(line), 0);
}

static void eval_writes_no_number_that_is_not_finite(void **state) {
    (void)state;
    char from[300], to[300];
    pelt_error error = {0};
    snprintf(from, sizeof from, "%s/arm.glb", test_folder()), snprintf(to, sizeof to, "%s/far.glb", test_folder());
    pelt_bundle *bundle = pelt_bundle_read(from, &error);
    assert_non_null(bundle);
    pelt_transform rest[16];
    memcpy(rest, bundle->skeleton.rest, bundle->skeleton.joint_count * sizeof *rest);
    for (uint32_t j = 0; j < bundle->skeleton.joint_count; j++) rest[j].translation[0] = 3e38f;
    pelt_skeleton skeleton = bundle->skeleton;
    skeleton.rest = rest;
    pelt_gltf_content content = {
        .mesh = &bundle->mesh, .skeleton = &skeleton, .clips = bundle->clips, .clip_count = bundle->clip_count};
    if (pelt_gltf_write(to, &content, &error)) fail_msg("%s", error.text);
    pelt_bundle_free(bundle);
    static const char *const outputs[] = {"far.pc2", "far.npy", "far_folder", "far_too.glb"};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pelt("eval arm.pelt far.glb --clip train -o %s", outputs[i]), 1);
        assert_non_null(strstr(program_errors, "not finite"));
        snprintf(to, sizeof to, "%s/%s", test_folder(), outputs[i]);
        assert_int_equal(access(to, F_OK), -1);
    }
}

/* With little address space OpenBLAS waits forever; pelt must fail or succeed, with the same bytes. */
static void little_memory_ends_in_a_sentence_or_the_same_skin(void **state) {
    (void)state;
    static const char *const methods[] = {"ssd", "wpsd"};
    if (getenv("ASAN_OPTIONS") || getenv("TSAN_OPTIONS")) skip(); /* sanitizers need much address space */
    assert_int_equal(pelt("sample arm --vertices 400 --frames 12 -o little"), 0);
    for (int m = 0; m < 2; m++) {
        assert_int_equal(pelt("fit little/arm.glb --train train --method %s -o much.pelt", methods[m]), 0);
        int done = 0, failed = 0;
        for (int megabytes = 150; megabytes <= 550; megabytes += 100) {
            char line[1200];
            const char *program = getenv("PELT_PROGRAM");
            snprintf(
                line, sizeof line,
                "cd %s && rm -f x.pelt && ulimit -v %d && timeout 20 %s fit little/arm.glb --train train --method %s "
                "-o x.pelt >out.txt 2>err.txt",
                test_folder(), 1000 * megabytes, program ? program : "build/pelt", methods[m]);
            int status = 128; /* libraries crash before main now and then, as the kernel places them: try again */
            for (int tries = 0; tries < 20 && status >= 128; tries++) status = WEXITSTATUS(system(line));
            program_read("err.txt", program_errors, sizeof program_errors);
            if (status == 0) {
                size_t sizes[2];
                void *a = file_bytes("much.pelt", &sizes[0]), *b = file_bytes("x.pelt", &sizes[1]);
                assert_int_equal(sizes[0], sizes[1]);
                assert_memory_equal(a, b, sizes[0]);
                free(a), free(b);
                done++;
            } else if (status == 127) {
                continue; /* the loader itself had no room */
            } else {
                if (status != 1 || !strstr(program_errors, "memory"))
                    fail_msg("%d MB: %d, %s", megabytes, status, program_errors);
                assert_null(strstr(program_errors, "damaged"));
                failed++;
            }
        }
        assert_true(done >= 2 && failed >= 1);
    }
}

static void a_full_disk_is_an_error(void **state) {
    (void)state;
    if (access("/dev/full", W_OK)) skip();
    assert_int_equal(pelt("fit arm.glb --train train --method ssd -o /dev/full"), 1);
    assert_non_null(strstr(program_errors, "/dev/full"));
    char line[1000];
    snprintf(line, sizeof line, "cd %s && %s info arm.glb >/dev/full 2>err.txt", test_folder(), getenv("PELT_PROGRAM"));
    assert_int_equal(WEXITSTATUS(system(line)), 1);
}

/* Interrupted at many moments, the program leaves the complete file or none, and nothing else. */
static void an_interrupt_leaves_no_half_file(void **state) {
    (void)state;
    char path[300];
    snprintf(path, sizeof path, "%s/stopped.npy", test_folder());
    size_t whole = 0;
    for (int i = 0; i < 30; i++) {
        unlink(path);
        pid_t child = fork();
        if (!child) {
            if (chdir(test_folder())) _exit(9);
            int null = open("/dev/null", O_WRONLY);
            dup2(null, 1), dup2(null, 2);
            execl(getenv("PELT_PROGRAM"), "pelt", "eval", "arm.pelt", "arm.glb", "--clip", "test", "-o", "stopped.npy",
                  NULL);
            _exit(9);
        }
        usleep((useconds_t)(700 * i));
        kill(child, SIGINT);
        int status;
        waitpid(child, &status, 0);
        struct stat about;
        if (!stat(path, &about)) {
            if (!whole) whole = (size_t)about.st_size;
            assert_int_equal(about.st_size, whole);
            assert_true(whole > 12 * 2972);
        }
        assert_int_equal(files_that_contain(".tmp"), 0);
    }
}

/* A custom character with a known deformation, and a sample with a seam. */
static void samples_are_made_of_files_and_with_seams(void **state) {
    (void)state;
    assert_int_equal(pelt("sample elbow --variant seam --vertices 400 --frames 5 -o seam --quiet"), 0);
    assert_int_equal(pelt("info seam/elbow.glb"), 0);
    assert_non_null(strstr(program_output, "400 points with seams welded"));
    for (int twice = 0; twice < 2; twice++) /* the folder has the name of the character, which is no input */
        assert_int_equal(pelt("sample box --vertices 200 --frames 3 -o box --quiet"), 0);
    assert_int_equal(pelt("sample seam/elbow.glb --frames 6 -o known --json"), 0);
    assert_non_null(strstr(program_output, "\"clips\": 2"));
    assert_int_equal(pelt("fit known/elbow.glb --train train --method psd -o known.pelt --quiet"), 0);
    assert_int_equal(pelt("measure known.pelt known/elbow.glb --clip train --json"), 0);
    assert_int_not_equal(pelt("sample known/elbow.glb -o known"), 0);
    assert_non_null(strstr(program_errors, "would be overwritten"));
    assert_int_not_equal(pelt("sample seam/elbow.glb --variant flat -o x"), 0);
    assert_int_not_equal(pelt("sample elbow --variant torn -o x"), 0);
    assert_non_null(strstr(program_errors, "torn: there is no such variant"));
}

int main(void) {
    if (!getenv("PELT_PROGRAM")) setenv("PELT_PROGRAM", "build/pelt", 1);
    char absolute[4096];
    if (realpath(getenv("PELT_PROGRAM"), absolute)) setenv("PELT_PROGRAM", absolute, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_is_there_for_every_command),
        cmocka_unit_test(misuse_is_2_and_says_what_was_expected),
        cmocka_unit_test(a_failed_job_is_1_and_names_the_file),
        cmocka_unit_test(fit_reports_training_and_held_out_errors_apart),
        cmocka_unit_test(measure_agrees_with_the_files_that_eval_writes),
        cmocka_unit_test(every_output_format_of_eval_holds_the_same_motion),
        cmocka_unit_test(a_skin_inside_of_a_file_is_a_skin),
        cmocka_unit_test(eval_writes_a_gltf_file_with_one_target_per_frame),
        cmocka_unit_test(compare_has_a_row_for_every_method_and_writes_the_report),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
        cmocka_unit_test(info_counts_and_finds_problems),
        cmocka_unit_test(bench_reports_every_instruction_set_that_works),
        cmocka_unit_test(names_are_shown_and_never_obeyed),
        cmocka_unit_test(signals_that_were_ignored_stay_ignored),
        cmocka_unit_test(little_memory_ends_in_a_sentence_or_the_same_skin),
        cmocka_unit_test(eval_writes_no_number_that_is_not_finite),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(an_interrupt_leaves_no_half_file),
        cmocka_unit_test(samples_are_made_of_files_and_with_seams),
    };
    return cmocka_run_group_tests(tests, make_sample, NULL);
}
