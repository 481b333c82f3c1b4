# Everything runs in .venv, which the first target that needs it creates from the pinned,
# hash-checked dependencies in requirements/. Only Python >= 3.11 and make have to be there.

PYTHON ?= python3
PYTEST ?=
WORKERS ?= 3
PART ?=
FUZZ_SECONDS ?= 60
TARGET ?=
UPGRADE ?=
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TOOLS := $(VENV)/.tools
RUNS := $(VENV)/.runs
COMPILED := build/compiled
EXTRAS := hub lake connect legacy all build
UV_VERSION := 0.13.7
LOWEST := build/lowest
LOWEST_TESTS ?= tests/wire tests/identity tests/link tests/runtime tests/store tests/agent tests/server tests/hub \
  tests/client tests/web tests/cli tests/lake

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast prepared packages pictures check format lock lowest vendor compiled bench soak-lake clean
.PHONY: fuzz soak-hostile soak-revocation
.PHONY: hub node agent cores wheels
.DELETE_ON_ERROR:
# Tests start hundreds of processes, and each worker reads hundreds of files of tests: bytecode is
# kept also where the environment would have everything compiled anew each time.
unexport PYTHONDONTWRITEBYTECODE

help: ## what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile
	@echo "  PYTHON=python3.12 chooses the interpreter; PYTEST='-k lob' goes to pytest"

demo: ## a living world on this machine, with a tour; Ctrl-C ends it
	$(run)

hub: ## `rookery hub`, with ARGS='…'; so do node and agent
	$(run)

node agent:
	$(run)

# What a program needs at run time is installed while its cores are compiled.
define run
@$(MAKE) --no-print-directory --silent -j2 $(RUNS) cores
@PYTHONPATH=$(CURDIR)/$(COMPILED) $(BIN)/rookery $@ $(ARGS)
endef

# Silent unless the branches of the cores fall short, so that pytest's closing line stays the last.
test: $(READY) packages ## all tests, with the coverage of the cores
	@$(BIN)/python -m compileall -q src
ifeq ($(PYTEST),)
	@$(BIN)/pytest -n $(WORKERS) --dist loadgroup --cov
	@$(BIN)/python .ci/branch_coverage.py
else
	@$(BIN)/pytest $(PYTEST)
endif

test-fast: $(READY) ## what to run after every edit: no Spark, no browser, no databases
	@$(BIN)/pytest -q -n $(WORKERS) --dist loadgroup --fast $(PYTEST)

# What can be done for the tests beforehand: bytecode is half of what each worker begins with.
prepared: $(READY)
	@$(BIN)/python -m compileall -q src
	@$(BIN)/pytest --collect-only -q > /dev/null

packages:
	@.ci/packages

pictures: $(READY) packages ## take the README's pictures anew
	@ROOKERY_PICTURES=docs/images $(BIN)/pytest -q tests/e2e/demo/test_tour.py

check: $(READY) ## format, lint, types and import rules
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(READY) ## put the code into its one format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

compiled: $(TOOLS) ## the hot modules as extension modules, in a folder of their own
	@$(BIN)/python -m build_cores $(COMPILED)

# Where nothing can be compiled, one line says so, and the sources run.
cores: $(TOOLS)
	@$(BIN)/python -m build_cores $(COMPILED) || true

wheels: $(TOOLS) ## a compiled wheel for this Python, a pure one and their SBOM in dist, the same bytes each time
	@$(BIN)/python -m hatchling build -t wheel -d dist
	@ROOKERY_COMPILED=0 $(BIN)/python -m hatchling build -t wheel -d dist
	@$(BIN)/python .ci/sbom.py dist

bench: ## measure what is installed, into bench/results.md; PART=tunnel: one part
	@.ci/packages bench
	@$(PYTHON) -m bench.installed $(PART)

soak-lake: $(READY) ## 300 runs of the lake in one session: does what it needs stay the same?
	@$(BIN)/python -m bench.lake_resident

fuzz: $(READY) ## every parser for FUZZ_SECONDS, on from where it was; TARGET=wire.link.lob:Packet.parse: one
	@$(BIN)/python -m tests.fuzz.run $(FUZZ_SECONDS) $(TARGET)

soak-hostile: $(READY) ## 200,000 mutated packets to a live endpoint by every transport
	@$(BIN)/python -m bench fuzz

soak-revocation: $(READY) ## some 240 revocations, each against all that it ends: how soon?
	@ROOKERY_REVOCATION_ROUNDS=7 $(BIN)/pytest -q -s tests/e2e/fleet/test_revocation.py

# dev first: the smaller sets are then held to the same versions. A lock names everything that is needed and
# is installed with --no-deps: pip's resolver may prefer a newer release to the pinned one where an extra is
# named, and then refuses it for want of a hash.
lock: ## pin the dependencies with hashes; UPGRADE=--upgrade takes the newest versions
	@set -eu; tools=$$(mktemp -d); trap 'rm -rf "$$tools"' EXIT; \
	$(PYTHON) -m venv "$$tools"; \
	"$$tools/bin/pip" install -qq --disable-pip-version-check uv==$(UV_VERSION); \
	compile() { \
	  "$$tools/bin/uv" pip compile --no-config --quiet --universal --python-version 3.11 $(UPGRADE) \
	    --generate-hashes --no-strip-extras --no-header --no-annotate "$$@" pyproject.toml; }; \
	compile --extra dev --output-file requirements/dev.lock; \
	compile --constraint requirements/dev.lock --output-file requirements/base.lock; \
	for extra in $(EXTRAS); do \
	  compile --constraint requirements/dev.lock --extra $$extra --output-file requirements/$$extra.lock; \
	done; \
	wc -l requirements/*.lock

# The tools that test are the newest: only what users install has bounds.
lowest: $(READY) ## tests with the oldest versions that pyproject.toml allows; LOWEST_TESTS=… chooses
	@$(BIN)/uv venv --no-config --quiet --clear --python 3.11 $(LOWEST)
	@$(BIN)/uv pip compile --no-config --quiet --python-version 3.11 --resolution lowest-direct \
	  --extra all --output-file $(LOWEST)/versions.txt pyproject.toml
	@$(BIN)/uv pip install --no-config --quiet --python $(LOWEST)/bin/python \
	  --constraint $(LOWEST)/versions.txt --editable '.[dev]'
	@$(LOWEST)/bin/pytest -n $(WORKERS) --dist loadgroup -m 'not slow' $(LOWEST_TESTS)

vendor: ## take the pages' libraries from npm anew; versions are in .ci/vendor
	@$(PYTHON) .ci/vendor

clean: ## remove the environment and everything that was built
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .demo \
	  .coverage .coverage.* htmlcov build dist
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

# Bytecode is made of what is imported, a quarter of it all, and pip would do it on one processor.
$(READY): pyproject.toml requirements/dev.lock | $(BIN)/pip
	@echo "setting up $(VENV) …"
	@$(install) --no-compile --no-deps --require-hashes -r requirements/dev.lock
	@$(install) --no-deps --no-build-isolation --editable .
	@touch $(TOOLS) $(RUNS) $@

# For those who only run it: bytecode of what they do not use is never made.
$(RUNS): requirements/all.lock $(TOOLS)
	@$(install) --no-compile --no-deps --require-hashes -r requirements/all.lock
	@touch $@

$(TOOLS): pyproject.toml requirements/build.lock | $(BIN)/pip
	@echo "setting up $(VENV) …"
	@$(install) --no-deps --require-hashes -r requirements/build.lock
	@$(install) --no-deps --no-build-isolation --editable .
	@touch $@

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "rookery needs Python 3.11 or newer as $(PYTHON); choose one: make PYTHON=python3.12 …" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make a virtual environment; install its venv package (Debian: python3-venv)" >&2; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV)

install = $(BIN)/python -m pip install -qq --disable-pip-version-check
