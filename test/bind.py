"""bind.py LIBRARY: makes, measures, runs and exports a skin of box.glb from Python, by bind.h, without the layout of a struct."""
import ctypes as c
import sys

lib = c.CDLL(sys.argv[1])


class Examples(c.Structure):  # passed by value
    _fields_ = [("count", c.c_size_t), ("list", c.c_void_p)]


class Range(c.Structure):
    _fields_ = [("first", c.c_uint32), ("count", c.c_uint32)]


for name, result in {
    "sizeof_error": c.c_size_t, "sizeof_fit_options": c.c_size_t, "sizeof_fit_report": c.c_size_t, "sizeof_skin": c.c_size_t,
    "error_text": c.c_char_p, "bundle_read": c.c_void_p, "bundle_clip": c.c_void_p, "bundle_examples": Examples,
    "fit": c.c_void_p, "bytes_data": c.c_void_p, "bytes_size": c.c_size_t, "fit_report_train": c.c_void_p,
    "measure_number": c.c_double, "output_size": c.c_size_t, "player_new": c.c_void_p, "player_pose": c.c_void_p,
    "bundle_positions": c.POINTER(c.c_float), "clip_positions": c.POINTER(c.c_float),
    "skin_vertex_slots": c.POINTER(c.c_uint32),
}.items():
    getattr(lib, "pelt_" + name).restype = result

error = c.create_string_buffer(lib.pelt_sizeof_error())


def good(value):
    return value or sys.exit(lib.pelt_error_text(error).decode())


body = c.c_void_p(good(lib.pelt_bundle_read(b"box.glb", error)))
train = c.c_void_p(good(lib.pelt_bundle_clip(body, b"train", 1, error)))
options = c.create_string_buffer(lib.pelt_sizeof_fit_options())
report = c.create_string_buffer(lib.pelt_sizeof_fit_report())
good(lib.pelt_fit_options_set(options, b"method", b"psd", error) == 0)
skin_bytes = c.c_void_p(good(lib.pelt_fit(body, lib.pelt_bundle_examples(body, c.byref(train), c.c_size_t(1)), options, report, error)))
most = lib.pelt_measure_number(c.c_void_p(lib.pelt_fit_report_train(report)), b"max")

skin = c.create_string_buffer(lib.pelt_sizeof_skin())
good(lib.pelt_open(c.c_void_p(lib.pelt_bytes_data(skin_bytes)), c.c_size_t(lib.pelt_bytes_size(skin_bytes)), skin) == 0)
slots = (c.c_float * (lib.pelt_output_size(skin) // 4))()
player = c.c_void_p(good(lib.pelt_player_new(skin, body, error)))
pose = c.c_void_p(lib.pelt_player_pose(player, train, 2))
lib.pelt_deform(skin, pose, Range(0, lib.pelt_skin_block_count(skin)), slots, None)
vertices, places = lib.pelt_skin_vertex_count(skin), lib.pelt_skin_vertex_slots(skin)
truth = lib.pelt_clip_positions(train)
worst = max(abs(slots[3 * places[v] + i] - truth[3 * (2 * vertices + v) + i]) for v in range(vertices) for i in range(3))
good(lib.pelt_export_clips(skin, body, c.byref(train), c.c_size_t(1), b"plain.glb", error) == 0)
print(f"Python: {vertices} vertices, frame 2 is off by {worst:.3g} along an axis, all frames by at most {most:.3g}")
lib.pelt_player_free(player), lib.pelt_fit_report_free(report), lib.pelt_bytes_free(skin_bytes), lib.pelt_bundle_free(body)
sys.exit(not worst <= 1.0001 * most)
