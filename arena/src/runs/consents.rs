//! Consent of people: acceptances before the first match of a run, and the file of acceptances.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use ludex_play::files::write_whole;
use ludex_play::time::epoch_ms;
use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_protocol::record::AgentKind;
use ludex_report::runs::run_files::CONSENT;
use serde_json::json;

use super::Runs;
use super::enrolment::Enrolment;
use crate::consent::{Acceptance, ConsentText};
use crate::sessions::ClientInfo;

/// Acceptance before the enrolment. It is lost at a restart, and the person is asked again.
pub(super) struct PendingAcceptance {
    run: String,
    acceptance: Acceptance,
}

impl Runs {
    /// Returns the text that a person of this owner must accept before enrolling in a run; `None` if nothing is missing.
    pub fn missing_consent(&self, run: &str, owner: Option<&str>) -> Option<&ConsentText> {
        let text = self.hub.config.consent.as_ref()?;
        let enrolled = || {
            let came = |kept: &Enrolment| kept.entrants.iter().any(|e| e.owner.as_deref() == owner && e.came);
            self.host(run).is_some_and(|host| host.book.read(came))
        };
        (self.pending(run, owner, text).is_none() && !enrolled()).then_some(text)
    }

    /// Accepts the consent text for a person of this owner, if `sha256` is the hash of the present text. An owner has at
    /// most one acceptance for a run that it has not entered.
    pub fn accept_consent(&self, run: &str, owner: Option<&str>, sha256: &str) {
        if self.hub.config.consent.as_ref().is_some_and(|text| text.sha256 == sha256) {
            let acceptance = Acceptance { at_ms: epoch_ms(), sha256: sha256.to_owned() };
            let pending = PendingAcceptance { run: run.to_owned(), acceptance };
            self.consents.lock().insert(owner.unwrap_or_default().to_owned(), pending);
        }
    }

    /// Returns the acceptance of a client that enrolls in a run for the first time; `None` if it needs none.
    ///
    /// # Errors
    ///
    /// `forbidden` without acceptance of the consent text.
    pub(super) fn consent_of(&self, about: &ClientInfo, run: &str) -> Result<Option<Acceptance>, Box<Refusal>> {
        let Some(text) = self.hub.config.consent.as_ref().filter(|_| about.kind == AgentKind::Human) else {
            return Ok(None);
        };
        match self.pending(run, about.owner.as_deref(), text) {
            Some(acceptance) => Ok(Some(acceptance)),
            None => {
                let message = format!("expected an accepted consent text; accept it on the page /runs/{run}/play");
                Err(Box::new(Refusal::new(ErrorCode::Forbidden, message).path("run").got(run)))
            }
        }
    }

    fn pending(&self, run: &str, owner: Option<&str>, text: &ConsentText) -> Option<Acceptance> {
        let consents = self.consents.lock();
        let pending = consents.get(owner.unwrap_or_default())?;
        (pending.run == run && pending.acceptance.sha256 == text.sha256).then(|| pending.acceptance.clone())
    }
}

/// Writes the acceptances of a run to its folder, one line per agent. Without acceptances, writes nothing.
///
/// # Errors
///
/// A folder or a file that cannot be written.
pub(super) fn write(folder: &Path, kept: &Enrolment) -> anyhow::Result<()> {
    let line = |(agent, acceptance): (&str, &Acceptance)| {
        let at = jiff::Timestamp::from_millisecond(acceptance.at_ms).map(|at| at.to_string()).unwrap_or_default();
        format!("{}\n", json!({ "agent": agent, "at": at, "sha256": acceptance.sha256 }))
    };
    let accepted = kept.entrants.iter().filter_map(|e| Some((e.agent.as_str(), e.consent.as_ref()?)));
    let lines: String = accepted.map(line).collect();
    if lines.is_empty() {
        return Ok(());
    }
    let failed = || format!("{} cannot be written", folder.join(CONSENT).display());
    fs::create_dir_all(folder).with_context(failed)?;
    write_whole(folder, CONSENT, lines.as_bytes()).with_context(failed)
}
