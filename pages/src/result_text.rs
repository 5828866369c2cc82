//! Texts for seats and match results. The script of the pages uses the same texts for end reasons.

use std::sync::LazyLock;

use ludex_protocol::record::{EndReason, Footer, Outcome};
use serde_json::{Map, Value};

use super::text;

/// All reasons for the end of a match.
const REASONS: [EndReason; 10] = [
    EndReason::Finished,
    EndReason::Illegal,
    EndReason::Timeout,
    EndReason::Disconnect,
    EndReason::Resign,
    EndReason::Truncated,
    EndReason::AgentError,
    EndReason::NoShow,
    EndReason::InfraError,
    EndReason::Aborted,
];

/// Returns the text of an end reason. Empty if the match ended by the rules. The placeholder `{}` stands for the party
/// at fault.
const fn why(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Finished => "",
        EndReason::Illegal => "{} made too many illegal moves",
        EndReason::Timeout => "{} ran out of time",
        EndReason::Disconnect => "{} disconnected for too long",
        EndReason::Resign => "{} resigned",
        EndReason::Truncated => "the match reached its move limit",
        EndReason::AgentError => "{} had an agent error",
        EndReason::NoShow => "{} did not show up",
        EndReason::InfraError => "the server failed",
        EndReason::Aborted => "the match was aborted",
    }
}

/// Texts of all end reasons by code, as JSON for the script. A text starts with `!` if matches with this end reason are
/// not counted.
pub(super) static END_REASON_TEXTS: LazyLock<String> = LazyLock::new(|| {
    let pair = |reason: &EndReason| {
        let code = serde_json::to_value(reason).ok()?.as_str()?.to_owned();
        let mark = if reason.counts() { "" } else { "!" };
        Some((code, Value::from(format!("{mark}{}", why(*reason)))))
    };
    Value::from(REASONS.iter().filter_map(pair).collect::<Map<String, Value>>()).to_string()
});

/// Returns the display name of each seat: the player's name, followed by the seat's name in parentheses. A numbered
/// seat name, such as `p0`, is omitted if the player has only one seat.
pub fn called(names: &[&str], roles: &[String]) -> Vec<String> {
    let one = |(seat, name): (usize, &&str)| {
        let shown = text::clean(name, text::NAME);
        let role = roles.get(seat).cloned().unwrap_or_else(|| format!("seat {seat}"));
        let alone = names.iter().filter(|other| *other == name).count() == 1;
        if alone && is_number(&role) { shown } else { format!("{shown} ({role})") }
    };
    names.iter().enumerate().map(one).collect()
}

/// Returns true if a seat name is only a number: `p0`, `player_1`, `seat 2`.
fn is_number(role: &str) -> bool {
    let digits = role.trim_start_matches(|c: char| !c.is_ascii_digit());
    let head = &role[..role.len() - digits.len()];
    matches!(head, "p" | "player_" | "seat ") && digits.chars().all(|c| c.is_ascii_digit())
}

/// Returns the text of a match's end reason, with the name of the party at fault. Empty if the match is running or
/// ended by the rules.
pub fn reason(end: &Footer, called: &[String]) -> String {
    let Some(reason) = end.reason else { return String::new() };
    let who = end.at_fault.and_then(|seat| called.get(seat as usize));
    why(reason).replace("{}", who.map_or("a player", String::as_str))
}

/// Returns the result of a match in sentences.
pub fn verdict(end: &Footer, called: &[String]) -> String {
    let counts = end.reason.is_some_and(EndReason::counts);
    let (why, result) = (reason(end, called), result(end, called));
    let won = end.outcome.contains(&Outcome::Win);
    let said = match (why.is_empty(), won || counts) {
        (true, _) => result,
        (false, true) => format!("{result}: {why}"),
        // Capitalizes only a leading "the", since player names keep their letter case.
        (false, false) => why.strip_prefix("the ").map_or_else(|| why.clone(), |rest| format!("The {rest}")),
    };
    if counts { format!("{said}.") } else { format!("{said}. This match is not counted.") }
}

/// Returns the result of a match: the winners, the losers, or each player's points.
fn result(end: &Footer, called: &[String]) -> String {
    let with = |outcome: Outcome| -> Vec<&str> {
        let seats = called.iter().zip(&end.outcome).filter(|(_, of)| **of == outcome);
        seats.map(|(name, _)| name.as_str()).collect()
    };
    let (won, lost) = (with(Outcome::Win), with(Outcome::Loss));
    if !won.is_empty() {
        return format!("{} {}", list(&won), if won.len() == 1 { "wins" } else { "win" });
    }
    if !with(Outcome::Draw).is_empty() {
        return "Draw".to_owned();
    }
    if !lost.is_empty() {
        return format!("{} {}", list(&lost), if lost.len() == 1 { "loses" } else { "lose" });
    }
    match end.returns[..] {
        [] => "Match over".to_owned(),
        [one] => points(one),
        [first, ref rest @ ..] if rest.iter().all(|other| *other == first) => format!("{} each", points(first)),
        ref all => {
            let each: Vec<String> =
                called.iter().zip(all).map(|(name, value)| format!("{name}: {}", points(*value))).collect();
            each.join(", ")
        }
    }
}

/// Formats a number of points.
pub fn points(value: f64) -> String {
    format!("{value} {}", if value.abs() == 1.0 { "point" } else { "points" })
}

/// Joins names into a list: `a`, `a and b`, `a, b and c`.
fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn roles(all: &[&str]) -> Vec<String> {
        all.iter().map(|role| (*role).to_owned()).collect()
    }

    #[test]
    fn seat_names_contain_player_and_role() {
        assert_eq!(called(&["ada", "bob"], &roles(&["black", "white"])), ["ada (black)", "bob (white)"]);
        assert_eq!(called(&["ada", "bob"], &roles(&["p0", "p1"])), ["ada", "bob"]);
        assert_eq!(called(&["ada", "bob", "ada"], &roles(&["p0", "p1", "p2"])), ["ada (p0)", "bob", "ada (p2)"]);
        assert_eq!(called(&["ada", "ada"], &roles(&["player_0"])), ["ada (player_0)", "ada (seat 1)"]);
    }

    #[test]
    fn every_end_reason_has_a_text() {
        let schema: Value = serde_json::from_str(include_str!("../../docs/protocol.schema.json")).unwrap();
        let known = schema["$defs"]["EndReason"]["oneOf"].as_array().unwrap();
        let whys: Value = serde_json::from_str(&END_REASON_TEXTS).unwrap();
        assert_eq!(whys.as_object().unwrap().len(), known.len(), "{whys}");
        assert_eq!((&whys["finished"], &whys["no_show"]), (&json!(""), &json!("!{} did not show up")));
    }

    #[test]
    fn verdict_consists_of_sentences() {
        let names = called(&["ada", "bob"], &roles(&["x", "o"]));
        let end = |outcome: [Outcome; 2], returns: [f64; 2], reason: EndReason, at_fault: Option<u32>| {
            let end = Footer {
                outcome: outcome.into(),
                returns: returns.into(),
                reason: Some(reason),
                at_fault,
                ..Footer::default()
            };
            verdict(&end, &names)
        };
        let (won, none) = ([Outcome::Win, Outcome::Loss], [Outcome::None, Outcome::None]);
        assert_eq!(end(won, [1.0, -1.0], EndReason::Finished, None), "ada (x) wins.");
        assert_eq!(end(won, [1.0, -1.0], EndReason::Timeout, Some(1)), "ada (x) wins: bob (o) ran out of time.");
        assert_eq!(
            end(won, [1.0, -1.0], EndReason::NoShow, Some(1)),
            "ada (x) wins: bob (o) did not show up. This match is not counted."
        );
        assert_eq!(
            end(none, [0.0, 0.0], EndReason::NoShow, Some(0)),
            "ada (x) did not show up. This match is not counted."
        );
        assert_eq!(end(none, [0.0, 0.0], EndReason::InfraError, None), "The server failed. This match is not counted.");
        assert_eq!(
            end([Outcome::Draw, Outcome::Draw], [0.0, 0.0], EndReason::Truncated, None),
            "Draw: the match reached its move limit."
        );
        assert_eq!(
            end([Outcome::Win, Outcome::Win], [1.0, 1.0], EndReason::Finished, None),
            "ada (x) and bob (o) win."
        );
        assert_eq!(end(none, [12.0, 12.0], EndReason::Finished, None), "12 points each.");
        assert_eq!(end(none, [1.0, 2.5], EndReason::Finished, None), "ada (x): 1 point, bob (o): 2.5 points.");
    }
}
