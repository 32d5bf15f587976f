#!/bin/sh
# Makes .venv in this folder with the peers that run.py, million.py, graphs.py and training.py time mnno against.
#
# hnswlib is compiled here, for the CPU that this runs on (-march=native): it needs a C++ compiler, as
# torch.compile does in training.py.
# torch's build for Linux with CUDA takes 6 GB; its CPU build, which is enough, is an option of pip's (PIP_EXTRA_INDEX_URL).
set -eu
cd "$(dirname "$0")"
python3 -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check numpy==2.4.6 faiss-cpu==1.15.1 torch==2.15.0 \
    scikit-learn==1.9.1 threadpoolctl==3.8.0 hnswlib==0.8.0 usearch==2.26.6 --no-binary hnswlib
.venv/bin/python -c 'from importlib.metadata import version
names = ["numpy", "faiss-cpu", "torch", "scikit-learn", "threadpoolctl", "hnswlib", "usearch"]
print("benches/peers/.venv:", ", ".join(f"{name} {version(name)}" for name in names))'
