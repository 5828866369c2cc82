//! Check of the report and the card of a bundle: both are rebuilt and compared.

use ludex_report::runs::archive::Archive;
use ludex_report::runs::bundle::{self, CARD, Files, PAGE, REPORT, SUMS};
use serde_json::Value;

use crate::runs::report_files;

/// Relative tolerance for numbers in reports, whose rounding differs between processors.
const CLOSE: f64 = 1e-6;

/// Returns the faults of the report and the card, by file, and a note if they were not checked.
pub(super) fn pages(run: &Archive, files: &Files) -> (Vec<(String, String)>, Option<String>) {
    if !files.contains_key(SUMS) {
        return (Vec::new(), None);
    }
    if run.about.ludex != crate::PROGRAM || !run.about.calls_bound {
        let by = if run.about.ludex.is_empty() { "a different version" } else { &run.about.ludex };
        return (
            Vec::new(),
            Some(format!("the report was not checked: the run was created by {by} or an older build")),
        );
    }
    let (again, refused) = report_files::pages(run);
    let mut wrong = Vec::new();
    // With invalid records, the rebuilt report differs in any case.
    if refused.is_empty() && run.refused.is_empty() {
        let json = |files: &Files| files.get(REPORT).and_then(|bytes| serde_json::from_slice::<Value>(bytes).ok());
        match (json(files), json(&again)) {
            (Some(was), Some(is)) => wrong.extend(
                difference(&was, &is, "")
                    .map(|at| (REPORT.to_owned(), format!("the report does not match the records: {at} differs"))),
            ),
            _ => wrong.push((REPORT.to_owned(), "expected a report in JSON, got none or invalid text".to_owned())),
        }
        if files.get(PAGE) != again.get(PAGE) {
            wrong.push((PAGE.to_owned(), "the page of the report does not match the records".to_owned()));
        }
    }
    // The card lists all files except itself.
    let mut others = files.clone();
    others.remove(CARD);
    others.remove(SUMS);
    if files.get(CARD).map(Vec::as_slice) != Some(bundle::card(&run.about, &others).as_bytes()) {
        wrong.push((CARD.to_owned(), "expected the card of this run, got a different text".to_owned()));
    }
    let known = |name: &String| {
        ludex_report::runs::run_files::FILES.contains(&name.as_str()) || [REPORT, PAGE].contains(&name.as_str())
    };
    let strange = others.keys().filter(|name| !known(name));
    wrong.extend(strange.map(|name| (name.clone(), "unexpected file in a bundle".to_owned())));
    (wrong, None)
}

/// Returns the path of the first value that differs between two JSON documents.
fn difference(was: &Value, is: &Value, at: &str) -> Option<String> {
    match (was, is) {
        (Value::Object(a), Value::Object(b)) => {
            let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
            names
                .filter_map(|name| {
                    let null = Value::Null;
                    difference(a.get(name).unwrap_or(&null), b.get(name).unwrap_or(&null), &format!("{at}/{name}"))
                })
                .next()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(k, (a, b))| difference(a, b, &format!("{at}/{k}")))
        }
        (Value::Number(a), Value::Number(b)) => {
            let near = a.as_f64().zip(b.as_f64()).is_some_and(|(a, b)| (a - b).abs() <= CLOSE * (1.0 + a.abs()));
            (!near).then(|| at.to_owned())
        }
        _ => (was != is).then(|| at.to_owned()),
    }
}
