"""Where golden files go, and the table of what they hold; for `make_golden.py`."""

from pathlib import Path

import numpy as np

OUT = Path(__file__).resolve().parent.parent / "fixtures" / "golden"
rows = []
# What most files hold.
X = np.array([[1.5, -2.25, 3.0], [4.0, 5.5, -6.125]], dtype=np.float32)


def expect(argument, fmt, element, order, access, values, names=None):
    """One line: what opening `argument` must give."""
    with np.errstate(over="ignore"):
        values = np.asarray(values).astype(np.float32)
    n, d = values.shape
    text = " ".join(repr(float(v)) for v in values.ravel())
    rows.append("\t".join([argument, fmt, element, order, access, str(n), str(d), "|".join(names or []) or "-", text]))


def write(name, data):
    (OUT / name).write_bytes(data)



def save():
    (OUT / "expected.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
