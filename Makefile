# Everything is installed in .venv and kept in step with pyproject.toml; a second run installs nothing.

VENV ?= .venv
PORT ?=
OPEN ?= assets/examples/persistent_gemm.warpdraft.json

export PIP_DISABLE_PIP_VERSION_CHECK := 1
BIN := $(VENV)/bin
# What is installed is stamped with the content of pyproject.toml.
KEY := $(shell cksum < pyproject.toml | tr ' ' '-')
APP_READY := $(VENV)/ready/app-$(KEY)
TEST_READY := $(VENV)/ready/test-$(KEY)
PIP_INSTALL := $(BIN)/pip install --quiet
PYTEST := $(BIN)/pytest -n 2 --dist loadgroup

.DEFAULT_GOAL := help
.DELETE_ON_ERROR: # an interrupted install starts again
.PHONY: help app dev test test-long lint format docs screenshots clean

help: ## say what can be done
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

app: $(APP_READY) ## install what is missing, then open the editor (PORT=5006, OPEN=file.warpdraft.json)
	@scripts/setup_system.sh $(VENV) graphviz
	$(BIN)/warpdraft show "$(OPEN)" $(if $(PORT),--port $(PORT))

test: dev lint ## install what is missing, then check and test everything
	$(PYTEST)

test-long: dev lint ## the same with the slow tests
	WARPDRAFT_LONG=1 $(PYTEST)

dev: $(TEST_READY) ## install everything for development, the compiler and the test tools too
	@scripts/setup_system.sh $(VENV) graphviz chromium

lint: $(TEST_READY) ## style and import direction
	$(BIN)/ruff check .
	$(BIN)/lint-imports

format: $(TEST_READY) ## rewrite files in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(TEST_READY) ## bring docs/ into step with the code
	$(BIN)/python scripts/docs_write.py --slow

screenshots: dev ## take the pictures of docs/images anew
	$(BIN)/python scripts/screenshots.py

clean: ## remove what was installed and built
	rm -rf $(VENV) build *.egg-info

$(BIN)/python:
	@scripts/make_venv.sh $(VENV)

$(APP_READY): $(BIN)/python
	@echo "setup: installing the editor in $(VENV)"
	@$(PIP_INSTALL) --editable .
	@mkdir -p $(@D) && touch $@

$(TEST_READY): $(BIN)/python
	@echo "setup: installing the editor, the compiler and the test tools in $(VENV)"
	@$(PIP_INSTALL) --editable '.[cutedsl,test]'
	@mkdir -p build/links/warpdraft # for type checkers, which cannot follow the editable install
	@for part in app backends core; do ln -sfn ../../../$$part build/links/warpdraft/$$part; done
	@mkdir -p $(@D) && touch $@ $(APP_READY)
