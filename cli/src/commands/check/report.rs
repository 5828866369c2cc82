//! Output of `ludex check`: one line per check, or one JSON document.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::CheckResult;
use crate::commands::print;
use ludex_conformance::Check;

/// Returns a callback that prints each check when it ends, except in JSON mode. A finding that was already printed is
/// skipped; [`report`] lists the repeated findings at the end.
pub(super) fn print_check(as_json: bool) -> impl FnMut(&Check) {
    let mut findings = BTreeSet::new();
    move |check| {
        let is_new = finding(check).is_none_or(|finding| findings.insert(finding));
        if !as_json && is_new {
            println!("{}", print::plain(&check.to_string()));
        }
    }
}

/// Returns the fault of a check, or the reason why the check was skipped.
fn finding(check: &Check) -> Option<String> {
    let fault = check.fault.as_ref().map(|fault| format!("{}; expected {}", fault.did, fault.expected));
    fault.or_else(|| check.skipped.clone())
}

/// Returns a line for each finding that several checks share.
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
        format!("same finding as in {:?} ({} more): {}", names[0], names.len() - 1, names[1..].join("; "))
    };
    several.map(line).collect()
}

/// Runs the checks of `subject` (a URL or a command line) and prints the results.
pub(super) fn report(
    as_json: bool,
    subject: (&str, Value),
    checks: impl Future<Output = anyhow::Result<Vec<Check>>>,
) -> CheckResult {
    // The client runs in its own process group, which Ctrl-C does not reach. Dropping `checks` ends the client.
    let checks = crate::commands::block_on(async {
        tokio::select! {
            checks = checks => checks,
            _ = tokio::signal::ctrl_c() => anyhow::bail!("interrupted"),
        }
    });
    CheckResult(checks.map(|checks| {
        let faults = checks.iter().filter(|check| check.fault.is_some()).count();
        if as_json {
            let document = json!({ subject.0: subject.1, "checks": checks, "faults": faults });
            println!("{}", print::escaped(&document.to_string()));
        } else {
            repeats(&checks).iter().for_each(|line| println!("{}", print::plain(line)));
        }
        faults == 0
    }))
}
