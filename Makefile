# Every target does its own set-up: a virtual environment in .venv, an editable install, then the job.
# Nothing is written outside this folder but pip's own cache.

PYTHON ?= python3
# An interpreter that is named gets an environment of its own, called after its version, since the
# paths of two may end alike: make test-core PYTHON=python3.13
VENV := .venv$(if $(findstring command,$(origin PYTHON)),$(shell \
  "$(PYTHON)" -c 'import sys; print("-%d.%d" % sys.version_info[:2])' 2>/dev/null || echo -none))
BIN := $(VENV)/bin
BASE := $(VENV)/base
READY := $(VENV)/ready
SOURCES := kernel projections adapters specs tests benchmarks examples docs

# Temporary files of builds and tests are kept in the checkout too.
export TMPDIR := $(CURDIR)/.tmp
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Ignore the caller's virtual environment and module path. Compiled modules are kept: without
# them every test worker and every child process compiles all sources again, which doubles the time.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV PYTHONDONTWRITEBYTECODE

# Test workers: one more than processors, since tests also wait, at most eight; WORKERS=0 runs all
# tests in one process.
WORKERS ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) + 1)))
PYTEST := $(BIN)/python -m pytest
IN_PARALLEL := --numprocesses $(WORKERS) --maxprocesses 8 --dist worksteal --durations 10

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help browser setup demo test test-all test-long docs docs-build mutants check lint types test-core test-extended pytest golden-cpu bench peers peers-suites fuzz audit clients torture smoke format clean

help: ## show this list
	@echo "mnemic: make TARGET"
	@awk -F ': .*## |: ## ' '/^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "Another interpreter: make PYTHON=python3.13 TARGET (3.11 or newer; its environment is .venv-3.13)"

setup: $(READY) ## make .venv and install mnemic with its tools

demo: $(BASE) ## run the main job: an agent's fortnight, and a look back
	@echo "== demo: examples/fortnight.py"
	@$(BIN)/python examples/fortnight.py

test: lint types test-core ## lint, types and the core tests: within five minutes on two processors
	@echo "== test: all green; make test-all runs the remaining tests"

test-all: test-extended golden-cpu ## every test that make test leaves out, and all properties with more examples
	@echo "== test-all: all green"

check: lint types ## run lint and types alone

lint: $(READY) ## ruff: rules and format
	@echo "== lint: ruff check, ruff format --check"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

# In parallel: each keeps one processor busy for about a minute.
types: $(READY) ## mypy --strict and pyright
	@echo "== types: mypy, pyright"
	@$(BIN)/basedpyright > .tmp/pyright.log 2>&1 & pyright=$$!; \
	$(BIN)/mypy; mypy=$$?; \
	wait $$pyright; pyright=$$?; \
	cat .tmp/pyright.log; exit $$((mypy || pyright))

# Vectors are short in tests: threads of BLAS would only take processors from the other workers.
test-core test-extended test-long pytest golden-cpu: export OPENBLAS_NUM_THREADS := 1

test-core: $(READY) ## the core tests alone, 12 examples for each property
	@echo "== tests: not marked extended, profile core"
	@HYPOTHESIS_PROFILE=core $(PYTEST) -q $(IN_PARALLEL) -m "not extended" $(ARGS)

# The explorer is tested in Debian's Chromium; without one, and without the right to install it, these
# tests are skipped.
browser:
	@command -v chromium > /dev/null || command -v google-chrome > /dev/null || { \
	  echo "== browser: apt-get install chromium"; \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	    (apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium) > .tmp/browser.log 2>&1 \
	      || echo "== browser: it cannot be installed here: the tests of the explorer are skipped"; \
	  else echo "== browser: there is none: the tests of the explorer are skipped"; fi; }

test-extended: $(READY) browser ## test-all without golden-cpu
	@echo "== tests: marked extended, and all properties, profile ci"
	@HYPOTHESIS_PROFILE=ci $(PYTEST) -q $(IN_PARALLEL) -m "extended or hypothesis" $(ARGS)

pytest: $(READY) ## tests in one process; options in ARGS, as in ARGS="tests/kernel -k clock"
	@echo "== tests: pytest $(ARGS)"
	@$(PYTEST) $(ARGS)

test-long: $(READY) ## all tests with many more random examples (hours)
	@echo "== tests: pytest, profile long"
	@HYPOTHESIS_PROFILE=long $(PYTEST) $(IN_PARALLEL) $(ARGS)

# Material prints an advertisement for its successor; the release in use is pinned.
docs docs-build: export NO_MKDOCS_2_WARNING := 1

docs: $(READY) ## build the documentation and serve it at http://127.0.0.1:8378
	@$(BIN)/mkdocs serve --strict --dev-addr 127.0.0.1:8378

docs-build: $(READY) ## build the documentation in build/site; broken links are errors (half a minute)
	@echo "== docs: mkdocs build --strict"
	@$(BIN)/mkdocs build --quiet --strict

# Mutants to test: all, or some of them, as in MUTANTS='mnemic.kernel.scoring.decay.*'.
MUTANTS ?= mnemic.*

# mutmut needs all packages in one folder: it gets a copy, and the sources are never mutated.
mutants: $(READY) ## mutation testing of the kernel's rules: tests must kill 97 % (an hour)
	@$(BIN)/python -m pip install --quiet --editable '.[mutants]'
	@echo "== mutants: kernel scoring, decay and decisions, in .tmp/mutants"
	@rm -rf .tmp/mutants
	@mkdir -p .tmp/mutants/src
	@for layer in kernel projections adapters specs; do cp -R $$layer/mnemic .tmp/mutants/src || exit 1; done
	@cp -R tests pyproject.toml .tmp/mutants
	@cd .tmp/mutants && HYPOTHESIS_PROFILE=mutants ../../$(BIN)/mutmut run '$(MUTANTS)'
	@cd .tmp/mutants && ../../$(BIN)/mutmut results --all true | awk -F ': ' ' \
	  !/__mutmut_/ || $$2 == "not checked" { next } \
	  { gsub(/ /, "", $$1); module = $$1; sub(/\.[^.]*$$/, "", module); all[module]++; sum++ } \
	  $$2 == "killed" || $$2 == "timeout" { killed[module]++; dead++; next } \
	  { print $$2 ": " $$1 } \
	  END { for (module in all) \
	      printf "%5d of %4d killed, %s\n", killed[module], all[module], module | "sort -k 5"; \
	    close("sort -k 5"); \
	    printf "%5d of %4d killed; at least 97 %% have to be\n", dead, sum; \
	    exit !sum || 100 * dead < 97 * sum }'

# Digests must not depend on the processor. Twice more: with the oldest BLAS kernel that every x86-64
# machine can run, and with every SIMD level switched off that numpy would choose at run time.
golden-cpu: $(READY) ## golden tests again: other BLAS kernel, no SIMD dispatch
	@echo "== golden tests with OPENBLAS_CORETYPE=Nehalem"
	@OPENBLAS_CORETYPE=Nehalem $(PYTEST) tests/golden
	@features="$$($(BIN)/python tests/golden/cpu_features.py)" || exit 1; \
	if [ -z "$$features" ]; then \
	  echo "== golden tests without SIMD: numpy uses nothing above its baseline here, nothing to switch off"; \
	else \
	  echo "== golden tests with NPY_DISABLE_CPU_FEATURES=\"$$features\""; \
	  NPY_DISABLE_CPU_FEATURES="$$features" $(PYTEST) tests/golden; \
	fi

bench: $(READY) ## run every program in benchmarks/ (an hour, and 4 GB in .tmp)
	@for program in $$(grep -l __main__ benchmarks/*.py); do \
	  echo "== bench: $$program"; $(BIN)/python "$$program" || exit 1; \
	done

# One thread for BLAS, for all memories in the comparison: a question is one small product.
peers: $(READY) ## compare with other memories, and update the tables of docs/peers.md (half an hour)
	@mkdir -p .tmp/found
	@$(BIN)/python benchmarks/compare_peers.py --install
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/compare_peers.py --runs 3 --json .tmp/found/compare_peers.json --write docs/peers.md

# In an environment of its own: pytest-asyncio and our own tests want different settings.
peers-suites: | .tmp ## run the tests of other projects against our integrations: SUITES=FOLDER
	@test -d "$(SUITES)" || { \
	  echo "Name the folder that holds their test files, as in docs/integrations.md: make peers-suites SUITES=../suites" >&2; \
	  exit 1; }
	@test -x .venv-suites/bin/python || "$(PYTHON)" -m venv .venv-suites
	@echo "== peers-suites: pip install -e '.[suites]' (a minute the first time)"
	@.venv-suites/bin/python -m pip install --quiet --editable '.[suites]'
	@.venv-suites/bin/python -m tests.suites "$(SUITES)"

fuzz: $(READY) ## malformed input to every target for a minute each, then schemathesis for five (25 minutes)
	@MNEMIC_FUZZ_S=60 $(PYTEST) -q tests/fuzz
	@MNEMIC_SCHEMATHESIS_S=300 $(PYTEST) -q tests/adapters/http/test_schemathesis.py

audit: $(READY) ## look up known vulnerabilities of installed packages (exits with 3 if not all could be looked up)
	@$(BIN)/python -m tests.architecture.audit

torture: $(READY) ## kills, damage, full disks and concurrency; updates the figures of docs/safety.md
	@mkdir -p .tmp
	@$(BIN)/python -m tests.torture --json .tmp/torture.json --write docs/safety.md

# Bounded, since pip may wait for a network; the second installation is made from the source distribution.
smoke: $(READY) ## install the wheel and the sdist into empty environments, and use them (before a release)
	@echo "== smoke: wheel and source distribution, each in an empty environment"
	@rm -rf .tmp/smoke
	@$(BIN)/python -m hatchling build --directory .tmp/smoke/dist > /dev/null
	@for file in .tmp/smoke/dist/*; do \
	  rm -rf .tmp/smoke/env; \
	  $(BIN)/python -m venv .tmp/smoke/env || exit 1; \
	  timeout 600 .tmp/smoke/env/bin/python -m pip install --quiet "$$file" || exit 1; \
	  timeout 120 .tmp/smoke/env/bin/python -P tests/architecture/installed.py || exit 1; \
	done

clients: $(READY) ## run the MCP inspector and the conformance suite against the MCP interface (npm, network)
	@PYTHON=$(BIN)/python MNEMIC=$(BIN)/mnemic sh tests/adapters/mcp/real_clients.sh .tmp/clients

format: $(READY) ## fix and format the sources with ruff
	@echo "== format: ruff check --fix, ruff format"
	@$(BIN)/ruff check --fix . || true
	@$(BIN)/ruff format .

clean: ## remove caches and build output (rm -rf .venv for a complete reset)
	@echo "== clean"
	@rm -rf .tmp build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find $(wildcard $(SOURCES)) -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python: | .tmp
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "mnemic needs Python 3.11 or newer; $(PYTHON) says: $$("$(PYTHON)" --version 2>&1)" >&2; \
	  echo "Install one, or name it: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "== setup: $(PYTHON) -m venv $(VENV)"
	@"$(PYTHON)" -m venv --clear $(VENV) || { \
	  echo "Install Python's venv module first (Debian, Ubuntu: apt install python3-venv)." >&2; exit 1; }

# A stamp is newer than pyproject.toml exactly when the requirements in it are installed.
$(BASE): pyproject.toml $(BIN)/python | .tmp
	@echo "== setup: pip install -e . (half a minute the first time)"
	@$(BIN)/python -m pip install --quiet --editable .
	@touch $@

# One resolution for all extras. hnswlib has no wheel, so check for a compiler first.
$(READY): pyproject.toml $(BIN)/python | .tmp
	@install() { echo "== setup: pip install -e '.[$$1]' (about a minute the first time)"; \
	  $(BIN)/python -m pip install --quiet --editable ".[$$1]"; }; \
	if command -v "$${CXX:-c++}" > /dev/null || command -v g++ > /dev/null; then \
	  install dev,hnsw || { echo "== setup: hnswlib cannot be built here: its tests are skipped"; install dev; }; \
	else \
	  echo "== setup: there is no C++ compiler for hnswlib: its tests are skipped"; install dev; \
	fi
	@touch $(BASE) $@

.tmp:
	@mkdir -p $@
