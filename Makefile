# Every target is one line that calls the command line; without make: python -m harness lesson 3
.DEFAULT_GOAL := help
PYTHON ?= python3
# Windows lays the interpreter elsewhere.
BIN := $(if $(filter Windows_NT,$(OS)),.venv/Scripts,.venv/bin)
RUN := $(BIN)/python -m harness

# The environment: made once, quietly, with uv where it is there, else with venv and pip.
.venv/ready: pyproject.toml
	@$(PYTHON) install.py
.venv/ready-dev: .venv/ready
	@$(PYTHON) install.py dev

.PHONY: help list matrix doctor cassettes pages picture test clean
help:            ## this help
	@$(PYTHON) install.py help $(MAKEFILE_LIST)
lesson-%: .venv/ready   ## play lesson N: make lesson-1, make lesson-2, ... (make lesson-3 ARGS=--step)
	@$(RUN) lesson $* $(ARGS)
diff-%: .venv/ready     ## the lines by which lesson N differs from the one before
	@$(RUN) diff $* $(ARGS)
compare-%: .venv/ready  ## lesson N and the one before on N's scenario, side by side, then the patch
	@$(RUN) compare $* $(ARGS)
record-%: .venv/ready   ## record lesson N from your own model, into recordings/
	@$(RUN) record $* $(ARGS)
carry-%: .venv/ready    ## merge an uncommitted fix of lesson N into every later lesson
	@$(RUN) carry $*
list: .venv/ready       ## the lessons, a line each
	@$(RUN) list
matrix: .venv/ready     ## behaviour by lesson, from a real run
	@$(RUN) matrix
doctor: .venv/ready     ## check this machine
	@$(RUN) doctor $(ARGS)
cassettes: .venv/ready  ## record every tape again from its scripted model
	@$(RUN) cassettes
pages: .venv/ready      ## write the generated parts of every page again
	@$(RUN) pages
picture: .venv/ready    ## draw the README's picture again
	@$(RUN) picture
test: .venv/ready-dev   ## ruff, mypy, the suite, the gates, the offline proof
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check .
	@$(BIN)/python -m mypy
	@$(BIN)/python -m pytest -n 2
clean:           ## remove the environment
	@rm -rf .venv
