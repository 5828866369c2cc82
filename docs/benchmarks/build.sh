# What run.sh and peers.sh have in common: sourced by both.

profile="${LUDEX_BENCH_PROFILE:-bench}"
target="${CARGO_TARGET_DIR:-target}"
case "$profile" in
    bench | release) built="$target/release" ;;
    dev | test) built="$target/debug" ;;
    *) built="$target/$profile" ;;
esac

# Where raw outputs go.
out="docs/benchmarks/raw/${RUN:-$(date -u +%Y-%m-%d)}"

# The same packages each time: another choice of packages is another choice of features, and a build of its own.
packages=(-p ludex-protocol -p ludex-env -p ludex-agents -p ludex-server -p ludex-cli)

# Everything is built before anything is measured: a machine that has just compiled is a warm one.
build() {
    printf '==> building (profile %s)\n' "$profile"
    cargo build --profile "$profile" "${packages[@]}" --bin ludex \
        --bench steps --bench poker --bench search --bench codec --bench store --bench wire
}
