# `make demo` and `make test` are all the set-up there is: each installs what it needs into .venv and runs.
# Needs Python 3.11 or newer, Rust (cargo) and a C compiler; what else is missing is installed, or named in one line.
#
#   make demo ARGS="--epochs 1"      the main job; ARGS go to `penstock demo`
#   make test PYTEST_ARGS="-k shard" the tests, in Rust and in Python
#   make lint                        formats, lints, types, floors
#   make bench                       benchmarks; they take minutes
#   make clean                       removes what was built and installed here
#
# A second run is quick: stamps under .venv say what is installed, and a changed file of the left brings back the right step.

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --no-input --disable-pip-version-check
STAMPS := $(VENV)/.stamps

# The first of these that is new enough makes the environment; TensorFlow has no wheel for 3.14 yet.
PYTHONS := $(if $(PYTHON),"$(PYTHON)",python3 python3.13 python3.12 python3.11 python3.14)
# The JPEG library is C and assembler; nasm is for x86 only, and without it the decoder would be slow in silence.
TOOLS := cc cmake $(if $(filter x86_64 amd64 i686,$(shell uname -m)),nasm)

ARGS ?=
PYTEST_ARGS ?= -n auto --maxprocesses=4 --dist=worksteal
# auto: PyTorch if a build without CUDA is to be had; 1: whatever pip finds; 0: no PyTorch
TORCH ?= auto

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml -o -name build.rs)
NATIVE := $(wildcard python/penstock/_native*.so python/penstock/_native*.pyd)

# One absolute interpreter for PyO3, so that cargo and maturin do not rebuild after each other.
export PYO3_PYTHON := $(CURDIR)/$(PY)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test lint bench build clean tools rust-lint-tools FORCE

help:
	@sed -n 's/^# \{0,1\}//; 1,9p' Makefile

demo: $(STAMPS)/native $(STAMPS)/demo
	$(VENV)/bin/penstock demo $(ARGS)

test: $(STAMPS)/native $(STAMPS)/test $(STAMPS)/torch-$(TORCH)
	cargo test --locked --quiet --package penstock-kernels
	$(PY) -m pytest $(PYTEST_ARGS)

# The environment has the module built, so that types of what it depends on are found.
lint: rust-lint-tools $(STAMPS)/native $(STAMPS)/lint
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy --strict python
	PYTHONPATH=python $(VENV)/bin/lint-imports --no-logo
	cargo fmt --all --check
	cargo clippy --locked --quiet --workspace --all-targets -- -D warnings

bench: $(STAMPS)/native $(STAMPS)/bench $(STAMPS)/torch-$(TORCH)
	$(PY) -m benchmarks $(ARGS)

build: $(STAMPS)/native

clean:
	rm -rf $(VENV) target python/penstock/_native*.so python/penstock/_native*.pyd
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# --- what they stand on ---------------------------------------------------------------------------------------------

$(STAMPS)/venv: | tools
	@is_usable() { "$$1" -c "import sys; sys.exit(not (3, 11) <= sys.version_info < (3, $$2))" 2>/dev/null; }; \
	if ! { is_usable $(PY) 99 && $(PY) -m pip --version >/dev/null 2>&1; }; then \
	  found=; \
	  for below in 14 99; do for python in $(PYTHONS); do \
	    if [ -z "$$found" ] && is_usable "$$python" $$below; then found=$$python; fi; \
	  done; done; \
	  if [ -z "$$found" ]; then \
	    echo "penstock: no Python 3.11 or newer among $(PYTHONS); install one, or name it: make PYTHON=/path/to/python" >&2; exit 1; \
	  fi; \
	  if ! "$$found" -c "import ensurepip, venv" 2>/dev/null; then \
	    version=$$("$$found" -c "import sys; print('%d.%d' % sys.version_info[:2])"); \
	    $(call apt_install,python$$version-venv,the venv module of $$found); \
	  fi; \
	  echo "creating $(VENV) with $$found"; \
	  "$$found" -m venv --clear $(VENV); \
	fi
	@# --group came with pip 25.1
	@$(PIP) install --quiet --upgrade "pip>=25.1"
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/bench $(STAMPS)/build $(STAMPS)/demo $(STAMPS)/lint $(STAMPS)/test: $(STAMPS)/%: $(STAMPS)/venv pyproject.toml
	@echo "installing what \`$*\` needs into $(VENV) (minutes, the first time)"
	@$(PIP) install --quiet --group $*
	@touch $@

# `maturin develop` compiles, installs the package in place and what it depends on. In release mode: the debug build of
# the kernels is too slow to test with.
$(STAMPS)/native: $(STAMPS)/build $(RUST_SOURCES) pyproject.toml $(if $(NATIVE),,FORCE) | tools
	unset CONDA_PREFIX; PIP_QUIET=1 VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(PY) -m maturin develop --release --locked --quiet
	@touch $@

# The default wheel of PyTorch for Linux pulls gigabytes of CUDA that no test here needs, and does not load without them, so
# --no-deps is no way out. Asked first with --dry-run: only a build that brings no CUDA is installed (a mirror or a
# find-links folder with the CPU wheel, macOS). Tests that need torch are skipped where there is none.
TORCH_REQUIREMENT := torch==2.13.0
$(STAMPS)/torch-$(TORCH): $(STAMPS)/test
	@if [ "$(TORCH)" = 0 ] || $(PY) -c "import torch" 2>/dev/null; then :; \
	elif [ "$(TORCH)" = 1 ]; then $(PIP) install --quiet $(TORCH_REQUIREMENT); \
	elif ! $(PIP) install --quiet --dry-run --ignore-installed --only-binary :all: \
	    --report $(STAMPS)/torch.json $(TORCH_REQUIREMENT) >/dev/null 2>&1; then \
	  echo "PyTorch: pip finds no $(TORCH_REQUIREMENT) here; its tests will be skipped"; \
	elif grep -Eqi '"name": *"(nvidia|cuda)-' $(STAMPS)/torch.json; then \
	  echo "PyTorch: pip finds only a build with CUDA (gigabytes); its tests will be skipped; make test TORCH=1 installs it"; \
	else $(PIP) install --quiet --only-binary :all: $(TORCH_REQUIREMENT) \
	  || echo "PyTorch: $(TORCH_REQUIREMENT) did not install; its tests will be skipped"; \
	fi
	@touch $@

# $(call apt_install,package,what is missing): installs a system package where we may, else stops with one line.
apt_install = if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing $(1)"; \
	    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(1); } \
	      </dev/null >/dev/null || { echo "penstock: apt-get could not install $(1)" >&2; exit 1; }; \
	  else \
	    echo "penstock: $(2) is missing; install it with your package manager (Debian: apt-get install $(1))" >&2; exit 1; \
	  fi

tools:
	@command -v cargo >/dev/null || { echo "penstock: cargo is missing; install Rust 1.87 or newer, with rustup say" >&2; exit 1; }
	@for tool in $(TOOLS); do \
	  command -v $$tool >/dev/null && continue; \
	  package=$$tool; [ $$tool != cc ] || package="gcc libc6-dev"; \
	  $(call apt_install,$$package,$$tool); \
	done

rust-lint-tools: tools
	@cargo clippy --version >/dev/null 2>&1 && cargo fmt --version >/dev/null 2>&1 \
	  || { command -v rustup >/dev/null && rustup --quiet component add clippy rustfmt; } \
	  || { echo "penstock: clippy or rustfmt is missing; install both (rustup component add clippy rustfmt)" >&2; exit 1; }

FORCE:
