"""strip.py OUT.png [--left F] [--right F] [--top F] [--bottom F] PICTURE.png... [--row PICTURE.png...]: pictures side by side, as
they come from `pelt render`.

--left, --right, --top and --bottom say which part of the pictures after them is taken, as fractions: --left 0 --right 0.5 is the
truth of `pelt render --beside`, 0.5 and 1 the skin. --row begins another row, as wide as the first;
--blank leaves the place of the next picture white.
"""

import struct
import sys
import zlib


def read_png(path):
    """Rows of bytes, and bytes per pixel, of a PNG of 8 bits a channel."""
    data, at, packed = open(path, "rb").read(), 8, b""
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        if kind == b"IHDR":
            width, _, depth, colour = struct.unpack_from(">IIBB", data, at + 8)
        if kind == b"IDAT":
            packed += data[at + 8 : at + 8 + size]
        at += 12 + size
    step = {2: 3, 6: 4}[colour]
    if depth != 8:
        sys.exit("%s: not 8 bits a channel" % path)
    raw, rows, above = zlib.decompress(packed), [], bytes(width * step)
    for start in range(0, len(raw), width * step + 1):
        row, how = bytearray(raw[start + 1 : start + 1 + width * step]), raw[start]
        for i in range(len(row)):
            a, b, c = (row[i - step] if i >= step else 0), above[i], (above[i - step] if i >= step else 0)
            nearest = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            row[i] = (row[i] + (0, a, b, (a + b) // 2, nearest)[how]) & 255
        rows.append(above := bytes(row))
    return rows, step


def write_png(path, rows):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, 2, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    with open(path, "wb") as out:
        out.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b""))


def over_white(row, step):
    if step == 3:
        return row
    out = bytearray()
    for i in range(0, len(row), 4):
        alpha = row[i + 3]
        out += bytes((c * alpha + 255 * (255 - alpha)) // 255 for c in row[i : i + 3])
    return bytes(out)


def main(target, *words):
    sides = ["--left", "--right", "--top", "--bottom"]
    done, strip, part, blank, words = [], None, [0.0, 1.0, 0.0, 1.0], False, list(words)
    while words:
        word = words.pop(0)
        if word in sides:
            part[sides.index(word)] = float(words.pop(0))
            continue
        if word == "--row":
            done, strip = done + strip, None
            continue
        if word == "--blank":
            blank = True
            continue
        rows, step = read_png(word)
        low, high = (round(f * (len(rows[0]) // step)) * step for f in part[:2])
        first, last = (round(f * len(rows)) for f in part[2:])
        rows = [over_white(row[low:high], step) for row in rows[first:last]]
        if blank:
            rows, blank = [b"\xff" * len(row) for row in rows], False
        strip = [a + b for a, b in zip(strip, rows)] if strip else rows
    rows = done + strip
    write_png(target, [row + b"\xff" * (len(rows[0]) - len(row)) for row in rows])


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
