# make lab    JupyterLab on the first notebook
# make quick  the linters, types and tests of changed files, in less than a minute
# make test   the tests
# make check  the linters, types and import contracts
# make lite   a site that runs the notebooks in the browser: docs/browser.md
# make tables generated files: stubs, the tables of names and ops
# Each creates .venv and installs its requirements; a second call starts at once.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WRONG_WAY := The contract named above as BROKEN says which import is not allowed. Move the code to the \
lower room, hand the object in, or register it there: docs/architecture.md, "The floors".
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

export OPENBLAS_NUM_THREADS ?= 1
# Tests and notebooks start Python many times, and should not compile the package each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help lab lite quick test check tables messages bench-check clean

help:
	@sed -n 's/^# //p' Makefile

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "tfnb needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

# One stamp per set of dependencies (lab, test, browser, dev).
$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[$*]'
	@touch $@

# The address contains the notebook, so that the printed address leads to it without a display.
# LAB_ARGS adds options, as in LAB_ARGS='--port 9999'.
lab: $(VENV)/.installed-lab
	@flags="$(LAB_ARGS)"; \
	if [ "$$(id -u)" = 0 ]; then flags="$$flags --allow-root"; fi; \
	if [ "$$(uname)" = Linux ] && [ -z "$$DISPLAY$$WAYLAND_DISPLAY" ]; then \
	  flags="$$flags --no-browser"; \
	fi; \
	exec $(BIN)/python -m jupyterlab $$flags \
	  --LabApp.extra_labextensions_path=$(CURDIR)/labextension/built \
	  --LabApp.default_url=/lab/tree/notebooks/00_quickstart.ipynb

# LITE_PYODIDE names a folder with Pyodide; then the site needs no other server.
lite: $(VENV)/.installed-lite
	$(BIN)/python scripts/lite.py $(if $(LITE_PYODIDE),--pyodide "$(LITE_PYODIDE)") \
	  $(if $(LITE_PYTHON),--python "$(LITE_PYTHON)")

# TEST_ARGS selects tests: make test TEST_ARGS='tests/core -x'
# Each process begins with a half of the tests, so that a file's tables are read and its servers
# started in one process.
test: $(VENV)/.installed-test
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal \
	  -m "not browser and not repeats" $(TEST_ARGS)

# Checks files changed since main, or since the commit given as SINCE=...
quick: $(VENV)/.installed-test $(VENV)/.installed-dev
	$(BIN)/python scripts/quick.py $(SINCE)

# Run it after a change of an op, a sample of an op or a public name, and commit the results.
tables: $(VENV)/.installed-test
	$(BIN)/python scripts/generate_public_names.py
	$(BIN)/python scripts/generate_names_table.py
	$(BIN)/python scripts/generate_ops_table.py
	$(BIN)/python scripts/generate_onnx_table.py

# Generates tfnb/proto after a change in protos/; installs the compiler.
messages: $(BIN)/python
	$(BIN)/python protos/generate.py

# Checks that a commit must pass in addition to the tests.
check: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/codespell
	$(BIN)/mypy
	@$(BIN)/lint-imports || { echo; echo "$(WRONG_WAY)"; exit 1; }

# make bench-check TENSORFLOW=~/tf/bin/python    reports ratios far worse than the stored ones
# It is not part of the tests. SUITE=../shared/bench adds a suite, BENCH_ARGS='--only session'
# selects workloads; `python -m benchmarks --help` has more.
bench-check: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks --check --tensorflow "$(TENSORFLOW)" \
	  $(if $(SUITE),--suite "$(SUITE)") $(BENCH_ARGS)

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
