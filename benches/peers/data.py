"""The data, seeded: files are made once per folder and used again. Imported by the scripts beside it."""

from functools import partial

import numpy as np

ROWS_AT_ONCE = 16384


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
