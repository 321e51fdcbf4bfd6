PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
RIVALS := .venv-rivals

# Real data sets for tests and studies; without them those tests say why they skip.
ifeq ($(origin PRIVET_DATA), undefined)
ifneq ($(wildcard ../shared/data/schema.json),)
export PRIVET_DATA := $(abspath ../shared/data)
endif
endif
ifeq ($(origin PRIVET_MORE_DATA), undefined)
ifneq ($(wildcard ../shared/more-data/schema.json),)
export PRIVET_MORE_DATA := $(abspath ../shared/more-data)
endif
endif

.PHONY: demo test browser lint trust bench rivals studies stand kills fuzz docs wheels lock clean

demo: $(READY)
	$(BIN)/privet demo --out out

test: $(READY) lint docs browser
	$(BIN)/pytest -n 2 --dist loadgroup --reruns 1

# The console's tests need the system's Chromium: root gets it installed, others are told how.
browser: $(READY)
	@$(BIN)/python -m tests.servers.browser

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m tools.contracts
	$(BIN)/python -m tools.trust --quiet

# What must be right for ε to hold. RAISE=1 writes down what there is as what is allowed.
trust: $(READY)
	$(BIN)/python -m tools.trust $(if $(RAISE),--raise)

bench: $(READY) $(RIVALS)/ready
	$(BIN)/python -m bench $(BENCH)

# Other people's learners, for `privet study run field`; dp-xgboost is compiled, which takes minutes.
rivals: $(RIVALS)/ready $(RIVALS)-xgboost/ready

studies: $(READY)
	$(BIN)/privet study run $(STUDY) --jobs 2

# Other libraries on the stand of the auditor; dp-xgboost is compiled, which takes minutes.
stand: $(READY) $(RIVALS)/ready $(RIVALS)-xgboost/ready
	$(BIN)/python -m bench stand

# The service killed fifty times at every row of its states.
kills: $(READY)
	PRIVET_KILLS=50 $(BIN)/pytest tests/test_service_crash.py

# A hundred thousand bodies that nobody would write.
fuzz: $(READY)
	PRIVET_FUZZ=800 $(BIN)/pytest tests/test_service_fuzz.py

docs: $(READY)
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

# The wheel and the source archive, tried in fresh environments of every Python from 3.11 on that is found;
# takes minutes, and the packages' registry. WHEELS=3.13 tries one.
wheels: $(READY)
	$(BIN)/python -m tools.wheels $(WHEELS)

$(READY): pyproject.toml requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

$(RIVALS)/ready: bench/rivals.lock
	$(PYTHON) -m venv $(RIVALS)
	$(RIVALS)/bin/pip install --quiet -r bench/rivals.lock
	touch $@

$(RIVALS)-xgboost/ready: bench/rivals-xgboost.lock
	$(PYTHON) -m venv $(RIVALS)-xgboost
	$(RIVALS)-xgboost/bin/pip install --quiet -r bench/rivals-xgboost.lock
	touch $@

# Writes the lock file anew; needs pip-tools.
lock:
	$(PYTHON) -m piptools compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-emit-index-url \
		--no-emit-find-links --no-header --all-extras -o requirements.lock pyproject.toml

clean:
	rm -rf $(VENV) $(RIVALS) $(RIVALS)-xgboost out docs/_build
