"""Races Assay against its peers: what bench/peers/run runs, in an environment with the peers."""

import json
import os
import sys
import time

import options as choices


def log(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def checked(model, folder, runners, absent):
    """The runners whose logits are what they should be, ready to be timed, and what was found."""
    import checks
    import exports
    import field
    photos, noise = model.checked_inputs(folder), model.random_inputs(folder)
    references = [exports.reference(model, inputs, folder) for inputs in (photos, noise)]
    kept, found = [], {}
    for runner in runners:
        try:
            found[runner.key] = checks.check(runner, photos, references[0], noise, references[1])
            kept.append(runner)
        except (ValueError, RuntimeError) as error:
            log(f"{model.name}: {runner.key} is left out: {error}")
            if runner.boundary == "device":
                absent.append(field.Absent(runner.name, runner.precision, str(error)))
    return kept, found


def row_of(runner, check, samples, unrest, alone):
    import intervals
    times = samples[runner.key] / 1e6
    peer = samples["ONNX Runtime fp32 device"] / 1e6
    median, interval = intervals.median(times)
    ratio, ratio_interval = intervals.ratio(peer, times)
    row = {"name": runner.name, "precision": runner.precision, "boundary": runner.boundary,
           "detail": runner.detail, "median_ms": median, "interval_ms": interval, "ratio": ratio,
           "ratio_interval": ratio_interval, "check": check,
           "ms_until_still": unrest["median_ms_until_still"][runner.key],
           "alone_ms": alone[runner.key] / 1e6, "samples_ns": samples[runner.key].tolist()}
    if runner.boundary == "call":
        device = samples[runner.key.removesuffix("call") + "device"] / 1e6
        row["of_device"], row["of_device_interval"] = intervals.ratio(times, device)
    return row


def in_order(rows):
    """By precision, and within it as they came: Assay first."""
    return sorted(rows, key=lambda row: choices.PRECISIONS.index(row["precision"]))


def race_model(name, programs, options, priority):
    import field
    import models
    import turns
    model = models.Model(name)
    folder = models.folder_of(options.cache, model)
    assembled, absent = field.assemble(model, folder, programs, options, log)
    try:
        log(f"{name}: comparing logits")
        runners, found = checked(model, folder, assembled, absent)
        if options.prepare:
            return None
        log(f"{name}: timing {len(runners)} runners")
        samples, unrest = turns.take_turns(runners, options.rounds, options.warmup, options.calls,
                                           priority)
        alone = turns.alone(runners, options.calls * 5, priority)
        rows = [row_of(runner, found[runner.key], samples, unrest, alone) for runner in runners]
        rows += [{"name": x.name, "precision": x.precision, "absent": x.reason} for x in absent]
        return {"model": name, "restless_turns": unrest["restless_turns"], "rows": in_order(rows)}
    finally:
        for runner in assembled:
            runner.close()


def measure(options):
    import assay
    import machine
    log("building the programs")
    programs = assay.Programs(choices.ROOT, options.build, not options.no_build)
    priority = machine.Priority(options.priority)
    report = {"machine": machine.describe(programs.assay),
              "options": {"threads": options.threads, "rounds": options.rounds,
                          "calls": options.calls, "warmup": options.warmup,
                          "priority": options.priority}}
    if "race" in options.parts:
        report["race"] = [race_model(name, programs, options, priority) for name in options.models]
    if options.prepare:
        return None
    if "resize" in options.parts:
        import pillow_resize
        log("timing decode, resize and crop")
        with priority.raised():
            report["resize"] = pillow_resize.compare(str(programs.bench("image_bench")),
                                                     str(pillow_resize.PHOTO), 15, 0.1)
    if "startup" in options.parts:
        import startup
        log("timing whole processes")
        report["startup"] = startup.measure(programs, options, priority)
    return report


def main():
    options = choices.parse()
    options.cache.mkdir(parents=True, exist_ok=True)
    # Read by libraries when they are loaded, so set before any of them is.
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(options.cache.resolve() / "inductor")
    begin = time.monotonic()
    report = measure(options)
    if report is not None:
        import table
        options.output.mkdir(parents=True, exist_ok=True)
        (options.output / "peers.json").write_text(json.dumps(report) + "\n")
        text = table.markdown(report)
        (options.output / "peers.md").write_text(text)
        print(text)
    log(f"done in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
