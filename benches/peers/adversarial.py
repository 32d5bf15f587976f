"""Times mnno on data that is hard for a search by approximate products, and checks its lists against float64.

Usage: benches/peers/.venv/bin/python benches/peers/adversarial.py [--rounds 3] [--threads 2] [--n 20000] [--d 128]
           [--data PART OF A NAME].. [--metric NAME].. [--mnno PATH] [--timeout 120] [--folder FOLDER]

For each data set and metric, in turns: `mnno knn` with its default filter and with `--filter f32` on the data, and with
`--filter f32` on gaussian data of the same shape, which is the yardstick. Ratios are medians over rounds. A binary without
--filter is timed with its defaults alone, and the yardstick is the default on gaussian data.

Lists of a sample of queries are compared with those of float64 scores in numpy, equal scores by the lower row. exact.py adds
in mnno's order, so the lists should be equal. Lists that differ only where scores are unequal, but agree within a relative
1e-12, as float64 sums in another order would make them, are counted apart ("other") from wrong ones. Wrong ones alone make
the exit code 1.
"""

import argparse
import subprocess
import sys
from statistics import median

import numpy as np

import data
import exact
from programs import Failed, Mnno, add_options, folder_of, machine

K = 10
METRICS = ["cosine", "ip", "l2"]


def turn(mnno, path, metric, out, options, timeout):
    """Seconds and lists; None and None for one that takes longer than `timeout`."""
    try:
        return mnno.knn(path, metric, K, out, *options, timeout=timeout)
    except subprocess.TimeoutExpired:
        return None, None


def ratio(a, b):
    """The median of a / b over the rounds in which both ended."""
    pairs = [x / y for x, y in zip(a, b) if x and y]
    return f"{median(pairs):.2f}" if pairs else "-"


def seconds(times, timeout):
    return f"> {timeout:g}" if None in times else f"{median(times):.3f}" if times else "-"


def one(mnno, path, metric, yardstick, filters, args, folder):
    """Times by filter, and of the yardstick; how many of the sampled lists are other by rounding, and how many wrong."""
    x = np.load(path)
    rows = np.sort(np.random.default_rng(0).choice(len(x), min(args.sample, len(x)), replace=False))
    expected, scores = exact.lists(x, x[rows], metric, K, rows, args.threads)
    times = {name: [] for name in [*filters, "yardstick"]}
    other = wrong = 0
    for _ in range(args.rounds):
        for name, options in filters.items():
            if None in times[name]:
                continue
            taken, found = turn(mnno, path, metric, folder / "out.npz", options, args.timeout)
            times[name].append(taken)
            if taken:
                differ = exact.differ(found[rows], expected)
                bad = exact.wrong(found[rows], expected, scores, x, x[rows], metric, rows)
                other, wrong = max(other, differ - bad), max(wrong, bad)
        options = list(filters.values())[-1]
        times["yardstick"].append(turn(mnno, yardstick, metric, folder / "out.npz", options, args.timeout)[0])
    return times, other, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, 3)
    parser.add_argument("--n", type=int, default=20000)
    parser.add_argument("--d", type=int, default=128)
    parser.add_argument("--data", action="append", metavar="TEXT", help="only data with this in the name; may be repeated")
    parser.add_argument("--metric", action="append", choices=METRICS, help="only this one; may be repeated")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one run of mnno (120)")
    args = parser.parse_args()
    mnno = Mnno("mnno", args.mnno, args.threads)
    filters = {"default": ()}
    if mnno.has_filter():
        filters["f32"] = ("--filter", "f32")
    else:
        print("This mnno knows no --filter: timed with its defaults alone, against its defaults on gaussian data.")
    print(f"{machine(args.threads)}; {mnno.version()}; {args.n} x {args.d}, k {K}, {args.rounds} rounds, medians\n")
    heads = ["data", "metric", "default s", "f32 s", "default / f32", "default / gaussian", "f32 / gaussian"]
    heads += ["other", "wrong"]
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    failed = 0
    with folder_of(args) as folder:
        makers = data.adversarial(args.n, args.d)
        yardstick = data.save(folder / "yardstick.npy", makers["gaussian"]())
        for name in makers:
            if args.data and not any(text in name for text in args.data):
                continue
            path = data.save(folder / "hard.npy", makers[name]())
            for metric in args.metric or METRICS:
                times, other, wrong = one(mnno, path, metric, yardstick, filters, args, folder)
                plain, f32, gaussian = times["default"], times.get("f32", []), times["yardstick"]
                cells = [name, metric, seconds(plain, args.timeout), seconds(f32, args.timeout), ratio(plain, f32)]
                cells += [ratio(plain, gaussian), ratio(f32, gaussian), str(other), str(wrong)]
                print("| " + " | ".join(cells) + " |", flush=True)
                failed += wrong
    print(f"\nother, wrong: of {min(args.sample, args.n)} lists; gaussian: --filter f32 if there is one, else the default")
    sys.exit(bool(failed))


if __name__ == "__main__":
    try:
        main()
    except Failed as error:
        sys.exit(f"error: {error}")
