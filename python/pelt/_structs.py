"""The structs of pelt's headers that callers fill in. Their sizes are compared with the library's before they are used."""

from __future__ import annotations

import ctypes as c

P, U, I, D, F, S = c.c_void_p, c.c_uint32, c.c_int, c.c_double, c.c_float, c.c_size_t

STEP = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_char_p, c.c_double)
READ = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_uint32, c.c_uint32, c.c_void_p, c.c_void_p)
EVALUATE = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p, c.c_void_p, c.c_uint32, c.c_void_p)


class Range(c.Structure):
    _fields_ = [("first", U), ("count", U)]


class Progress(c.Structure):
    c_name = "pelt_progress"
    _fields_ = [("step", STEP), ("user", P)]


class Example(c.Structure):
    c_name = "pelt_example"
    _fields_ = [("clip", P), ("frame", U), ("weight", F)]


class Examples(c.Structure):
    c_name = "pelt_examples"
    _fields_ = [("count", S), ("list", P)]


class Findings(c.Structure):
    c_name = "pelt_findings"
    _fields_ = [("count", S), ("list", P)]


class PoseInput(c.Structure):
    c_name = "pelt_pose_input"
    _fields_ = [("locals", P), ("globals", P), ("controls", P), ("level", c.c_float)]


class Stream(c.Structure):
    c_name = "pelt_stream"
    _fields_ = [("data", P), ("stride", S), ("half", I)]


class Output(c.Structure):
    c_name = "pelt_output"
    _fields_ = [("positions", Stream), ("normals", Stream), ("tangents", Stream), ("vertices", P), ("box", P)]


class Influences(c.Structure):
    c_name = "pelt_influences"
    _fields_ = [("first", P), ("joints", P), ("weights", P)]


class MeshObject(c.Structure):
    c_name = "pelt_mesh_object"
    _fields_ = [("name", c.c_char_p), ("mesh_name", c.c_char_p), ("first", U), ("count", U)]


class CharacterInput(c.Structure):
    c_name = "pelt_character"
    _fields_ = [
        ("name", c.c_char_p), ("vertex_count", U), ("triangle_count", U), ("joint_count", U), ("influences_per_vertex", U),
        ("control_count", U), ("positions", P), ("normals", P), ("uvs", P), ("tangents", P), ("triangles", P), ("joints", P),
        ("weights", P), ("joint_names", P), ("parents", P), ("rest", P), ("inverse_bind", P), ("control_names", P),
        ("control_rest", P),
    ]  # fmt: skip


class ClipInput(c.Structure):
    c_name = "pelt_clip_input"
    _fields_ = [("name", c.c_char_p), ("frame_count", U), ("poses", P), ("positions", P), ("controls", P), ("normals", P),
                ("frames_per_second", D)]  # fmt: skip


class CacheOptions(c.Structure):
    c_name = "pelt_cache_options"
    _fields_ = [("fix", I), ("axes", I * 3), ("scale", D), ("offset", D * 3), ("set_frames", I), ("frames", I), ("space", I)]


class ControlScale(c.Structure):
    c_name = "pelt_control_scale"
    _fields_ = [("name", c.c_char_p), ("scale", D)]


class DriveRuleInput(c.Structure):
    c_name = "pelt_drive_rule"
    _fields_ = [
        ("joints", c.c_char_p), ("turn_count", U), ("twist_count", U), ("bend_count", U), ("turns", P), ("twists", P),
        ("bends", P), ("upstream", I), ("downstream", I), ("k", D),
    ]  # fmt: skip


class DriveRules(c.Structure):
    c_name = "pelt_drive_rules"
    _fields_ = [("count", S), ("list", P)]


class ExportOptions(c.Structure):
    c_name = "pelt_export_options"
    _fields_ = [("clips", P), ("clip_count", S), ("targets", U), ("plain_normals", I), ("threads", U),
                ("influences", U), ("embed", P)]  # fmt: skip


class ExportReportOutput(c.Structure):
    c_name = "pelt_export_report"
    _fields_ = [
        ("driven_count", U), ("pair_count", U), ("target_count", U), ("whole_count", U), ("beyond_four", U), ("shear", D),
        ("compressed", I), ("worst", D), ("rms", D), ("normal_rms_degrees", D), ("has_truth", I), ("true_rms", D * 2),
        ("refitted_count", U), ("refitted_frames", U), ("refitted_worst", D), ("refitted_rms", D),
    ]  # fmt: skip


class ExportFramesOptions(c.Structure):
    c_name = "pelt_export_frames_options"
    _fields_ = [("deform", P), ("user", P), ("progress", Progress), ("flattened", P), ("like", c.c_char_p), ("like_clip", P)]


class Frames(c.Structure):
    c_name = "pelt_frames"
    _fields_ = [
        ("frame_count", U), ("point_count", U), ("component_count", U), ("read", READ), ("user", P), ("name", c.c_char_p),
        ("shots", P), ("controls", P), ("control_count", U), ("control_names", P), ("weights", P),
    ]  # fmt: skip


class Misfit(c.Structure):
    c_name = "pelt_misfit"
    _fields_ = [("rms", F), ("largest", F), ("e", F)]


class KeysOptions(c.Structure):
    c_name = "pelt_keys_options"
    _fields_ = [
        ("recipe", I), ("keys", U), ("basis", U), ("error", D), ("residual", D), ("batch", U), ("grid", U), ("spacing", D),
        ("fiducials", P), ("fiducial_count", U), ("uncentred", c.c_bool), ("shared", c.c_bool), ("engine_points", U), ("regions", U),
        ("witnesses", U), ("ridge", D), ("bar", D), ("positions", P), ("diagonal", D), ("exact", c.c_bool), ("previous", P),
        ("memory", S), ("seed", U), ("describe", P), ("describe_user", P), ("progress", Progress),
    ]  # fmt: skip


class Forecast(c.Structure):
    c_name = "pelt_forecast"
    _fields_ = [("expected", D), ("low", D), ("high", D)]


class KeysForecast(c.Structure):
    c_name = "pelt_keys_forecast"
    _fields_ = [
        ("rehearsals", U), ("frames", U), ("hit_rate", Forecast), ("error_p995", Forecast), ("evaluated", Forecast),
        ("bad_frames", U), ("missed_bad", U),
    ]  # fmt: skip


class KeysReportOutput(c.Structure):
    c_name = "pelt_keys_report"
    _fields_ = [
        ("frames", U), ("keys", U), ("basis", U), ("regions", U), ("witnesses", U), ("witnesses_each_frame", U),
        ("error_p995", D), ("ridge", D), ("hit_rate", D), ("bad_caught", D), ("bad_frames", U), ("by_controls", c.c_bool),
        ("curve_keys", U * 8), ("curve_error", D * 8), ("forgotten", D), ("forecast", KeysForecast),
    ]  # fmt: skip


class SoftCacheOptions(c.Structure):
    c_name = "pelt_soft_cache_options"
    _fields_ = [
        ("e_min", F), ("e_max", F), ("step", F), ("whole", I), ("new_each_frame", I), ("no_witnesses", I), ("absolute", I),
    ]  # fmt: skip


class KeysFrame(c.Structure):
    c_name = "pelt_keys_frame"
    _fields_ = [
        ("shot", U), ("worst_point", U), ("error", F), ("final", F), ("e", F), ("trusted_bad", c.c_bool), ("jump", F),
        ("switch_jump", F), ("still", F), ("evaluated", U), ("verdict", I),
    ]  # fmt: skip


class KeysMeasureOptions(c.Structure):
    c_name = "pelt_keys_measure_options"
    _fields_ = [
        ("soft_cache", SoftCacheOptions), ("bar", D), ("point_cost", D), ("call_cost", D), ("look", P), ("look_user", P),
        ("progress", Progress),
    ]  # fmt: skip


class KeysMeasureOutput(c.Structure):
    c_name = "pelt_keys_measure"
    _fields_ = [
        ("frame_count", U), ("shot_count", U), ("frames", P), ("p50", D), ("p99", D), ("p995", D), ("largest", D), ("rms", D),
        ("hit_rate", D), ("final_p999", D), ("final_largest", D), ("under_bar", D), ("final_under_bar", D), ("good_shots", U),
        ("bad_frames", U), ("missed_bad", U), ("verdicts", U * 5), ("recall", D), ("precision", D), ("correlation", D),
        ("jump", D), ("switch_jump", D), ("still_jump", D), ("still_frames", U), ("evaluated", D), ("witnesses", D),
        ("fill_seconds", D), ("point_cost", D), ("call_cost", D), ("calls", D), ("speedup", D), ("arena", P),
    ]  # fmt: skip


class EngineCall(c.Structure):
    c_name = "pelt_engine_call"
    _fields_ = [("evaluate", EVALUATE), ("user", P), ("control_count", U)]


class FrameInfo(c.Structure):
    c_name = "pelt_soft_cache_frame_info"
    _fields_ = [("verdict", I), ("misfit", Misfit), ("e", F), ("evaluated", U), ("witnesses", U), ("calls", U)]


class SoftCacheState(c.Structure):
    c_name = "pelt_soft_cache"
    _fields_ = [
        ("keys", P), ("options", SoftCacheOptions), ("engine", EngineCall), ("hits", c.c_uint64), ("parts", c.c_uint64),
        ("blends", c.c_uint64), ("misses", c.c_uint64), ("doubts", c.c_uint64), ("evaluated", c.c_uint64),
        ("witnesses", c.c_uint64), ("calls", c.c_uint64), ("private_memory", P), ("private_started", I), ("private_witness", U),
    ]  # fmt: skip
