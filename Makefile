# Every target does its own set-up: a virtual environment in .venv, an editable install, then the job.
# Nothing is written outside this folder but pip's own cache.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
SOURCES := kernel projections adapters specs tests benchmarks examples

# Temporary files of builds and tests stay in the checkout too.
export TMPDIR := $(CURDIR)/.tmp
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# A virtual environment or module path of the caller is not ours.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help setup demo test test-long mutants check lint types pytest golden-cpu bench peers fuzz audit clients torture format clean

help: ## show this list
	@echo "mnemic: make TARGET"
	@awk -F ': .*## |: ## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "Another interpreter: make PYTHON=python3.12 TARGET (3.11 or newer; read when .venv is made)"

setup: $(READY) ## make .venv and install mnemic with its tools

demo: $(READY) ## run the main job: an agent's fortnight, and a look back
	@echo "== demo: examples/fortnight.py"
	@$(BIN)/python examples/fortnight.py

test: lint types pytest golden-cpu ## run lint, types, tests and the golden tests on other processors
	@echo "== test: all green"

check: lint types ## run lint and types alone

lint: $(READY) ## ruff: rules and format
	@echo "== lint: ruff check, ruff format --check"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(READY) ## mypy --strict and pyright
	@echo "== types: mypy"
	@$(BIN)/mypy
	@echo "== types: pyright"
	@$(BIN)/basedpyright

pytest: $(READY) ## the tests alone; options in ARGS, as in ARGS="tests/kernel -k clock"
	@echo "== tests: pytest $(ARGS)"
	@$(BIN)/python -m pytest $(ARGS)

test-long: $(READY) ## the tests with many more random examples: for nights
	@echo "== tests: pytest, profile long"
	@HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest $(ARGS)

# Mutants to play: all, or some of them, as in MUTANTS='mnemic.kernel.decay.*'.
MUTANTS ?= mnemic.*

# The tester wants all packages in one folder: it gets a copy, and nothing mutated ever stands here.
mutants: $(READY) ## let small mistakes into the kernel's rules: tests must notice nine of ten (half an hour)
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
	    printf "%5d of %4d killed; at least nine of ten have to be\n", dead, sum; \
	    exit !sum || 10 * dead < 9 * sum }'

# Digests must not depend on the processor. Twice more: with the oldest BLAS kernel that every x86-64
# machine can run, and with every SIMD level switched off that numpy would choose at run time.
golden-cpu: $(READY) ## golden tests again: other BLAS kernel, no SIMD dispatch
	@echo "== golden tests with OPENBLAS_CORETYPE=Nehalem"
	@OPENBLAS_CORETYPE=Nehalem $(BIN)/python -m pytest tests/golden
	@features="$$($(BIN)/python tests/golden/cpu_features.py)" || exit 1; \
	if [ -z "$$features" ]; then \
	  echo "== golden tests without SIMD: numpy uses nothing above its baseline here, nothing to switch off"; \
	else \
	  echo "== golden tests with NPY_DISABLE_CPU_FEATURES=\"$$features\""; \
	  NPY_DISABLE_CPU_FEATURES="$$features" $(BIN)/python -m pytest tests/golden; \
	fi

bench: $(READY) ## run every program in benchmarks/ (an hour, and 4 GB in .tmp)
	@for program in $$(grep -l __main__ benchmarks/*.py); do \
	  echo "== bench: $$program"; $(BIN)/python "$$program" || exit 1; \
	done

# One thread for BLAS, as for everybody else in the comparison: a question is one small product.
peers: $(READY) ## compare with other memories, and renew the tables of the README (half an hour)
	@mkdir -p .tmp/found
	@$(BIN)/python benchmarks/peers.py --install
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/peers.py --runs 3 --json .tmp/found/peers.json --write README.md

fuzz: $(READY) ## strange input everywhere for a minute each, then schemathesis for five (25 minutes)
	@MNEMIC_FUZZ_S=60 $(BIN)/python -m pytest -q tests/fuzz
	@MNEMIC_SCHEMATHESIS_S=300 $(BIN)/python -m pytest -q tests/adapters/http/test_schemathesis.py

audit: $(READY) ## ask the network which installed packages are vulnerable (leaves with 3 if not all could be asked)
	@$(BIN)/python -m tests.architecture.audit

torture: $(READY) ## kill, cut, flip, fill up and crowd stores; renew the figures of docs/safety.md
	@mkdir -p .tmp
	@$(BIN)/python -m tests.torture --json .tmp/torture.json --write docs/safety.md

clients: $(READY) ## put the MCP inspector and the conformance suite to the MCP door (npm, network)
	@PYTHON=$(BIN)/python MNEMIC=$(BIN)/mnemic sh tests/adapters/mcp/real_clients.sh .tmp/clients

format: $(READY) ## let ruff mend and format the sources
	@echo "== format: ruff check --fix, ruff format"
	@$(BIN)/ruff check --fix . || true
	@$(BIN)/ruff format .

clean: ## remove caches and build output (rm -rf .venv for a wholly fresh start)
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

# The stamp is newer than pyproject.toml exactly when what that asks for is installed.
$(READY): pyproject.toml $(BIN)/python | .tmp
	@echo "== setup: pip install -e '.[dev]' (about a minute the first time)"
	@$(BIN)/python -m pip install --editable '.[dev]'
	@echo "== setup: pip install -e '.[hnsw]', if there is a C++ compiler"
	@$(BIN)/python -m pip install --editable '.[hnsw]' > .tmp/hnsw.log 2>&1 || \
	  echo "== setup: it cannot be had here (.tmp/hnsw.log says why): its tests are left out"
	@touch $@

.tmp:
	@mkdir -p $@
