//! Shared by the two commands of the protocol kit: a line for each check, or one document with all of them.

use std::process::ExitCode;

use serde_json::{Value, json};

use ludex_conformance::Check;

/// Prints each check when it is made, unless one document follows at the end.
pub(super) fn line(as_json: bool) -> impl FnMut(&Check) {
    move |check| {
        if !as_json {
            println!("{check}");
        }
    }
}

/// Runs the checks of `subject` (a URL, a command) and reports the results.
/// Exit code 0: conformant, 1: faults, 2: nothing could be checked.
pub(super) fn report(
    as_json: bool,
    subject: (&str, Value),
    checks: impl Future<Output = anyhow::Result<Vec<Check>>>,
) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(anyhow::Error::from);
    let checks = match runtime.and_then(|runtime| runtime.block_on(checks)) {
        Ok(checks) => checks,
        Err(e) => {
            eprintln!("ludex: {e:#}");
            return ExitCode::from(2);
        }
    };
    let faults = checks.iter().filter(|check| check.fault.is_some()).count();
    if as_json {
        println!("{}", json!({ subject.0: subject.1, "checks": checks, "faults": faults }));
    }
    if faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
