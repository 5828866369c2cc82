//! Load on one server. By default each test is small and checks what does not depend on time. With the variables that each file
//! names it is as large as wanted, and prints how long things took: `docs/benchmarks/README.md` has the commands.

mod hogs;
mod matches;
mod pages;
mod turns;
mod watchers;

/// A number of the environment.
fn size_from_env(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).ok().map_or(otherwise, |text| text.parse().expect("a whole number"))
}

/// The program that is measured: that of the tests, which is not optimised, or another.
fn program() -> String {
    std::env::var("LUDEX_BIN").unwrap_or_else(|_| env!("CARGO_BIN_EXE_ludex-tests").to_owned())
}

/// The value below which this share of the sorted times lies.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share) as usize]
}

/// Seconds of all threads of a process on a core, in user mode and in the system.
fn seconds_of(process: u32) -> (f64, f64) {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("a running process");
    let after = stat.rsplit_once(") ").expect("a name").1;
    let ticks: Vec<f64> = after.split(' ').skip(11).take(2).map(|text| text.parse().expect("ticks")).collect();
    // Linux tells programs of 100 ticks a second on every machine.
    (ticks[0] / 100.0, ticks[1] / 100.0)
}
