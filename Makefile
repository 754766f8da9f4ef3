# Two commands matter: `make demo` shows Spanwise at work, `make test` is the gate that CI runs too.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOOLS := target/tools
SOURCES := $(shell find rust -name '*.rs') Cargo.toml Cargo.lock
ENGINE := $(VENV)/.engine
PACKAGES := $(VENV)/.packages

# The oldest agno that is served; the environment has the newest.
AGNO := 2.7.2
OLD_AGNO := target/agno-$(AGNO)

.PHONY: demo test lint types rust python old-agno wheel wheel-test supply bench bench-parts clean

demo: $(ENGINE)
	$(BIN)/spanwise demo

test: lint types rust python old-agno wheel-test supply

# The virtual environment, with everything that development needs.
$(PACKAGES): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --group dev
	touch $@

# The engine in release form, installed into the environment beside the Python sources, with what the bench needs.
$(ENGINE): $(PACKAGES) $(SOURCES)
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --quiet --extras bench
	touch $@

lint: $(PACKAGES)
	cargo fmt --check
	cargo clippy --quiet --all-targets -- -D warnings
	cargo clippy --quiet --features cloud,python -- -D warnings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(ENGINE)
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest spanwise._engine

rust:
	cargo test --quiet

# Two files of tests at a time: most of what they do is wait for services.
python: $(ENGINE)
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

# What is said of agno holds for its oldest version too. What that needs is what the newest needs.
old-agno: $(ENGINE)
	test -d $(OLD_AGNO) || $(BIN)/python -m pip install --quiet --no-deps --target $(OLD_AGNO) agno==$(AGNO)
	PYTHONPATH=$(OLD_AGNO) $(BIN)/python -c 'import agno, sys; sys.exit("$(OLD_AGNO)" not in agno.__file__)'
	PYTHONPATH=$(OLD_AGNO) $(BIN)/python -m pytest --numprocesses 2 --dist loadfile \
		tests/live/adapters/test_agno.py tests/live/adapters/test_agno_client.py tests/live/adapters/test_agno_sessions.py tests/unit/components/test_adapters.py

# An abi3 wheel for every Python from 3.11 on; maturin finds and writes the manylinux tag it satisfies.
wheel: $(PACKAGES)
	rm -rf target/wheels
	$(BIN)/maturin build --release --quiet --out target/wheels

# The wheel in an environment of its own, with no Rust on the path.
wheel-test: wheel
	$(BIN)/python -m pytest tests/wheel

# Licences, sources and duplicates of the crates; known faults of the Python packages. Where the index of faults
# cannot be reached, pip-audit says of every package that it was not audited.
supply: $(PACKAGES)
	test -x $(TOOLS)/bin/cargo-deny || CARGO_PROFILE_DEV_DEBUG=false cargo install --quiet --locked --debug --root $(TOOLS) cargo-deny
	$(TOOLS)/bin/cargo-deny --all-features check bans licenses sources
	$(BIN)/pip-audit --skip-editable --progress-spinner off

# Spanwise beside other engines, about two minutes; BENCH="--traces 1000000 ..." for more. Writes docs/benchmarks.md.
bench: $(ENGINE)
	$(BIN)/spanwise bench --report docs/benchmarks.md --readme README.md $(BENCH)

# Single parts, for whoever works on them; benches/README.md says which is for what.
bench-parts: $(ENGINE)
	cargo bench
	$(BIN)/python -m pytest benches/service --benchmark-only

clean:
	rm -rf target $(VENV) dist
