# `make help` lists the targets. CONTRIBUTING.md explains them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOOLS := target/tools
LOWEST := target/lowest
SOURCES := $(shell find rust -name '*.rs') Cargo.toml Cargo.lock rust-toolchain.toml
PACKAGES := $(VENV)/.packages
LOCK := requirements-dev.lock

# The environment of `make demo`, which runs the wheel.
DEMO := target/demo
DEMO_LOCK := requirements-demo.lock
PROGRAM := $(shell find python -type f -not -name '*.so' -not -path '*/__pycache__/*') pyproject.toml
RUST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# Both builds of the engine are python/spanwise/_engine.abi3.so. The existing stamp tells which one it is.
DEBUG := $(VENV)/.engine-debug
RELEASE := $(VENV)/.engine-release

# The oldest supported agno, and the last release of its second major version. The environment has the newest.
OLDEST_AGNO := 2.7.2
MIDDLE_AGNO := 2.9.0
AGNO_TESTS := tests/unit/components/test_adapters.py tests/unit/traces/test_agno_database.py \
	tests/unit/components/test_agno_description.py tests/unit/docs/test_agno_client.py \
	$(wildcard tests/live/adapters/test_agno*.py)

# Two test files at a time: most of their time is waiting for services.
PYTEST := $(BIN)/python -m pytest --numprocesses 2 --dist loadfile

# npm builds the user interface, and the build is committed. Only `ui` and `ui-check` need Node.
NPM := $(shell command -v npm)
UI_PACKAGES := ui/node_modules/.package-lock.json
UI_SCRATCH := target/ui

# Narrows `make check` to a path of Python tests, or to a filter of Rust test names.
T ?=

.DEFAULT_GOAL := help
.PHONY: help dev check test test-slow demo lint types docs rust python browser ui ui-check oldest-agno lowest wheel wheel-test \
	audit crates bench bench-parts lock hooks clean

help: ## List the targets
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

dev: $(DEBUG) ## Build the debug engine into .venv: seconds after an edit

check: ## Lint, types and unit tests of both languages, or one test: T=tests/unit/test_errors.py, T=filter::laws
ifeq ($(T),)
	@echo "make check: lint, types and unit tests; under 5 minutes after the first build."
	@$(MAKE) --no-print-directory lint $(DEBUG)
	$(BIN)/mypy
	cargo test --quiet
	$(PYTEST) tests/unit
else ifneq ($(filter tests/% docs/% benches/% %.md,$(T)),)
	@$(MAKE) --no-print-directory $(DEBUG)
	$(BIN)/python -m pytest $(T)
else
	cargo test --quiet $(T)
endif

test: ## The gate, which CI runs: everything but `test-slow`
	@echo "make test: lint, types, Rust, Python, browser, oldest agno, lowest versions, wheel, audit; under 45 minutes on two idle cores from nothing."
	@$(MAKE) --no-print-directory lint types docs rust python browser oldest-agno lowest wheel-test audit $(if $(NPM),ui-check)
	$(if $(NPM),,@echo "make test: npm is not installed, so ui-check was left out.")

# cargo-deny is not in the gate because it must be compiled from source: no current binary is published. Its result
# depends only on Cargo.lock and deny.toml. CI runs it after the gate.
test-slow: $(RELEASE) crates agno-$(MIDDLE_AGNO) ## Full counts of kills, fuzzed inputs and mutations, and cargo-deny: two hours
	$(BIN)/python -m pytest -m slow
	$(BIN)/python -m pytest -m slow tests/browser
	FUZZ_SECONDS=60 OPENING_KILLS=500 POWER_LOSS_SEEDS=10000 BIT_FLIPS=1000 TEXT_CASES=100000 SAID_CASES=4000 SPAN_CASES=1000 MERGE_CASES=2000 cargo test --profile thorough --quiet
	cargo test --profile thorough --quiet for_a_minute -- --ignored

# The demo runs the wheel in its own environment with the 30 packages that it needs instead of the developers' 180.
# Cargo's output is shown because it reports the progress. After Cargo, maturin strips the engine and packs the wheel, so
# the progress message names the wheel.

# Runs a command and prints a progress message every eight seconds, because pip and the last crates are silent for minutes.
# The loop ends with the shell that started it, also after Ctrl-C.
define alive
@began=$$(date +%s); made=$$$$; \
	while sleep 8 > /dev/null && kill -0 $$made 2> /dev/null; do echo "     still $(1), after $$(($$(date +%s) - began)) s"; done & beat=$$!; \
	$(2); status=$$?; kill $$beat; exit $$status
endef

demo: $(DEMO)/.wheel ## Fill a store with example traces and serve it on port 7777
	@$(DEMO)/bin/spanwise demo

$(DEMO)/.packages: $(DEMO_LOCK)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "make demo: needs Python 3.11 or newer, and $(PYTHON) is" `$(PYTHON) -V 2>&1`"; try: make demo PYTHON=python3.13"; exit 1; }
	@cargo --version > /dev/null 2>&1 || { \
		echo "make demo: needs Rust $(RUST) or newer, and found no cargo; https://rustup.rs installs it"; exit 1; }
	@cargo --version | awk -v wanted=$(RUST) '{ split($$2, has, "."); split(wanted, needs, "."); \
		exit !(has[1] > needs[1] || (has[1] == needs[1] && has[2] + 0 >= needs[2] + 0)) }' || { \
		echo "make demo: needs Rust $(RUST) or newer, and found" `cargo --version`"; try: rustup update stable"; exit 1; }
	@echo "1/3  Installing the packages that running needs into $(DEMO)."
	$(call alive,installing,{ test -x $(DEMO)/bin/python || $(PYTHON) -m venv $(DEMO); } && $(DEMO)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $(DEMO_LOCK))
	@touch $@

$(DEMO)/.wheel: $(DEMO)/.packages $(SOURCES) $(PROGRAM)
	@echo "2/3  Compiling the engine with" `cargo --version`" (needs $(RUST) or newer): minutes the first time, then seconds."
	@rm -rf $(DEMO)/wheels
	$(call alive,building the wheel,$(DEMO)/bin/maturin build --profile quick --locked --interpreter $(DEMO)/bin/python --out $(DEMO)/wheels)
	@echo "3/3  Installing the wheel."
	@$(DEMO)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall $(DEMO)/wheels/*.whl
	@touch $@

$(PACKAGES): $(LOCK)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes --requirement $(LOCK)
	touch $@

$(DEBUG): $(PACKAGES) $(SOURCES)
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --quiet $(if $(wildcard $(BIN)/spanwise),--skip-install)
	rm -f $(RELEASE)
	touch $@

$(RELEASE): $(PACKAGES) $(SOURCES)
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --quiet
	rm -f $(DEBUG)
	touch $@

lint: $(PACKAGES) ## Formats and lints of both languages
	cargo fmt --check
	cargo clippy --quiet --all-targets --features cloud,python -- -D warnings
	cargo clippy --quiet -- -D warnings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(RELEASE) ## Type checks, and the stub of the engine against the engine
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest spanwise._engine

docs: $(RELEASE) ## Build the documentation site into target/site; broken links are errors
	$(BIN)/zensical build --strict --clean
	$(BIN)/python -m spanwise.http.openapi target/site/reference/openapi

rust: ## Rust tests
	cargo test --quiet

python: $(RELEASE) ## Python tests: unit, live and documentation
	$(PYTEST)

browser: $(RELEASE) ## Tests of the user interface in Chromium; pictures of the run are in target/screenshots
	$(PYTEST) tests/browser

$(UI_PACKAGES): ui/package-lock.json
	cd ui && npm ci --no-audit --no-fund
	touch $@

ui: $(UI_PACKAGES) ## Build the user interface into python/spanwise/ui/dist, which is committed; needs npm
	cd ui && npm run build

ui-check: $(UI_PACKAGES) ## Lint, types and unit tests of the user interface, and whether its build is the committed one
	cd ui && npm run lint && npm run check && npm run test && npm run types -- --check
	cd ui && npm run build -- --outDir $(abspath $(UI_SCRATCH)) --emptyOutDir
	diff --recursive --brief python/spanwise/ui/dist $(UI_SCRATCH)

oldest-agno: agno-$(OLDEST_AGNO) ## Tests of the agno adapter with the oldest supported agno

agno-%: $(RELEASE)
	test -d target/$@ || $(BIN)/python -m pip install --quiet --no-deps --target target/$@ agno==$*
	PYTHONPATH=target/$@ $(BIN)/python -c 'import agno, sys; sys.exit("target/$@" not in agno.__file__)'
	PYTHONPATH=target/$@ $(PYTEST) $(AGNO_TESTS)

# Every dependency at its lower bound, in a separate environment. Indirect dependencies are current. The test of the
# committed API description is skipped, because older versions of msgspec order its schemas differently.
lowest: $(RELEASE) ## Unit tests with the lowest versions of the dependencies that pyproject.toml allows
	mkdir -p $(LOWEST)
	$(BIN)/uv pip compile pyproject.toml --all-extras --group test --resolution lowest-direct --python-version 3.11 \
		--no-annotate --no-emit-index-url --no-header --quiet --output-file $(LOWEST)/requirements.txt
	test -x $(LOWEST)/venv/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python $(LOWEST)/venv
	$(BIN)/uv pip sync --quiet --python $(LOWEST)/venv/bin/python $(LOWEST)/requirements.txt
	PYTHONPATH=$(abspath python) $(LOWEST)/venv/bin/python -m pytest --numprocesses 2 --dist loadfile tests/unit \
		-W 'ignore:The anyio.abc.BlockingPortal alias:DeprecationWarning' \
		--deselect tests/unit/ui/test_sources.py::test_its_openapi_document_is_current

# An abi3 wheel for every Python from 3.11 on. maturin determines the manylinux tag.
wheel: $(PACKAGES) ## Build the wheel and the source distribution into target/wheels
	rm -rf target/wheels
	$(BIN)/maturin build --release --quiet --out target/wheels
	$(BIN)/maturin sdist --out target/wheels

wheel-test: wheel ## Test the wheel in an environment of its own, without Rust
	$(BIN)/python -m pytest tests/wheel

# Without access to the vulnerability database, pip-audit reports every package as not audited.
audit: $(PACKAGES) ## Known vulnerabilities of the Python packages
	$(BIN)/pip-audit --skip-editable --progress-spinner off

crates: ## Licences, sources and duplicates of the crates (cargo-deny)
	test -x $(TOOLS)/bin/cargo-deny || \
		CARGO_PROFILE_DEV_DEBUG=false cargo install --quiet --locked --debug --root $(TOOLS) cargo-deny
	$(TOOLS)/bin/cargo-deny --all-features check bans licenses sources

bench: $(RELEASE) ## Compare with other engines, five minutes; BENCH="--traces 1000000" for more
	$(BIN)/spanwise bench --report docs/benchmarks.md --readme README.md $(BENCH)

bench-parts: $(RELEASE) ## Benchmarks of single parts; benches/README.md describes them
	cargo bench
	$(BIN)/python -m pytest benches/service --benchmark-only

COMPILE := $(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-annotate \
	--no-emit-index-url --no-header --quiet

lock: $(PACKAGES) ## Renew both locks of Python packages from pyproject.toml
	$(COMPILE) --group dev --all-extras --upgrade --output-file $(LOCK)
	$(COMPILE) --group demo --constraints $(LOCK) --output-file $(DEMO_LOCK)

hooks: $(PACKAGES) ## Install the git hooks: format and lint of changed files, commit subjects
	$(BIN)/pre-commit install

clean: ## Remove everything that was built
	rm -rf target $(VENV) dist ui/node_modules
