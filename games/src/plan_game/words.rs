//! Views as text, with the feedback that the paper's players receive.

use serde_json::Value;

use super::PlanGame;
use super::engine::{PlanEngine, Side};
use super::state::Phase;
use super::view::{RoundView, View};

/// Returns the explanation of the reason for a round's result; an unknown reason is returned unchanged.
pub(super) fn why(reason: &str) -> &str {
    match reason {
        "wiped_out" => "nothing was left of the other side",
        "both_empty" | "both_out" => "nothing was left of either side",
        "breach" => "a demon reached the left edge",
        "cleared" => "no demon was left",
        "cap" => "the battle came to its limit",
        "forfeit" => "the other plan broke a rule",
        "both_forfeit" => "both plans broke a rule",
        other => other,
    }
}

/// Returns the description of the submission required in a phase.
pub(super) fn phase_prompt(phase: Phase) -> &'static str {
    match phase {
        Phase::Initial => "the first plans",
        Phase::InitialOther => "the first plans for the other side",
        Phase::Revision | Phase::RevisionOther => "a revision",
        Phase::Over => "over",
    }
}

/// Collects all string values of a document.
fn texts<'a>(value: &'a Value, out: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => out.push(text),
        Value::Array(list) => list.iter().for_each(|value| texts(value, out)),
        Value::Object(map) => map.values().for_each(|value| texts(value, out)),
        _ => {}
    }
}

impl<C: PlanEngine> PlanGame<C> {
    /// Describes one round in a sentence.
    pub(super) fn result(&self, n: usize, played: &RoundView) -> String {
        let sides = &played.sides;
        let end = match played.winner {
            Some(seat) => format!("{} won ({})", sides[usize::from(seat & 1)], why(&played.reason)),
            None => format!("nobody won, so both lose ({})", why(&played.reason)),
        };
        let mut text = format!("Round {n}: {end}. Costs: ");
        let cost = |seat: usize| format!("{} {}", sides[seat], played.costs[seat]);
        text += &format!("{}, {}.", cost(0), cost(1));
        for (seat, all) in played.violations.iter().enumerate() {
            if !all.is_empty() {
                text += &format!(" {} violated: {}.", sides[seat], all.join(", "));
            }
        }
        text
    }

    fn catalogue_text(&self, title: &str, side: Side, only: impl Fn(&str) -> bool) -> Option<String> {
        let lines: Vec<String> = self.engine.catalogue(side).into_iter().filter(|l| only(l.0)).map(|l| l.1).collect();
        (!lines.is_empty()).then(|| format!("{title}\n{}", lines.join("\n")))
    }

    pub(super) fn words(&self, view: &View) -> String {
        let last = view.history.last();
        let waiting: Vec<String> = view.waiting.iter().map(|&p| self.seats()[usize::from(p & 1)].clone()).collect();
        let mut parts = vec![match view.phase {
            Phase::Over => format!("All {} rounds are played.", view.rounds),
            phase => {
                let round = if view.rounds == 1 {
                    "The only round".to_owned()
                } else {
                    format!("Round {} of {}", view.round, view.rounds)
                };
                format!("{round}: {}. Still to give a plan: {}.", phase_prompt(phase), waiting.join(", "))
            }
        }];
        let seat = view.seat.map(|p| usize::from(p & 1));
        let side = view.side.as_ref().and_then(|name| C::SIDES.iter().position(|n| n == name));
        let (Some(seat), Some(side)) = (seat, side) else {
            parts.extend(view.history.iter().enumerate().map(|(n, played)| self.result(n + 1, played)));
            return parts.join("\n");
        };
        parts.insert(0, format!("You play the {} side of {}.", C::SIDES[side], C::INFO.title));
        parts.extend(last.map(|played| self.result(view.history.len(), played)));
        if last.is_some() && view.rounds > 1 {
            parts.push(format!("Rounds so far: you won {} and lost {}.", view.won, view.lost));
        }
        let budget = self.budgets[side];
        let own = view.strategy.get(C::SIDES[side]);
        parts.push(match own {
            Some(own) => format!("Your plan costs {}; your budget is {budget}.", own.cost),
            None => format!("Your budget is {budget}."),
        });
        if view.waiting.contains(&(seat as u8)) {
            parts.push(match view.tries_left {
                Some(left) if left > 1 => {
                    format!("Tries left: {left}. A plan over the budget is asked for again; the last one counts.")
                }
                Some(left) => format!("Tries left: {left}. A plan over the budget loses the round."),
                None => "A plan over the budget loses the round.".to_owned(),
            });
        }
        if let Some(over) = &view.over {
            parts.push(format!("Your last plan costs {}, more than {budget}:\n{}", over.cost, over.strategy));
        }
        parts.push(C::RULES.to_owned());
        parts.extend(self.catalogue_text("Your side:", side, |_| true));
        let theirs = last.map(|played| &played.strategies[1 - seat]);
        match theirs {
            None => {
                let names: Vec<&str> = self.engine.catalogue(1 - side).into_iter().map(|line| line.0).collect();
                parts.push(format!("The other side has: {}.", names.join(", ")));
            }
            Some(document) => {
                let mut used = Vec::new();
                texts(document, &mut used);
                parts.extend(self.catalogue_text("The other side used:", 1 - side, |name| used.contains(&name)));
            }
        }
        parts.extend(own.map(|own| format!("Your plan: {}", own.strategy)));
        parts.extend(theirs.map(|document| format!("The other's last plan: {document}")));
        parts.extend(last.and_then(|played| played.summary.as_ref()).map(|summary| format!("The battle: {summary}")));
        if let Some(draft) = &view.draft {
            let choosing: Vec<String> = draft.choosing.iter().map(|&a| self.name(side, a)).collect();
            parts.push(format!("Built so far, for {}: {} {}", draft.cost, draft.strategy, choosing.join(", ")));
        }
        if view.waiting.contains(&(seat as u8)) {
            let example = self.engine.document(side, &self.engine.example(side));
            parts.push(match last {
                None => format!("A plan is one JSON object, such as {example}"),
                Some(_) => "A plan is one JSON object: the new plan, or {\"keep\": true}.".to_owned(),
            });
        }
        parts.join("\n")
    }

    /// Returns the name of an action id of a side.
    pub(super) fn name(&self, side: Side, a: ludex_env::game::Action) -> String {
        match a {
            super::SUBMIT => "submit".to_owned(),
            super::KEEP => "keep".to_owned(),
            a => self.engine.action_text(side, a),
        }
    }
}
