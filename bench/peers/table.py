"""The report: what was measured as Markdown, losses like wins."""


def _table(header, rows):
    align = ["---" if i == 0 else "---:" for i in range(len(header))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, align, *rows])


def _interval(pair, digits):
    return f"{pair[0]:.{digits}f} to {pair[1]:.{digits}f}"


def _race_row(row, model):
    name = f"{row['name']} {row['precision']}"
    if "absent" in row:
        return [name, f"not available: {row['absent']}", "", "", "", "", ""]
    check = row["check"]
    share = "" if row["precision"] == "fp32" else f"{check['agreement']:.1%}"
    return [name, f"{row['median_ms']:.2f}", _interval(row["interval_ms"], 2),
            f"{row['ratio']:.2f}", _interval(row["ratio_interval"], 2),
            f"{check['max_abs_diff']:.1e}", share]


def race(found):
    header = ["runner", "median ms", "95% interval", "times ONNX Runtime fp32", "95% interval",
              "max. logit difference", "agreement"]
    parts = []
    for model in found:
        rows = [_race_row(row, model) for row in model["rows"] if row.get("boundary") != "call"]
        parts.append(f"### {model['model']}\n\n{_table(header, rows)}")
    return "\n\n".join(parts)


def calls(found):
    rows = []
    for model in found:
        for row in model["rows"]:
            if row.get("boundary") == "call":
                rows.append([f"{model['model']} {row['precision']}", f"{row['median_ms']:.3f}",
                             f"{row['of_device']:.3f}", _interval(row["of_device_interval"], 3)])
    header = ["Assay", "`call`, median ms", "of `device`", "95% interval"]
    return _table(header, rows) if rows else "Not measured."


def resize(found):
    rows = [[row["step"].replace("_", " "), f"{row['assay_us']:.0f}", f"{row['pillow_us']:.0f}",
             f"{row['ratio']:.2f}", _interval(row["interval"], 2)] for row in found["rows"]]
    header = ["step", "Assay µs", "Pillow µs", "Pillow / Assay", "95% interval"]
    return (f"{found['image']}; processor time on one thread, {found['rounds']} rounds; Pillow "
            f"{found['pillow']} with libjpeg-turbo {found['libjpeg_turbo']}; equal pixels.\n\n"
            + _table(header, rows))


def startup(found):
    rows = []
    for row in found["rows"]:
        if "absent" in row:
            rows.append([row["name"], f"not available: {row['absent']}", "", "", "", "", ""])
            continue
        rows.append([row["name"], f"{row['median_seconds'] * 1e3:.1f}",
                     _interval([x * 1e3 for x in row["interval_seconds"]], 1),
                     f"{row['of_onnxruntime']:.2f}", _interval(row["of_onnxruntime_interval"], 2),
                     f"{row['peak_mib']:.1f}", f"{row['peak_of_onnxruntime']:.2f}"])
    header = ["program", "median ms", "95% interval", "of ONNX Runtime's", "95% interval",
              "peak MiB", "of ONNX Runtime's"]
    return (f"{found['model']}, whole processes, {len(found['rows'][-1]['samples'])} of each.\n\n"
            + _table(header, rows))


def control(found):
    rows = []
    for model in found:
        for row in model["rows"]:
            if "absent" in row:
                continue
            rows.append([f"{model['model']}: {row['name']} {row['precision']} {row['boundary']}",
                         f"{row['ms_until_still']:.1f}", f"{row['alone_ms']:.2f}",
                         f"{row['alone_ms'] / row['median_ms']:.2f}"])
    header = ["runner", "ms until still", "alone ms", "alone / in turns"]
    return _table(header, rows)


def head(report):
    machine, options = report["machine"], report["options"]
    versions = ", ".join(f"{name} {version or 'absent'}"
                         for name, version in machine["versions"].items())
    load = ", ".join(f"{x:.2f}" for x in machine["load_at_start"])
    aside = ("other work was pushed aside while timing (real-time scheduling)"
             if options["priority"] else "no priority over other work")
    return f"""# The race

{machine['cpu']} (family {machine['cpu_family'][0]}, model {machine['cpu_family'][1]}; \
{', '.join(machine['features'])}), {machine['cores']} cores\
{', a virtual machine' if machine['virtual'] else ''}; load at start {load}; {aside}.
Assay {machine['assay']} (commit {machine['commit']}); {versions}.

Batch 1, {options['threads']} threads, fp32 numbers resident in memory to logits resident in memory (`device`). \
{options['warmup']} rounds to warm up, then {options['rounds']} rounds with {options['calls']} timed calls of every runner \
each, another one first each round, after 2 calls that are not timed and a wait until nobody uses a core. \
Inputs: 4 images of seeded noise in rotation. Intervals: bootstrap over rounds. A ratio above 1 is \
faster than ONNX Runtime fp32. Logit difference and agreement: with timm in fp32, on 200 images."""


def markdown(report):
    parts = [head(report)]
    if "race" in report:
        parts.append("## Networks\n\n" + race(report["race"]))
        parts.append("## What `call` adds\n\nCropped 8-bit RGB to logits, against `device`, same "
                     "rounds.\n\n" + calls(report["race"]))
    if "resize" in report:
        parts.append("## Decode, resize and crop\n\n" + resize(report["resize"]))
    if "startup" in report:
        parts.append("## From start to the first answer\n\n" + startup(report["startup"]))
    if "race" in report:
        parts.append("## Control\n\nHow long after its turn a runner still used a core, and its "
                     "median by itself, the others idle throughout.\n\n" + control(report["race"]))
    return "\n\n".join(parts) + "\n"
