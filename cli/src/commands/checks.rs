//! Shared by the two commands of the protocol kit: a line for each check, or one document with all of them.

use std::collections::BTreeSet;
use std::process::ExitCode;

use serde_json::{Value, json};

use ludex_conformance::Check;

/// Prints each check when it is made, unless one document follows at the end. What an earlier check has found already is
/// not printed again; [`report`] counts it at the end.
pub(super) fn line(as_json: bool) -> impl FnMut(&Check) {
    let mut told = BTreeSet::new();
    move |check| {
        let new = finding(check).is_none_or(|finding| told.insert(finding));
        if !as_json && new {
            println!("{check}");
        }
    }
}

/// What makes two checks say the same: the fault, or why both were skipped.
fn finding(check: &Check) -> Option<String> {
    let fault = check.fault.as_ref().map(|fault| format!("{}; expected {}", fault.did, fault.expected));
    fault.or_else(|| check.skipped.clone())
}

/// A line for each finding of several checks.
fn repeats(checks: &[Check]) -> Vec<String> {
    let mut by_finding: Vec<(String, Vec<&str>)> = Vec::new();
    for check in checks {
        let Some(finding) = finding(check) else { continue };
        match by_finding.iter_mut().find(|(known, _)| *known == finding) {
            Some((_, names)) => names.push(&check.check),
            None => by_finding.push((finding, vec![&check.check])),
        }
    }
    let several = by_finding.into_iter().filter(|(_, names)| names.len() > 1);
    let line = |(_, names): (String, Vec<&str>)| {
        format!("the same as in {:?} in {} more: {}", names[0], names.len() - 1, names[1..].join("; "))
    };
    several.map(line).collect()
}

/// Runs the checks of `subject` (a URL, a command) and reports the results.
/// Exit code 0: conformant, 1: faults, 2: nothing could be checked.
pub(super) fn report(
    as_json: bool,
    subject: (&str, Value),
    checks: impl Future<Output = anyhow::Result<Vec<Check>>>,
) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(anyhow::Error::from);
    // What is checked runs in a group of its own, which Ctrl-C does not reach; it ends when `checks` is dropped.
    let checks = async {
        tokio::select! {
            checks = checks => checks,
            _ = tokio::signal::ctrl_c() => anyhow::bail!("interrupted"),
        }
    };
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
    } else {
        repeats(&checks).iter().for_each(|line| println!("{line}"));
    }
    if faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
