# Everything needs Python 3.11 or later and make; the first target that is made sets up .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
EXTRAS_VENV := .venv-extras
EXTRAS_INSTALLED := $(EXTRAS_VENV)/.installed

# Every worker is a process of its own: without bytecode each one, and pytest, would compile all sources.
run gallery test test-sweeps test-extras: export PYTHONDONTWRITEBYTECODE =

.PHONY: help run gallery test test-sweeps test-extras lint types clean

help:
	@echo "make run    check and time the attention variants on this machine, then report"
	@echo "make gallery  run the recipes' CPU profiles and draw the figures of docs/gallery.md again"
	@echo "make test   run the tests"
	@echo "make test-sweeps  run the tests for all settings, of which 'make test' takes some; PART=2/3: a third of them"
	@echo "make test-extras  run the tests that need PyTorch, Triton, ptxas, nvdisasm and Intel's OpenCL runtime, in .venv-extras"
	@echo "make lint   check style and types"
	@echo "make types  check types only"
	@echo "make clean  remove the environments and all caches; results stay"

run: $(INSTALLED)
	@$(BIN)/harness run experiments/seq_sweep.toml

# On a quiet machine: the rows of a busy one say so.
gallery: $(INSTALLED)
	@HARNESS=$(BIN)/harness sh docs/gallery.sh

# Files are taken in their order: by number of tests, files of few long tests would come last.
test: $(INSTALLED)
	@$(BIN)/pytest --numprocesses logical --maxprocesses 8 --dist loadfile --no-loadscope-reorder

# The settings that `make test` leaves out; PART=2/3 runs the second third of them.
test-sweeps: PART ?= 1/1
test-sweeps: $(INSTALLED)
	@$(BIN)/pytest -m 'sweep and not slow' --part $(PART) --numprocesses logical --maxprocesses 8

# Here a missing extra fails a test instead of skipping it.
test-extras: $(EXTRAS_INSTALLED)
	@$(EXTRAS_VENV)/bin/pytest -m 'extra and not slow' --require-extras --numprocesses logical --maxprocesses 8

lint: $(INSTALLED) types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-logo

types: $(INSTALLED)
	@$(BIN)/mypy

clean:
	@rm -rf $(VENV) $(EXTRAS_VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A changed pyproject.toml installs again.
$(INSTALLED): EXTRAS := dev
$(EXTRAS_INSTALLED): EXTRAS := dev,baselines,runtimes,triton,cuda,intel,tune
$(INSTALLED) $(EXTRAS_INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "make: $(PYTHON) is $$($(PYTHON) --version 2>&1); expected Python 3.11 or later: make PYTHON=python3.12"; exit 1; }
	@echo "setting up $(@D) with the extras $(EXTRAS) …"
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]'
	@touch $@
