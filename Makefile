# The front door. CMake does the work: see CMakePresets.json.
#   make demo     build the program, make a bundle from a checkpoint, classify example images
#   make test     build, run every test
#   make lint     format check, clang-tidy, shellcheck; DESCRIPTION=FILE checks a change's description, too
#   make bench    build the program, measure the example checkpoint
#   make format   rewrite the sources in the project's style
#   make install  into PREFIX (default /usr/local), under DESTDIR if that is set
#   make clean    remove the build folder

.PHONY: all configure program build demo test lint bench format install clean

PRESET ?= release
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
TEST_JOBS ?= $(JOBS)
CHECKPOINT ?= examples/mobilevit_xxs.fashion_mnist

BUILD := build/$(PRESET)
ASSAY := $(BUILD)/assay
BUNDLE := build/demo.assay

all: build

configure:
	@scripts/install-deps
	@cmake --preset $(PRESET) --log-level=NOTICE

# The program alone: half of what there is to compile is tests.
program: configure
	@cmake --build --preset $(PRESET) --parallel $(JOBS) --target assay_cli

build: configure
	@cmake --build --preset $(PRESET) --parallel $(JOBS)

demo: program
	$(ASSAY) build $(CHECKPOINT) -o $(BUNDLE)
	$(ASSAY) run $(BUNDLE) examples/images --top-k 3

test: build
	@ctest --preset $(PRESET) --parallel $(TEST_JOBS)

lint: configure
	@$(if $(DESCRIPTION),scripts/check-description "$(DESCRIPTION)")
	@scripts/install-deps --lint
	@scripts/format --check
	@scripts/lint $(BUILD)

bench: program
	$(ASSAY) build $(CHECKPOINT) -o $(BUNDLE)
	$(ASSAY) bench $(BUNDLE)

format:
	@scripts/format

install: build
	cmake --install $(BUILD) --prefix "$(PREFIX)"

clean:
	rm -rf build
