# The common part of run.sh and peers.sh; both source it.

profile="${LUDEX_BENCH_PROFILE:-bench}"
target="${CARGO_TARGET_DIR:-target}"
case "$profile" in
    bench | release) built="$target/release" ;;
    dev | test) built="$target/debug" ;;
    *) built="$target/$profile" ;;
esac

# Where raw outputs go.
out="$target/benchmarks/${RUN:-$(date -u +%Y-%m-%d)}"

# Always the same packages: other packages would select other features and cause another build.
packages=(-p ludex-protocol -p ludex-env -p ludex-games -p ludex-agents -p ludex-play -p ludex-store -p ludex-arena -p ludex-server -p ludex-cli)

# Build everything before the first measurement, because a machine that has just compiled runs slower.
build() {
    printf '==> building (profile %s)\n' "$profile"
    cargo build --profile "$profile" "${packages[@]}" --bin ludex \
        --bench steps --bench poker --bench pictures --bench search --bench verify --bench codec --bench store --bench wire
}
