#!/usr/bin/env python3
"""ccgz.measure HELPER RUNS [NAME COMMAND]...: runs shell commands interleaved, RUNS times each.

Prints a line of JSON for each: medians of wall and processor seconds, the spread of both (the
distance of the quartiles, as a part of the median), and the peak memory in KB.  Memory and
processor time are those of the command and of all that it waited for.  HELPER is ccgz.once.
"""
import json
import statistics
import subprocess
import sys


def once(helper, command):
    done = subprocess.run([helper, "sh", "-c", "exec " + command], stderr=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"measure: {command}: status {done.returncode}: {done.stderr}")
    wall, cpu, rss = done.stderr.split()[-3:]
    return float(wall), float(cpu), int(rss)


def spread(values):
    if len(values) < 4:
        return (max(values) - min(values)) / statistics.median(values)
    quarters = statistics.quantiles(values, n=4)
    return (quarters[2] - quarters[0]) / quarters[1]


def main():
    helper, runs, rest = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    commands = list(zip(rest[::2], rest[1::2]))
    figures = {name: [] for name, _ in commands}
    for _ in range(runs):
        for name, command in commands:
            figures[name].append(once(helper, command))
    for name, _ in commands:
        wall, cpu, rss = zip(*figures[name])
        print(json.dumps({"name": name, "wall": round(statistics.median(wall), 4),
                          "cpu": round(statistics.median(cpu), 4),
                          "wall_spread": round(spread(wall), 4),
                          "cpu_spread": round(spread(cpu), 4), "rss": max(rss)},
                         separators=(",", ":")))


if __name__ == "__main__":
    main()
