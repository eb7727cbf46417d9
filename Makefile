# unwedge: what a person types. `make` alone prints this list.
GO      ?= go
BIN     := bin
TIMEOUT ?= 10m

.DEFAULT_GOAL := help
.PHONY: help build test vet certify bench lint mutants teeth clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/unwedge and bin/unwedge-helper
	@mkdir -p $(BIN)
	$(GO) build -trimpath -o $(BIN)/ ./cmd/unwedge ./cmd/unwedge-helper

certify: build ## certify the built-in supervisor: every fault, both eras (a demonstration as well)
	$(BIN)/unwedge certify --out out

test: vet ## everything that must hold: unit tests, real processes, Ginkgo scenarios, with the race detector
	$(GO) test -race -timeout $(TIMEOUT) ./...

vet: ## go vet, also for the platforms that only have to compile
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	GOOS=windows $(GO) vet ./...

bench: ## the figures of docs/performance.md, as ratios within one run
	$(GO) test ./breaker -run '^$$' -bench 'Ratios|Closed|Open' -benchmem -count 3
	$(GO) test ./supervisor -run '^$$' -bench . -benchtime 1x

mutants: ## put old defects back one by one; each must be caught by the scenario that names it
	$(GO) run ./ci/mutants

teeth: ## which broken client or mutant fails each class; a class that nothing fails proves nothing
	$(GO) run ./ci/teeth

lint: ## the linters of .golangci.yml, at the version pinned in ci/tools/go.mod
	$(GO) tool -modfile=ci/tools/go.mod golangci-lint run ./...

clean: ## remove what the other targets made
	rm -rf $(BIN) out
