//! Load tests of one server. By default, each test is small and checks properties that do not depend on time.
//! Environment variables, documented in each file, set the size of a test, which then prints its measured times;
//! `docs/benchmarks/README.md` has the commands.

mod hogs;
mod matches;
mod pages;
mod turns;
mod watchers;

/// Returns the number in an environment variable, or a default.
fn size_from_env(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).ok().map_or(otherwise, |text| text.parse().expect("a whole number"))
}

/// Returns the program under test: the debug build of the tests, or the one that `LUDEX_BIN` names.
fn program() -> String {
    std::env::var("LUDEX_BIN").unwrap_or_else(|_| env!("CARGO_BIN_EXE_ludex-tests").to_owned())
}

/// Returns the quantile at `share` (0 to 1) of sorted times.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share) as usize]
}

/// Returns the CPU seconds of a process in user mode and in the kernel, summed over its threads.
fn seconds_of(process: u32) -> (f64, f64) {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("a running process");
    let after = stat.rsplit_once(") ").expect("a name").1;
    let ticks: Vec<f64> = after.split(' ').skip(11).take(2).map(|text| text.parse().expect("ticks")).collect();
    // Linux reports 100 ticks per second to programs on every machine.
    (ticks[0] / 100.0, ticks[1] / 100.0)
}
