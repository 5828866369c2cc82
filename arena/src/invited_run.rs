//! Invitation of a person to play one run of a suite.

use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_protocol::message::Enrol;
use ludex_protocol::record::AgentKind;
use serde::{Deserialize, Serialize};

/// Run of a suite that the holder of a token may play, and nothing else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InvitedRun {
    /// Name of the run. The person's first enrolment creates the run.
    pub run: String,
    pub suite: String,
    /// Parts of the suite to play; empty: all parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// Fraction of the suite to play, above 0 and at most 1.
    pub scale: f64,
}

impl InvitedRun {
    /// Checks that an agent of this kind may enroll with this request: as a person, in the run of the invitation, with its
    /// settings.
    ///
    /// # Errors
    ///
    /// `forbidden` for another kind, run or setting.
    pub(crate) fn check(&self, kind: AgentKind, request: &Enrol) -> Result<(), Box<Refusal>> {
        let refusal = |path: &str, allowed: serde_json::Value, got: serde_json::Value| {
            let message = format!("{path}: expected the value of the invitation, {allowed}, got {got}");
            Err(Box::new(Refusal::new(ErrorCode::Forbidden, message).path(path).got(got).allowed(allowed)))
        };
        if kind != AgentKind::Human {
            return refusal("agent.kind", serde_json::json!(AgentKind::Human), serde_json::json!(kind));
        }
        let allowed = Enrol {
            only: self.only.clone(),
            scale: self.scale,
            slots: request.slots,
            views: request.views.clone(),
            prompt: request.prompt.clone(),
            layout: request.layout.clone(),
            ..Enrol::new(&self.suite, &self.run)
        };
        if *request == allowed {
            return Ok(());
        }
        let fields = |request: &Enrol| serde_json::to_value(request).unwrap_or_default();
        let (got, allowed) = (fields(request), fields(&allowed));
        let keys = allowed.as_object().into_iter().chain(got.as_object()).flat_map(|fields| fields.keys());
        let path =
            keys.into_iter().find(|key| got[key.as_str()] != allowed[key.as_str()]).map_or("run", String::as_str);
        refusal(path, allowed[path].clone(), got[path].clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invitation_allows_its_own_run_to_people_only() {
        let invited = InvitedRun { run: "people-ann".into(), suite: "quick".into(), only: Vec::new(), scale: 0.1 };
        let own = Enrol { scale: 0.1, ..Enrol::new("quick", "people-ann") };
        assert_eq!(invited.check(AgentKind::Human, &own), Ok(()));
        let path = |kind, request: Enrol| invited.check(kind, &request).unwrap_err().path.unwrap().to_string();
        assert_eq!(path(AgentKind::Bot, own.clone()), "agent.kind");
        assert_eq!(path(AgentKind::Human, Enrol { run: "people-bob".into(), ..own.clone() }), "run");
        assert_eq!(path(AgentKind::Human, Enrol { suite: "absolute".into(), ..own.clone() }), "suite");
        assert_eq!(path(AgentKind::Human, Enrol { candidates: 2, ..own.clone() }), "candidates");
        assert_eq!(path(AgentKind::Human, Enrol { scale: 1.0, ..own }), "scale");
    }
}
