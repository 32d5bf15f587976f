#!/bin/sh
# Makes .venv with what the scripts in tools/ need. The program and its tests need none of it.
set -eu
cd "$(dirname "$0")/.."
python3 -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check numpy==2.3.5
.venv/bin/python -c 'import numpy; print(".venv: numpy", numpy.__version__)'
