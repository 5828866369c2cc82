//! Examination of a data directory, which a server may be using. Nothing is changed.

mod clock;
mod database;
#[cfg(target_os = "linux")]
mod descriptors;
#[cfg(unix)]
mod modes;
mod runs;
#[cfg(unix)]
mod space;
mod store;

use std::path::Path;

use ludex_store::{Store, StoreLocation};
use serde::Serialize;

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    Ok,
    /// State that works, but may lead to a problem.
    Warning,
    /// State in which a server fails or loses data.
    Problem,
}

/// Finding of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Name of the check.
    pub check: &'static str,
    pub status: CheckStatus,
    pub text: String,
    /// Action for the operator; `None` if all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Finding {
    fn ok(check: &'static str, text: impl Into<String>) -> Self {
        Finding { check, status: CheckStatus::Ok, text: text.into(), remedy: None }
    }

    fn warning(check: &'static str, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Finding { check, status: CheckStatus::Warning, text: text.into(), remedy: Some(remedy.into()) }
    }

    fn problem(check: &'static str, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Finding { check, status: CheckStatus::Problem, text: text.into(), remedy: Some(remedy.into()) }
    }
}

/// Checks the data directory `data`, its store and the system. The checks that need the store are missing if it cannot be opened.
pub async fn examine(data: &Path, location: &StoreLocation) -> Vec<Finding> {
    let mut findings = Vec::new();
    match Store::open_shared(location).await {
        Ok(store) => {
            findings.push(store::integrity(&store).await);
            findings.extend(runs::check(&store, data).await);
            findings.push(clock::check(&store).await);
            findings.extend(database::check(&store).await);
            if let Err(error) = store.close().await {
                findings.push(store::failure(&error));
            }
        }
        Err(error) => findings.push(store::failure(&error)),
    }
    #[cfg(unix)]
    findings.extend([modes::check(data), space::check(data)].into_iter().flatten());
    #[cfg(target_os = "linux")]
    findings.extend(descriptors::check(data));
    findings
}
