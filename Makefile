# `make demo`, `make test` and `make test-all` set up everything they need in .venv.
# They want Python 3.11 or newer and gcc; choose an interpreter with `make test PYTHON=python3.12`.

PYTHON ?= python3
PYTEST_ARGS ?=
NIGHTLY_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
# What the optional extension is built from: a change builds it again.
FORMULAS := robot kinematics dynamics backends backends/kernel_models tape
KERNELS := setup.py $(wildcard src/deltadyn/backends/source/*) src/deltadyn/small.py \
	$(foreach folder,$(FORMULAS),$(wildcard src/deltadyn/$(folder)/*.py))
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test test-all tools-test tools lint bench nightly lock locked lowest docs docs-pictures chromium clang mosquitto postgresql clean distclean

help:
	@echo "make demo           run the demonstration, results in demo/"
	@echo "make test           run the tests of every room, in minutes (PYTEST_ARGS=... is passed on)"
	@echo "make test-all       run all tests, with browsers, servers and optional packages"
	@echo "make tools-test     take the exports into tools of others; what cannot be installed is named"
	@echo "make lint           ruff check, ruff format --check, mypy --strict"
	@echo "make bench          run the benchmarks"
	@echo "make nightly        run the long campaigns and print a table, results in build/nightly"
	@echo "make lock           write requirements-dev.lock: versions and hashes of this environment"
	@echo "make locked         set up $(VENV) from requirements-dev.lock"
	@echo "make lowest         test the core with the lowest versions of its dependencies"
	@echo "make docs           build the documentation, in docs/_build/html"
	@echo "make docs-pictures  draw the pictures of the documentation"
	@echo "make clean          remove outputs and caches"
	@echo "make distclean      the same, and $(VENV)"

demo: $(STAMPS)/core
	$(BIN)/deltadyn demo --out demo

# A file's tests run in one worker, which makes what they share once.
RUN_TESTS = MAKEFLAGS= MFLAGS= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

test: $(STAMPS)/test
	$(RUN_TESTS) $(PYTEST_ARGS)

# What is marked `full` too, and what needs optional packages: tests/selection.py.
test-all: $(STAMPS)/all chromium clang mosquitto postgresql
	$(RUN_TESTS) --full $(PYTEST_ARGS)

# Compilers, emulators, analysers and simulators that nobody here wrote. Most of their tests are in
# tests/deploy; one whose tool is absent is skipped and says so.
tools-test: $(STAMPS)/tools clang tools
	$(RUN_TESTS) --full -m tools $(PYTEST_ARGS)

lint: $(STAMPS)/all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src tests benchmarks tools

bench: $(STAMPS)/bench
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.inverse_dynamics
	OMP_NUM_THREADS=1 $(BIN)/deltadyn bench || true
	$(BIN)/python -m benchmarks.peers
	$(BIN)/python -m benchmarks.kernels
	$(BIN)/python -m benchmarks.export_c
	$(BIN)/python -m benchmarks.derivatives
	$(BIN)/python -m benchmarks.excitation --quick
	$(BIN)/python -m benchmarks.swarm
	$(BIN)/python -m benchmarks.identification
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.machines --seeds 0
	$(BIN)/python -m benchmarks.time_optimal
	$(BIN)/python -m benchmarks.payload
	$(BIN)/python -m benchmarks.live
	$(BIN)/python -m benchmarks.simulation

# Hours on two cores, in numbers that rates can be read from; NIGHTLY_ARGS=... is passed on. A new
# campaign is a row in CAMPAIGNS of tools/nightly.py.
nightly: $(STAMPS)/nightly clang
	$(BIN)/python -m tools.nightly $(NIGHTLY_ARGS)

lock: $(STAMPS)/nightly
	$(BIN)/python -m tools.lock

# As the lock says, whatever is newer by now; the stamps keep other targets from installing again.
locked: | $(STAMPS)/venv
	$(PIP_INSTALL) --require-hashes --no-deps --requirement requirements-dev.lock
	$(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@touch $(addprefix $(STAMPS)/,core test cloud all bench nightly docs)

lowest: $(STAMPS)/all
	$(BIN)/python -m tools.lowest

docs: $(STAMPS)/docs
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

docs-pictures: $(STAMPS)/docs
	@set -e; for script in docs/draw_*.py; do echo "$$script"; $(BIN)/python "$$script"; done

# The environment. A stamp per set of packages keeps repeated calls fast; they live in $(VENV) and
# go with it. A change of pyproject.toml or of the extension's sources installs again.

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "deltadyn needs Python 3.11 or newer, and $(PYTHON) is not. Name one: make PYTHON=python3.12"; \
		exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y python3-venv; \
		else \
			echo "$(PYTHON) cannot create environments. Install the package python3-venv first."; \
			exit 1; \
		fi; }
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS) && touch $@

# The extension is compiled here alone: the sets below add packages and leave deltadyn as it is.
$(STAMPS)/core: pyproject.toml $(KERNELS) | $(STAMPS)/venv
	@echo "Installing deltadyn into $(VENV)"
	$(PIP_INSTALL) --editable .
	@touch $@

INSTALL_EXTRA = $(BIN)/python -m tools.dependencies $(1) >$(STAMPS)/$(1).txt && $(PIP_INSTALL) --requirement $(STAMPS)/$(1).txt

$(STAMPS)/test: $(STAMPS)/core
	@echo "Installing the tools of the tests into $(VENV)"
	$(call INSTALL_EXTRA,test)
	@touch $@

# Both ask for botocore, of which there are a thousand versions: beside everything else pip would
# try hundreds of them. Bounds are in pyproject.toml, which the next call looks at.
$(STAMPS)/cloud: | $(STAMPS)/venv
	@echo "Installing s3fs and moto into $(VENV)"
	$(PIP_INSTALL) s3fs 'moto[server]'
	@touch $@

$(STAMPS)/all: $(STAMPS)/test | $(STAMPS)/cloud
	@echo "Installing what all tests need into $(VENV)"
	$(call INSTALL_EXTRA,test-all)
	@touch $@

$(STAMPS)/bench: $(STAMPS)/all
	@echo "Installing the peers of the benchmarks into $(VENV)"
	$(call INSTALL_EXTRA,bench)
	@touch $@

$(STAMPS)/nightly: $(STAMPS)/all
	@echo "Installing the tools of the campaigns into $(VENV)"
	$(call INSTALL_EXTRA,nightly)
	@touch $@

$(STAMPS)/tools: $(STAMPS)/all
	@echo "Installing the tools that exports are taken into, into $(VENV)"
	$(call INSTALL_EXTRA,tools)
	@touch $@

$(STAMPS)/docs: $(STAMPS)/core
	@echo "Installing the tools of the documentation into $(VENV)"
	$(call INSTALL_EXTRA,docs)
	@touch $@

# Programs of the system, one after the other: apt-get locks. `make -j 2 test-all` installs them beside
# the packages of Python.
chromium: | $(STAMPS)/venv
clang: | chromium
mosquitto: | clang
postgresql: | mosquitto

# The browser tests use the system's Chromium. Without one they are skipped, and say so.
chromium:
	@if { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null; then \
		:; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing Chromium for the browser tests"; \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium; } >/dev/null \
			|| echo "Chromium could not be installed: browser tests will be skipped."; \
	else \
		echo "There is no Chromium, and installing it needs root and apt-get: browser tests will be skipped."; \
	fi

# The exported C is compiled by clang as well as gcc. Without clang those tests are skipped.
clang:
	@if command -v clang >/dev/null; then \
		:; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing clang for the tests of exported C"; \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq clang; } >/dev/null \
			|| echo "clang could not be installed: its tests will be skipped."; \
	else \
		echo "There is no clang, and installing it needs root and apt-get: its tests will be skipped."; \
	fi

# The tests of live streams start an MQTT broker. Without one they are skipped, and say so.
mosquitto:
	@if PATH="$$PATH:/usr/sbin:/usr/local/sbin" command -v mosquitto >/dev/null; then \
		:; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing mosquitto for the tests of live streams"; \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq mosquitto; } >/dev/null \
			|| echo "mosquitto could not be installed: tests over MQTT will be skipped."; \
	else \
		echo "There is no mosquitto, and installing it needs root and apt-get: tests over MQTT will be skipped."; \
	fi

# The tests of the history start a PostgreSQL server. Without one they are skipped, and say so.
postgresql:
	@if { command -v pg_ctl || ls /usr/lib/postgresql/*/bin/pg_ctl; } >/dev/null 2>&1; then \
		:; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing PostgreSQL for the tests of the history"; \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql; } >/dev/null \
			|| echo "PostgreSQL could not be installed: its tests will be skipped."; \
	else \
		echo "There is no PostgreSQL, and installing it needs root and apt-get: its tests will be skipped."; \
	fi

# A package and the program that shows it is there, one pair a word.
TOOLS := tcc:tcc cppcheck:cppcheck clang-tidy:clang-tidy gcc-arm-none-eabi:arm-none-eabi-gcc \
	libnewlib-arm-none-eabi: qemu-system-arm:qemu-system-arm gcc-mingw-w64-x86-64:x86_64-w64-mingw32-gcc \
	wine64: libxml2-utils:xmllint liburdfdom-tools:check_urdf libsdformat-dev: \
	sdformat-sdf: ignition-tools:ign
tools: | clang
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq >/dev/null; \
		for pair in $(TOOLS); do \
			package=$${pair%%:*}; program=$${pair#*:}; \
			[ -n "$$program" ] && command -v "$$program" >/dev/null && continue; \
			DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$$package" >/dev/null 2>&1 \
				|| echo "$$package could not be installed: its tests will be skipped."; \
		done; \
	else \
		echo "Installing the tools needs root and apt-get: tests of those that are absent will be skipped."; \
	fi

clean:
	rm -rf demo build dist docs/_build docs/gallery docs/sg_execution_times.rst src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find src tests docs -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV) src/deltadyn/backends/*.so
