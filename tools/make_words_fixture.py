"""Cuts fixtures/words out of the 10,000 WordNet nouns in $MNNO_DATA/wn_nouns_10k.

The first 2,000 rows of each file, values unchanged. Needs tools/setup_venv.sh; see fixtures/words/README.md.
"""

import os
import sys
from itertools import islice
from pathlib import Path

import numpy as np

ROWS = 2000
ARRAYS = {"glove50_f32.npy": ("glove50.npy", 50), "gloss_minilm_f32.npy": ("gloss384.npy", 384)}


def main():
    data = os.environ.get("MNNO_DATA")
    if data is None:
        sys.exit("error: MNNO_DATA is not set: it names the folder that holds wn_nouns_10k")
    source = Path(data) / "wn_nouns_10k"
    target = Path(__file__).resolve().parent.parent / "fixtures" / "words"
    target.mkdir(parents=True, exist_ok=True)

    for name, (cut, d) in ARRAYS.items():
        array = np.load(source / name, mmap_mode="r")
        if array.dtype != np.dtype("<f4") or array.shape[0] < ROWS or array.shape[1] != d:
            sys.exit(f"error: {source / name}: expected at least {ROWS} x {d} f32, found {array.shape} {array.dtype}")
        np.save(target / cut, np.ascontiguousarray(array[:ROWS]))

    with open(source / "rows.tsv", encoding="utf-8", newline="") as rows:
        lines = list(islice(rows, ROWS + 1))  # and the header
    if len(lines) != ROWS + 1:
        sys.exit(f"error: {source / 'rows.tsv'}: expected a header and {ROWS} rows, found {len(lines)} lines")
    with open(target / "rows.tsv", "w", encoding="utf-8", newline="") as out:
        out.writelines(lines)

    for path in sorted(target.iterdir()):
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
