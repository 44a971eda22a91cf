"""Image files of every kind that the decoder reads, as name → bytes. Those that Pillow cannot write
are put together here chunk by chunk."""

import io
import struct
import zlib

import numpy as np
from PIL import Image

ORIENTATION = 0x0112


def picture(width, height, bands=3, seed=0):
    """Smooth shapes with some noise, so that codecs have both to deal with."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    rng = np.random.default_rng(seed)
    planes = [128 + 90 * np.sin(x / (5 + 3 * b) + b) * np.cos(y / (4 + 2 * b)) +
              rng.normal(0, 12, (height, width)) for b in range(bands)]
    array = np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)
    return array[..., 0] if bands == 1 else array


def save(image, format, **options):
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


# JPEG


def segments(jpeg):
    """(marker, start, end) of each segment before the scan data."""
    at = 2
    while True:
        marker = jpeg[at + 1]
        size = struct.unpack(">H", jpeg[at + 2:at + 4])[0]
        yield marker, at, at + 2 + size
        if marker == 0xDA:
            return
        at += 2 + size


def edited(jpeg, marker, edit):
    """`jpeg` with its first segment of this marker replaced by edit(segment)."""
    for found, start, end in segments(jpeg):
        if found == marker:
            return jpeg[:start] + edit(bytearray(jpeg[start:end])) + jpeg[end:]
    raise ValueError(f"no segment {marker:#x}")


def with_byte(position, value):
    def edit(segment):
        segment[position] = value
        return bytes(segment)
    return edit


def exif_with(orientation, order="<"):
    head = b"II*\0" if order == "<" else b"MM\0*"
    return head + struct.pack(order + "IHHHIHHI", 8, 1, ORIENTATION, 3, 1, orientation, 0, 0)


def xmp_with(orientation):
    return (b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description tiff:Orientation="%d"/>'
            b"</x:xmpmeta>" % orientation)


def app1(jpeg, body):
    return jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body + jpeg[2:]


def jpeg_files():
    rgb = Image.fromarray(picture(61, 45))
    even = Image.fromarray(picture(64, 64, seed=1))
    grey = Image.fromarray(picture(61, 45, 1))
    cmyk = Image.fromarray(picture(40, 30, 4, seed=2), "CMYK")
    files = {}
    for name, subsampling in [("444", 0), ("422", 1), ("420", 2)]:
        files[f"baseline_{name}.jpg"] = save(rgb, "JPEG", quality=80, subsampling=subsampling)
        files[f"progressive_{name}.jpg"] = save(rgb, "JPEG", quality=80, subsampling=subsampling,
                                                progressive=True)
    for width, height in [(1, 1), (2, 9), (9, 2), (17, 16), (16, 17)]:
        files[f"tiny_{width}x{height}.jpg"] = save(
            Image.fromarray(picture(width, height, seed=3)), "JPEG", quality=70)
    files["quality_5.jpg"] = save(rgb, "JPEG", quality=5)
    files["quality_100.jpg"] = save(rgb, "JPEG", quality=100, subsampling=0, optimize=True)
    files["restart.jpg"] = save(rgb, "JPEG", quality=80, restart_marker_blocks=3)
    files["grey.jpg"] = save(grey, "JPEG", quality=80)
    files["grey_progressive.jpg"] = save(grey, "JPEG", quality=80, progressive=True)
    files["stored_as_rgb.jpg"] = save(rgb, "JPEG", quality=80, keep_rgb=True)
    files["photo.jpg"] = save(Image.fromarray(picture(500, 375, seed=4)), "JPEG", quality=60)
    # Chroma half as high or a quarter as wide: the same blocks read under other sampling factors.
    for name, subsampling, factors in [("440", 1, 0x12), ("411", 2, 0x41)]:
        files[f"baseline_{name}.jpg"] = edited(
            save(even, "JPEG", quality=80, subsampling=subsampling), 0xC0, with_byte(11, factors))
    plain = save(cmyk, "JPEG", quality=80)
    files["cmyk_adobe.jpg"] = plain
    files["cmyk_progressive.jpg"] = save(cmyk, "JPEG", quality=80, progressive=True)
    files["ycck_adobe.jpg"] = edited(plain, 0xEE, with_byte(15, 2))
    files["cmyk_without_adobe.jpg"] = edited(plain, 0xEE, lambda segment: b"")
    # Stray bytes before the end: libjpeg warns, and the picture is whole.
    base = files["baseline_420.jpg"]
    files["stray_bytes.jpg"] = base[:-2] + b"\0\0\0\0" + base[-2:]
    files["bytes_after_end.jpg"] = base + b"trailing"
    small = save(Image.fromarray(picture(13, 7, seed=5)), "JPEG", quality=90, subsampling=0)
    for orientation in range(1, 9):
        order = "<" if orientation % 2 else ">"
        files[f"orientation_{orientation}.jpg"] = app1(
            small, b"Exif\0\0" + exif_with(orientation, order))
    files["orientation_9.jpg"] = app1(small, b"Exif\0\0" + exif_with(9))
    files["orientation_xmp.jpg"] = app1(small, b"http://ns.adobe.com/xap/1.0/\0" + xmp_with(6))
    return files


# PNG


def chunk(kind, body=b""):
    return (struct.pack(">I", len(body)) + kind + body +
            struct.pack(">I", zlib.crc32(kind + body) & 0xFFFFFFFF))


ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
         (0, 1, 1, 2)]


def packed_rows(samples, depth, first_filter):
    """Rows of samples (height, width, channels) as PNG stores them, cycling through the filters."""
    previous = None
    out = b""
    for y, row in enumerate(samples):
        flat = row.reshape(-1)
        if depth == 16:
            data = flat.astype(">u2").tobytes()
        elif depth == 8:
            data = flat.astype(np.uint8).tobytes()
        else:
            bits = "".join(format(int(v), f"0{depth}b") for v in flat)
            bits += "0" * (-len(bits) % 8)
            data = bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))
        step = max(1, samples.shape[2] * depth // 8)
        line = np.frombuffer(data, np.uint8).astype(np.int64)
        above = np.zeros_like(line) if previous is None else previous
        left = np.concatenate([np.zeros(step, np.int64), line[:-step]])[:line.size]
        corner = np.concatenate([np.zeros(step, np.int64), above[:-step]])[:line.size]
        kind = (y + first_filter) % 5
        guess = left + above - corner
        nearest = np.where(
            (abs(guess - left) <= abs(guess - above)) & (abs(guess - left) <= abs(guess - corner)),
            left, np.where(abs(guess - above) <= abs(guess - corner), above, corner))
        predicted = [0, left, above, (left + above) // 2, nearest][kind]
        out += bytes([kind]) + ((line - predicted) % 256).astype(np.uint8).tobytes()
        previous = line
    return out


def png(samples, depth, colour, extra=b"", interlaced=False, after=b""):
    height, width, _ = samples.shape
    if interlaced:
        passes = [samples[y::dy, x::dx] for x, y, dx, dy in ADAM7]
        raw = b"".join(packed_rows(p, depth, 0) for p in passes if p.size)
    else:
        raw = packed_rows(samples, depth, 0)
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, int(interlaced))
    compressed = zlib.compress(raw, 9)
    half = len(compressed) // 2
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra +
            chunk(b"IDAT", compressed[:half]) + chunk(b"IDAT", compressed[half:]) + after +
            chunk(b"IEND"))


def png_files():
    rng = np.random.default_rng(7)
    files = {}
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
    names = {0: "grey", 2: "rgb", 3: "palette", 4: "grey_alpha", 6: "rgba"}
    depths = {0: [1, 2, 4, 8, 16], 2: [8, 16], 3: [1, 2, 4, 8], 4: [8, 16], 6: [8, 16]}
    for colour, name in names.items():
        for depth in depths[colour]:
            samples = rng.integers(0, 1 << depth, (11, 13, channels[colour]))
            if colour == 0 and depth == 16:  # values on both sides of where Pillow clips
                samples[::2] = rng.integers(0, 300, samples[::2].shape)
            extra = b""
            if colour == 3:
                entries = (1 << depth) * 3 // 4  # some indices are past the palette
                extra = chunk(b"PLTE", rng.integers(0, 256, entries * 3).astype(np.uint8).tobytes())
            for interlaced in (False, True):
                suffix = "_interlaced" if interlaced else ""
                files[f"{name}_{depth}{suffix}.png"] = png(samples, depth, colour, extra, interlaced)
            transparent = {0: struct.pack(">H", int(samples[0, 0, 0])),
                           2: struct.pack(">HHH", *map(int, (list(samples[0, 0]) + [0, 0])[:3])),
                           3: bytes(rng.integers(0, 256, 2).astype(np.uint8))}
            if colour in transparent:
                files[f"{name}_{depth}_trns.png"] = png(
                    samples, depth, colour, extra + chunk(b"tRNS", transparent[colour]))
    rgb = rng.integers(0, 256, (9, 5, 3))
    files["one_entry_trns.png"] = png(
        rng.integers(0, 2, (4, 4, 1)), 8, 3,
        chunk(b"PLTE", bytes([1, 2, 3, 250, 251, 252])) + chunk(b"tRNS", b"\0"))
    files["gamma.png"] = png(rgb, 8, 2, chunk(b"gAMA", struct.pack(">I", 100000)))
    files["tiny_1x1_interlaced.png"] = png(rgb[:1, :1], 8, 2, interlaced=True)
    files["written_by_pillow.png"] = save(Image.fromarray(picture(61, 45)), "PNG")
    files["orientation_exif.png"] = png(rgb, 8, 2, chunk(b"eXIf", exif_with(6)))
    files["orientation_exif_at_end.png"] = png(rgb, 8, 2, after=chunk(b"eXIf", exif_with(8, ">")))
    files["orientation_xmp.png"] = png(
        rgb, 8, 2, chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + xmp_with(5)))
    profile = exif_with(7)
    text = "\nexif\n%8d\n%s\n" % (len(profile), profile.hex())
    files["orientation_raw_profile.png"] = png(
        rgb, 8, 2, chunk(b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(text.encode())))
    return files


# WebP


def riff(*chunks):
    body = b"WEBP"
    for kind, data in chunks:
        body += kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def u24(value):
    return struct.pack("<I", value)[:3]


def animation_with_offset():
    """A first frame of 12 × 8 at (4, 2) on a canvas of 20 × 14."""
    still = save(Image.fromarray(picture(12, 8, seed=8)), "WEBP", lossless=True)
    bitstream = still[12:]
    frame = u24(2) + u24(1) + u24(11) + u24(7) + u24(100) + b"\0" + bitstream
    canvas = struct.pack("<I", 0x02) + u24(19) + u24(13)
    return riff((b"VP8X", canvas), (b"ANIM", struct.pack("<IH", 0xFF336699, 0)), (b"ANMF", frame),
                (b"ANMF", frame))


def webp_files():
    rgb = Image.fromarray(picture(61, 45))
    rgba = Image.fromarray(picture(61, 45, 4, seed=9), "RGBA")
    frames = [Image.fromarray(picture(24, 18, 4, seed=s), "RGBA") for s in (10, 11)]
    small = Image.fromarray(picture(13, 7, seed=5))
    files = {
        "lossy.webp": save(rgb, "WEBP", quality=70),
        "lossy_odd.webp": save(Image.fromarray(picture(7, 3, seed=12)), "WEBP", quality=50),
        "lossy_alpha.webp": save(rgba, "WEBP", quality=70),
        "lossless.webp": save(rgb, "WEBP", lossless=True),
        "lossless_alpha.webp": save(rgba, "WEBP", lossless=True, exact=True),
        "tiny_1x1.webp": save(rgb.crop((0, 0, 1, 1)), "WEBP", lossless=True),
        "animated.webp": save(frames[0], "WEBP", save_all=True, append_images=frames[1:],
                              duration=50),
        "animated_offset.webp": animation_with_offset(),
    }
    for orientation in (3, 5):
        files[f"orientation_{orientation}.webp"] = save(
            small, "WEBP", lossless=True, exif=b"Exif\0\0" + exif_with(orientation))
    files["orientation_xmp.webp"] = save(small, "WEBP", lossless=True, xmp=xmp_with(8))
    return files


def all_files():
    return jpeg_files() | png_files() | webp_files()
