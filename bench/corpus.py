#!/usr/bin/env python3
"""Compares how long several builds of longhaul take to compact the sessions of a folder.

usage: bench/corpus.py FOLDER BINARY...

Each build compacts each session five times, taking turns; the shortest of the times that `compress` itself reports counts.
Sessions that one of them cannot read are left out. Printed are the sums, and their ratio to the first build's.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

RUNS = 5


def milliseconds(binary, session, home):
    command = [binary, "compress", "--force", "--json", "--snapshot-budget", "4000", session]
    done = subprocess.run(command, capture_output=True, env={"HOME": home})
    try:
        return json.loads(done.stdout)["report"]["milliseconds"]
    except (ValueError, KeyError, TypeError):
        return None


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.strip())
    folder, *binaries = sys.argv[1:]
    sessions = sorted(path for path in pathlib.Path(folder).rglob("*") if path.is_file())
    sums, count = [0.0] * len(binaries), 0
    with tempfile.TemporaryDirectory() as home:
        for session in sessions:
            runs = [[milliseconds(binary, session, home) for binary in binaries] for _ in range(RUNS)]
            if any(None in run for run in runs):
                continue
            count += 1
            sums = [total + min(times) for total, times in zip(sums, zip(*runs))]
    print(f"{count} sessions of {len(sessions)}")
    for binary, total in zip(binaries, sums):
        print(f"{binary}: {total:.1f} ms, {total / sums[0]:.2f} times the first" if sums[0] else binary)


main()
