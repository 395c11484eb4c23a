# Two commands do it all: `make serve` and `make test`. Each installs what it misses first.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help serve site test test-long fuzz attacks fuzz-guided keep-corpus growth bench-page cli package-examples bench-package bundle measure evaluation families sizes networks specialised processors table6 ablations ablations-of trainer-native baselines card hub wasm page hostile-page small-files size venv qemu node wasm-toolchain wasm-tools deny release-rehearsal bench bench-search debian fresh-check clean

PORT ?= 8000

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

serve: ## Build the page and serve it at http://127.0.0.1:8000/ (PORT=... for another port)
	@tools/announce.sh serve
	@$(MAKE) --no-print-directory node wasm-toolchain
	@tools/build-wasm.sh --page
	@node www/build.mjs --quick
	@node www/serve.mjs --port $(PORT)

test: ## Install what is missing, then check and test everything
	@tools/announce.sh test
	@$(MAKE) --no-print-directory debian node wasm-toolchain
	@tools/test.sh

test-long: wasm venv ## Check what `make test` leaves out because it compiles or searches for long: an hour and more
	@RUSTDOCFLAGS="-D warnings" cargo doc --quiet --workspace --no-deps
	@RUSTDOCFLAGS="-D warnings" cargo doc --quiet --package litecast --no-deps --no-default-features
	@node --test tests/package/same_numbers.mjs
	@cargo clippy --quiet --package litecast-networks --all-targets -- -D warnings
	@cargo test --quiet --package litecast-networks
	@LITECAST_TABLE_2_SAMPLES=4000 cargo test --quiet --workspace --test trainer spaces::ranges_of_table_2
	@LITECAST_LARGEST_FILES=1 cargo test --quiet --workspace --test hostile short_files
	@LITECAST_CLUSTER=1 cargo test --quiet --workspace --test trainer label_on_dask::
	@$(MAKE) --no-print-directory release-rehearsal
	@tools/test-python.sh --wheel
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=$(LONG_FUZZ_SECONDS)
	@$(FUZZER) --target kinds
	@$(MAKE) --no-print-directory growth

LONG_FUZZ_SECONDS ?= 300
FUZZ_SECONDS ?= 3600
FUZZ_SEED ?= 1
FUZZER := $(or $(CARGO_TARGET_DIR),target)/release/litecast-fuzz
FUZZ_SEEDS := --seeds www/examples --seeds tests/fuzz/corpus --seeds ../shared/models --seeds ../shared/models-mcu
# The library as users have it, but with the checks of arithmetic and invariants of a development build.
FUZZ_CHECKS := $(foreach check,debug-assertions overflow-checks,--config profile.release.package.litecast.$(check)=true)
fuzz: ## Run every fuzzer for FUZZ_SECONDS=3600 each, and the built module under Node for a tenth of the mutants
	cargo build --release -p litecast -p litecast-fuzz --bin litecast-fuzz $(FUZZ_CHECKS)
	@for target in reader facts estimate batch measurements gpus smallest onnx graph ncnn configuration attacks; do \
	    $(FUZZER) --target $$target --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) $(FUZZ_SEEDS) || exit 1; \
	done
	@test -f pkg/litecast_bg.wasm || { echo "skipped: no module in pkg/ (make wasm)"; exit 0; }; \
	    node tests/fuzz/run-wasm.mjs $(FUZZER) $$((100 * $(FUZZ_SECONDS))) "" --seed $(FUZZ_SEED) $(FUZZ_SEEDS)

ATTACKS := target/attacks
attacks: ## Run structures made on purpose for FUZZ_SECONDS=3600, in all formats; a seed goes on where it ended
	cargo build --release -p litecast -p litecast-fuzz --bin litecast-fuzz $(FUZZ_CHECKS)
	@mkdir -p $(ATTACKS)
	@$(FUZZER) --target attacks --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) --findings $(ATTACKS)/findings \
	    --state $(ATTACKS)/$(FUZZ_SEED).json

READER ?= parse
# What libFuzzer needs of the compiler, without the nightly options of cargo-fuzz.
GUIDED := -Cpasses=sancov-module $(foreach flag,level=4 inline-8bit-counters pc-table trace-compares,-Cllvm-args=-sanitizer-coverage-$(flag)) --cfg fuzzing
GUIDED_TARGET := $(or $(CARGO_TARGET_DIR),target)/guided
GUIDED_READER = $(GUIDED_TARGET)/x86_64-unknown-linux-gnu/release/$(READER)
GUIDED_CORPUS = $(GUIDED_TARGET)/corpus/$(READER)
KEPT_CORPUS = tests/fuzz/libfuzzer/corpus/$(READER).tar.gz
fuzz-guided: ## Fuzz one reader by coverage for FUZZ_SECONDS (READER=parse, onnx, ncnn, graph, profile, configuration or report)
	RUSTFLAGS="$(GUIDED)" cargo build --release --manifest-path tests/fuzz/libfuzzer/Cargo.toml \
	    --target x86_64-unknown-linux-gnu --target-dir $(GUIDED_TARGET) --bin $(READER)
	@mkdir -p $(GUIDED_CORPUS)
	@tar -xzf $(KEPT_CORPUS) -C $(GUIDED_CORPUS)
	$(GUIDED_READER) -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -artifact_prefix=$(GUIDED_TARGET)/$(READER)- \
	    $(GUIDED_CORPUS) tests/fuzz/corpus

keep-corpus: ## Keep of what `fuzz-guided` found for READER the fewest files that reach the same code
	@rm -rf $(GUIDED_CORPUS)-kept && mkdir $(GUIDED_CORPUS)-kept
	$(GUIDED_READER) -merge=1 -max_len=4096 $(GUIDED_CORPUS)-kept $(GUIDED_CORPUS)
	@tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 -C $(GUIDED_CORPUS)-kept -cf - . | \
	    gzip -9n > $(KEPT_CORPUS)

# A build of its own, in which the compiler counts each edge of control flow, as users have it otherwise.
COUNTED := RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/tests/fuzz/count-edges.sh cargo bench --profile dev \
    --target-dir $(or $(CARGO_TARGET_DIR),target)/edges --config profile.dev.package.litecast.debug-assertions=false \
    --config 'profile.dev.debug="line-tables-only"'
# A part of the pairs: PAIRS="from=500 seconds=2400".
PAIRS ?=
growth: ## Measure how time, memory and counted work grow with a network, by shape of graph and pairs of kinds: hours
	cargo bench -p litecast-fuzz --bench growth
	$(COUNTED) -p litecast-fuzz --no-default-features --bench work -- pairs $(PAIRS)
	@test -f pkg/litecast_bg.wasm || { echo "skipped: no module in pkg/ (make wasm)"; exit 0; }; \
	    cargo build --release -p litecast -p litecast-fuzz --bin litecast-fuzz && \
	    node tests/fuzz/growth-wasm.mjs $(FUZZER)

cli: ## Build the native command, target/release/litecast
	cargo build --release --bin litecast

TRAINER := $(or $(CARGO_TARGET_DIR),target)/release/litecast-trainer
NETWORKS := $(or $(CARGO_TARGET_DIR),target)/release/litecast-networks
DATASET := --dataset trainer/data
# Written by `families`.
LEFT_OUT := --left-out trainer/results/left-out.csv
PAPER_SPACES := cnn-cifar10 cnn-imagenet cnn-kws vit-cifar100

trainer-native:
	RUSTFLAGS="-C target-cpu=native" cargo build --release -p litecast-trainer -p litecast-networks

bundle: ## Train the shipped predictor again on trainer/data, measure and export it
	@$(MAKE) --no-print-directory measure ARCHITECTURE=per-operator
	$(NETWORKS) export --run trainer/runs/per-operator $(DATASET) $(LEFT_OUT)

evaluation: venv ## Write all of trainer/results/ anew, from ../shared too: some six hours
	@test -d ../shared/models -a -d ../shared/data || { echo "expected ../shared/models and ../shared/data"; exit 1; }
	@$(MAKE) --no-print-directory families
	@$(MAKE) --no-print-directory bundle
	@$(MAKE) --no-print-directory sizes networks
	@for network in per-operator perfsage eagle; do \
	    $(MAKE) --no-print-directory specialised ARCHITECTURE=$$network || exit 1; \
	done
	@$(MAKE) --no-print-directory ablations baselines
	@$(MAKE) --no-print-directory table6
	$(TRAINER) evaluate-files ../shared/models
	$(TRAINER) evaluate-devices

ARCHITECTURE ?= perfsage
# The published networks: on the paper's four spaces, with the widths of their papers, PerfSAGE's with its loss
# and schedule. Those that take a minute or more an epoch, for fewer epochs.
FLAGS_perfsage := --hidden 128 --log-loss-epochs 5 --min-space-share 0.1 --learning-rate 0.001 --weight-decay 0
FLAGS_dippm := --hidden 512 --head 512 --epochs 12
FLAGS_nnlp := --hidden 512 --head 512
FLAGS_seernet := --hidden 256 --gradients pcgrad --epochs 24
FLAGS_eagle := --hidden 600 --epochs 12
SPACES := $(if $(filter per-operator,$(ARCHITECTURE)),,$(PAPER_SPACES:%=--spaces %))
measure: trainer-native ## Train one architecture on trainer/data and measure it (ARCHITECTURE=perfsage)
	$(NETWORKS) train --architecture $(ARCHITECTURE) $(FLAGS_$(ARCHITECTURE)) $(SPACES) \
	    $(DATASET) --out trainer/runs/$(ARCHITECTURE)
	$(NETWORKS) evaluate --run trainer/runs/$(ARCHITECTURE) $(DATASET) $(if $(filter per-operator,$(ARCHITECTURE)),$(LEFT_OUT))

families: trainer-native ## Train the shipped network without each design space in turn, and measure it there
	$(NETWORKS) evaluate-families --epochs 2 $(DATASET) $(LEFT_OUT)

sizes: trainer-native ## Train the shipped network on small graphs, and measure it on large ones
	$(NETWORKS) train --hold-out-large true --epochs 3 $(DATASET) --out trainer/runs/sizes
	$(NETWORKS) evaluate --run trainer/runs/sizes $(DATASET) --name sizes --tables-only

networks: ## Train and measure all networks to compare with, one after another: hours
	@for network in perfsage dippm nnlp seernet eagle; do \
	    $(MAKE) --no-print-directory measure ARCHITECTURE=$$network || exit 1; \
	done

specialised: trainer-native ## Train one architecture for each of PerfSAGE's spaces alone, and measure it
	@for space in $(PAPER_SPACES); do \
	    run=$(ARCHITECTURE)-$$space; \
	    $(NETWORKS) train --architecture $(ARCHITECTURE) $(FLAGS_$(ARCHITECTURE)) --spaces $$space \
	        $(DATASET) --out trainer/runs/$$run || exit 1; \
	    $(NETWORKS) evaluate --run trainer/runs/$$run $(DATASET) --name $$run --tables-only || exit 1; \
	done

PROCESSORS := --targets cortex-a76-rpi5,cortex-a72-rpi4 --dataset trainer/runs/processors/data
# PerfSAGE's with its loss, after whose start validation takes some ten epochs to improve again.
FLAGS_processors := --min-space-share 0.01 --patience 20 --split-seed 1
FLAGS_processors_perfsage := --epochs 60 --hidden 128 --log-loss-epochs 5 --learning-rate 0.001 --weight-decay 0
FLAGS_processors_per-operator := --epochs 40
# Kinds of their own: convolutions, attention, recurrence, detectors.
PROCESSOR_FAMILIES := cnn-kws,lstm,mobilenet-v2,resnet,vit-cifar100,yolo
processors: trainer-native ## Train networks of several seeds and baselines on the labels of processors: hours
	@mkdir -p trainer/results/processors
	$(TRAINER) dataset build --onto trainer/data --without-tool ethos-u-vela --out trainer/runs/processors/data
	@for network in perfsage per-operator; do for seed in 1 2 3; do \
	    flags="$(FLAGS_processors) $(FLAGS_processors_per-operator)"; \
	    run=trainer/runs/processors/$$network-seed$$seed; \
	    [ $$network = perfsage ] && flags="$(FLAGS_processors) $(FLAGS_processors_perfsage)"; \
	    $(NETWORKS) train --architecture $$network $$flags --seed $$seed $(PROCESSORS) --out $$run || exit 1; \
	    $(NETWORKS) evaluate --run $$run --dataset trainer/runs/processors/data --out trainer/results/processors \
	        --name $$network-seed$$seed --tables-only || exit 1; \
	done; done
	$(NETWORKS) baselines $(PROCESSORS) --out trainer/results/processors \
	    --leave-one-out --families $(PROCESSOR_FAMILIES)
	@for network in perfsage per-operator; do \
	    flags="$(FLAGS_processors) $(FLAGS_processors_per-operator)"; \
	    [ $$network = perfsage ] && flags="$(FLAGS_processors) $(FLAGS_processors_perfsage)"; \
	    $(NETWORKS) evaluate-families --architecture $$network $$flags $(PROCESSORS) \
	        --families $(PROCESSOR_FAMILIES) --runs trainer/runs/processors/families-$$network \
	        --out trainer/results/processors/families-$$network.md || exit 1; \
	done
	$(NETWORKS) table6

table6: trainer-native ## Write PerfSAGE's Table 6 from what the others measured
	$(NETWORKS) table6

# Less than the shipped network's epochs: rows are compared with each other.
ABLATION_FLAGS_perfsage := --epochs 12
ABLATION_FLAGS_per-operator := --epochs 4 --log-loss-epochs 4
ablations: ## Train PerfSAGE's network and ours again without each of their ideas: hours
	@for network in perfsage per-operator; do \
	    $(MAKE) --no-print-directory ablations-of ARCHITECTURE=$$network || exit 1; \
	done

ablations-of: trainer-native
	$(NETWORKS) ablations --architecture $(ARCHITECTURE) $(FLAGS_$(ARCHITECTURE)) $(SPACES) \
	    $(ABLATION_FLAGS_$(ARCHITECTURE)) $(DATASET)

baselines: trainer-native ## Fit predictors without a neural network, compare them with the shipped one
	$(NETWORKS) baselines $(DATASET)

hub: node ## Pack dataset and predictor for upload, with the cards that hubs read: target/hub (NAME=account)
	@node tools/hub/pack.mjs target/hub $(NAME)

card: ## Write the dataset's card, trainer/data/README.md, and its pictures from the tables
	cargo build --release -p litecast-trainer
	$(TRAINER) dataset card

wasm: node wasm-toolchain ## Build the npm package of the browser's module into pkg/
	@tools/build-wasm.sh

package-examples: wasm ## Run every set-up of the npm package's README from the packed archive (bundlers from npm: 650 MB)
	@mkdir -p target/package-examples
	@cp tests/package/examples/package.json target/package-examples/
	@npm install --prefix target/package-examples --no-audit --no-fund --loglevel error
	@node --test tests/package/setups.test.mjs

bench-package: wasm ## Print the npm package's sizes, times and memory in Node.js
	@node tests/package/bench.mjs

page: wasm ## Build the page, with the module beside it
	@npm run --silent build:page

site: page venv ## Build the page (www/dist) and the documentation (www/docs) as folders for any static host
	@tools/site/build.sh
	@echo "www/dist and www/docs can be copied to any path of any static host. The page is compressed ahead (.br, .gz), and"
	@echo "its _headers, .htaccess, vercel.json and nginx.conf.example hold the headers; they are not those of www/docs."

bench-page: page ## Print the page's times, sizes and findings of axe-core, medians of five in headless Chromium
	@node tests/page/bench.mjs --runs 5

hostile-page: page ## Drop a thousand hostile files on one page in headless Chromium: some minutes
	cargo build --release -p litecast -p litecast-fuzz --bin litecast-fuzz $(FUZZ_CHECKS)
	@$(FUZZER) --target mutants --executions 512 --seed $(FUZZ_SEED) $(FUZZ_SEEDS) > target/mutants
	@node tests/page/hostile.mjs --mutants target/mutants

small-files: page ## Print the slowest and largest of the hostile files below 2 MB on the page, in headless Chromium
	cargo build --release -p litecast -p litecast-fuzz --bin litecast-fuzz $(FUZZ_CHECKS)
	@$(FUZZER) --target cases > target/cases
	@node tests/page/small.mjs --cases target/cases

size: ## Print the bytes a visitor downloads: raw, gzip and brotli
	@tools/size.sh

venv: ## Make .venv with the Python tools of the trainer
	@tools/install-python.sh

qemu: venv ## Install QEMU with LiteRT for arm64, which labels for Cortex-A and some tests need
	@tools/install-qemu.sh

node: ## Install the page's build tools into node_modules
	@tools/install-node.sh

deny: venv ## Check licences, sources and advisories of third-party crates
	@tools/deny.sh

bench: ## Time the stages of an estimate, and estimates in the loop of a search
	cargo bench --manifest-path benches/Cargo.toml --target-dir $(or $(CARGO_TARGET_DIR),target)

bench-search: ## Print files and graphs a second in the loop of a search, native, on one thread (FILTER=summary)
	cargo bench --manifest-path benches/Cargo.toml --target-dir $(or $(CARGO_TARGET_DIR),target) --bench search -- $(FILTER)

wasm-toolchain: ## Install the wasm target
	@tools/install-wasm-toolchain.sh

wasm-tools: wasm-toolchain ## Install the wasm target, wasm-bindgen and wasm-pack
	@tools/install-wasm-tools.sh
	@tools/install-wasm-pack.sh

debian: ## Install Chromium, its driver and other Debian packages that the tests use
	@tools/install-debian.sh

release-rehearsal: venv node wasm-toolchain ## Pack what is published, install it into empty folders, run the first examples there (PARTS=command)
	@tools/release-rehearsal.sh $(PARTS)

fresh-check: ## Clone the last commit into a new folder and run both commands there
	@tools/fresh-check.sh

clean: ## Remove everything that was built here
	rm -rf target pkg www/dist www/docs .venv node_modules
