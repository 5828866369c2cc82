//! Matches behind a number of a figure, for links to their list.

use std::fmt::Write as _;

/// Conditions on matches. Matches fulfill all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchConditions {
    /// Name of an agent that plays, without its variant if `variant` is given.
    pub agent: Option<String>,
    pub variant: Option<String>,
    /// Names of other agents, one of which plays; empty for any.
    pub opponents: Vec<String>,
    /// Ids of the parts; empty for any.
    pub parts: Vec<String>,
    /// Level of the opponent on a ladder.
    pub level: Option<u32>,
}

impl MatchConditions {
    /// Returns the conditions for the matches of an agent.
    pub fn of_agent(name: &str) -> MatchConditions {
        MatchConditions { agent: Some(name.to_owned()), ..MatchConditions::default() }
    }

    /// Returns the conditions for the matches of a part.
    pub fn of_part(id: &str) -> MatchConditions {
        MatchConditions { parts: vec![id.to_owned()], ..MatchConditions::default() }
    }

    /// Adds the conditions of `other`, which take precedence.
    pub fn and(mut self, other: &MatchConditions) -> MatchConditions {
        self.agent = other.agent.clone().or(self.agent);
        self.variant = other.variant.clone().or(self.variant);
        self.level = other.level.or(self.level);
        if !other.opponents.is_empty() {
            self.opponents.clone_from(&other.opponents);
        }
        if !other.parts.is_empty() {
            self.parts.clone_from(&other.parts);
        }
        self
    }

    /// Returns the conditions as the fragment of a URL: `agent=NAME&part=ID`, percent-encoded. The index of transcripts shows
    /// the matches of this fragment.
    pub fn fragment(&self) -> String {
        let mut out = String::new();
        let one =
            |name: &'static str, value: &Option<String>| value.iter().map(|v| (name, v.clone())).collect::<Vec<_>>();
        let all = |name: &'static str, values: &[String]| values.iter().map(|v| (name, v.clone())).collect::<Vec<_>>();
        let level = self.level.map(|level| level.to_string());
        let pairs = [
            one("agent", &self.agent),
            one("variant", &self.variant),
            all("opponent", &self.opponents),
            all("part", &self.parts),
            one("level", &level),
        ];
        for (name, value) in pairs.concat() {
            let _ = write!(out, "{}{name}={}", if out.is_empty() { "" } else { "&" }, encoded(&value));
        }
        out
    }
}

/// Percent-encodes all bytes except unreserved characters (RFC 3986).
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(byte.into());
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragment_has_all_conditions_encoded() {
        let page =
            MatchConditions { parts: vec!["nim".into(), "pig".into()], level: Some(2), ..MatchConditions::default() };
        let conditions = page.and(&MatchConditions::of_agent("a / b&c")).and(&MatchConditions::of_part("nim"));
        assert_eq!(conditions.fragment(), "agent=a%20%2F%20b%26c&part=nim&level=2");
        assert_eq!(MatchConditions::default().fragment(), "");
    }
}
