"""Turns: every runner is timed in every round, and nobody runs while another does."""

import time

import numpy as np

from models import RANDOM_INPUTS

LOOK_NS = 2_000_000
IDLE_SHARE = 0.05  # of one core: waking up to look costs a little itself
PATIENCE_NS = 300_000_000
WARM_CALLS = 2


def _processor_clock(process):
    """The clock of another process's processor time: Linux lays its number down so."""
    return (~process.pid << 3) | 2


class Stillness:
    """Waits until neither this process nor its children use the processor: threads of a runtime
    that spin after its call would slow whoever comes next."""

    def __init__(self, runners):
        self.clocks = [time.CLOCK_PROCESS_CPUTIME_ID]
        self.clocks += sorted({_processor_clock(x.process) for x in runners if x.process})

    def _used(self):
        return sum(time.clock_gettime_ns(clock) for clock in self.clocks)

    def wait(self):
        """Nanoseconds until it was still; whether it became so."""
        begin = time.perf_counter_ns()
        while True:
            used, start = self._used(), time.perf_counter_ns()
            time.sleep(LOOK_NS * 1e-9)
            now = time.perf_counter_ns()
            if self._used() - used < IDLE_SHARE * (now - start):
                return start - begin, True
            if now - begin > PATIENCE_NS:
                return now - begin, False


def _processes(runners):
    return sorted({runner.process.pid for runner in runners if runner.process})


def take_turns(runners, rounds, warmup, calls, priority):
    """Nanoseconds as [rounds, calls] by runner, and what was seen between the turns."""
    stillness = Stillness(runners)
    samples = {runner.key: [] for runner in runners}
    unrest = {runner.key: [] for runner in runners}
    restless = 0
    with priority.raised(_processes(runners)):
        for round_ in range(warmup + rounds):
            for turn in range(len(runners)):
                runner = runners[(round_ + turn) % len(runners)]
                times = runner.run(round_ % RANDOM_INPUTS, WARM_CALLS, calls)
                waited, still = stillness.wait()
                restless += not still
                unrest[runner.key].append(waited)
                if round_ >= warmup:
                    samples[runner.key].append(times)
    return ({key: np.array(times) for key, times in samples.items()},
            {"restless_turns": restless,
             "median_ms_until_still": {key: float(np.median(waits)) / 1e6
                                       for key, waits in unrest.items()}})


def alone(runners, calls, priority):
    """The control: each runner by itself for `calls` calls on end, the others idle all along."""
    stillness = Stillness(runners)
    medians = {}
    with priority.raised(_processes(runners)):
        for runner in runners:
            stillness.wait()
            medians[runner.key] = float(np.median(runner.run(0, WARM_CALLS, calls)))
    return medians
