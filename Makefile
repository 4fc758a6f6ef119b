# A thin front to CMake.  `make help` lists what there is.
#
# Builds go to build/KIND: release (what you install and measure) and test
# (O2 with internal checks and -Werror).  tools/ladder has the other kinds.
PREFIX ?= /usr/local
AREA ?= ground
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
CMAKE ?= cmake
MAKEFLAGS += --no-print-directory

# The first generator that is there.
GENERATOR = $(shell command -v ninja >/dev/null 2>&1 && echo -G Ninja)
CONFIGURE = $(CMAKE) $(GENERATOR) -S . -B
BUILD = $(CMAKE) --build
# A configured directory stays as it is; CMake itself notices what changed.
configured = test -f build/$(1)/cmake_install.cmake || $(CONFIGURE) build/$(1) $(2) >build/$(1).log \
	|| { cat build/$(1).log; exit 1; }

all: ## build the library, bench and examples (build/release)
	@tools/setup build
	@mkdir -p build
	@$(call configured,release,-DCMAKE_BUILD_TYPE=Release -DCCC_BUILD_TESTS=OFF)
	@$(BUILD) build/release -j $(JOBS)

run: all ## set up, build and run the tour (examples/tour.c)
	@build/release/examples/tour

test: ## set up, build and run the tests; LONG=1 for the slow ones and all rounds of races
	@tools/setup build test
	@mkdir -p build
	@$(call configured,test,-DCMAKE_BUILD_TYPE=RelWithDebInfo -DCCC_DEBUG_CHECKS=ON \
		-DCCC_WERROR=ON -DCCC_BUILD_BENCH=ON)
	@$(BUILD) build/test -j $(JOBS)
	@if [ "$(LONG)" = 1 ]; then tools/ctest build/test; \
	else TEST_FEWER=4 tools/ctest build/test -LE long; fi

check: ## the ladder; RUNGS="gcc-O2 asan ..." for a part, LONG=1 for all of it
	@tools/setup build check
	@LONG=$(LONG) tools/ladder $(RUNGS)

bench: all ## libccc beside the other runtimes that are installed; CASE="yield_pair workers=1" for a line of ours, CASE=all for all of ours
	@if [ -n "$(CASE)" ]; then build/release/bench/ccc-bench $(CASE); \
	else tools/setup bench; tools/bench; fi

bench-instructions: all ## instructions per operation, one worker; BASE=REVISION compares, GATE=1 with bench/instructions.txt, CASE="select" for some
	@tools/setup instructions
	@tools/instructions $(if $(GATE),--gate bench/instructions.txt) $(if $(BASE),--base $(BASE)) $(if $(ALLOW),--allow $(ALLOW)) $(CASE)

install: all ## install to PREFIX (/usr/local), below DESTDIR if it is set
	@DESTDIR=$(DESTDIR) $(CMAKE) --install build/release --prefix $(PREFIX)

site: ## the documentation as a site in build/site
	@tools/setup site
	@tools/site build/site

accept: ## acceptance lines: AREA=ground; LONG=1 for the slow ones too, PART=races for those alone
	@tools/setup build test
	@LONG=$(LONG) PART="$(PART)" tools/accept $(AREA)

explore: ## search the interleavings of the wait protocols
	@tools/setup build test
	@if [ -x tools/explore ]; then LONG=$(LONG) tools/explore; else echo "tools/explore: not there"; exit 1; fi

park-kernel: ## boot the park engine as a kernel in QEMU: smoke tests, measurement
	@tools/setup build kernel
	@$(MAKE) -s -C kernel -j $(JOBS) run

lint: ## layer order, one door to atomics, names, sizes
	@tools/lint

conformance: ## which requirements of docs/spec.md have their tests
	@tools/conformance

format: ## clang-format on every C file
	@tools/setup format
	@tools/format

clean: ## remove build/
	@rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 20

.PHONY: all run test check bench bench-instructions install site accept explore park-kernel lint conformance format clean help
