//! Notations of actions, and reasons for refusals.

use ludex_env::game::Action;

use super::TexasHoldem;
use super::deal::{ActionEffect, CALL, Deal, FOLD, LegalIds, NextStep};
use super::table::{Abstraction, PokerTable};

/// Returns Botzone's number for an action id: -1 fold, 0 call or check, -2 all-in, otherwise the chips that the move
/// puts in.
fn botzone(a: Action) -> i64 {
    match a {
        0 => -1,
        1 => 0,
        2 => -2,
        more => i64::from(more) - 2,
    }
}

impl TexasHoldem {
    /// Returns the name of an action in OpenSpiel's, RLCard's or Botzone's notation.
    pub(super) fn name(&self, a: Action) -> String {
        let t = &self.table;
        let word = match (a, t.sizes) {
            (_, Abstraction::Botzone) => return botzone(a).to_string(),
            (FOLD, _) => "Fold",
            (CALL, _) => "Call",
            (_, Abstraction::Fullgame) if !t.limit => return format!("Bet{a}"),
            (2, Abstraction::Rlcard) if !t.limit => "RaiseHalfPot",
            (3, Abstraction::Rlcard) => "RaiseFullPot",
            (2, _) => "Bet",
            (4, Abstraction::Fchpa) => "HalfPot",
            _ => "AllIn",
        };
        word.to_owned()
    }

    /// Returns the number in the name of a bet or raise of arbitrary size, given its action id.
    pub(super) fn size(&self, a: Action) -> u32 {
        if self.table.sizes == Abstraction::Botzone { a.saturating_sub(2) } else { a }
    }

    /// Parses an action: names, poker terms, bet sizes, and action ids (Botzone's numbers in Botzone's presets). The
    /// result may be illegal.
    pub(super) fn id(&self, legal: &[Action], text: &str) -> Option<Action> {
        let t = &self.table;
        let text = text.trim().to_ascii_lowercase();
        // OpenSpiel's form is `player=1 move=Bet300`.
        let text = text.rsplit_once("move=").map_or(text.as_str(), |(_, name)| name);
        let full = !t.limit && t.sizes == Abstraction::Fullgame;
        let botzone = t.sizes == Abstraction::Botzone;
        if let Ok(n) = text.parse::<i64>() {
            return match (botzone, n) {
                (true, -1) => Some(0),
                (true, 0) => Some(1),
                (true, -2) => Some(2),
                (true, 1..) => u32::try_from(n).ok()?.checked_add(2),
                (false, _) => u32::try_from(n).ok(),
                _ => None,
            };
        }
        let words: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
        let bare = words.trim_end_matches(|c: char| c.is_ascii_digit());
        let size = words[bare.len()..].parse::<u32>().ok();
        if let ("bet" | "raise" | "raiseto" | "betto" | "r" | "b", Some(n)) = (bare, size) {
            return match (full, botzone) {
                (true, _) => Some(n).filter(|&n| n > CALL),
                (_, true) => n.checked_add(2).filter(|_| n > 0),
                _ => None,
            };
        }
        if size.is_some() {
            return None;
        }
        let pot = |pot: Action, half: Option<Action>, all: Action| match bare {
            "bet" | "raise" | "pot" | "betpot" | "raisepot" | "potbet" | "raisefullpot" | "fullpot" => Some(pot),
            "halfpot" | "raisehalfpot" | "bethalfpot" => half,
            "allin" | "shove" | "a" => Some(all),
            _ => None,
        };
        // A pot-sized raise that is all-in has the all-in's id.
        let all_in = if legal.contains(&2) && !legal.contains(&3) { 2 } else { 3 };
        match (bare, t.sizes) {
            ("fold" | "f", _) => Some(FOLD),
            ("call" | "check" | "c" | "k" | "checkcall" | "callcheck" | "checkandcall", _) => Some(CALL),
            _ if t.limit => (bare == "bet" || bare == "raise" || bare == "r" || bare == "b").then_some(2),
            ("allin" | "shove" | "a", Abstraction::Fullgame) => legal.last().copied().filter(|&a| a > CALL),
            ("allin" | "shove" | "a", Abstraction::Botzone) => Some(2),
            (_, Abstraction::Fcpa) => pot(2, None, all_in),
            (_, Abstraction::Fchpa) => pot(2, Some(4), all_in),
            (_, Abstraction::Rlcard) => pot(3, Some(2), 4),
            _ => None,
        }
    }

    /// Lists the names of the first six legal actions and of the last legal action.
    pub(super) fn words_of(&self, legal: &[Action]) -> String {
        let ends = [legal.get(5..).and_then(<[Action]>::first), legal.get(6..).and_then(<[Action]>::last)];
        let shown: Vec<String> =
            legal.iter().take(5).chain(ends.into_iter().flatten()).map(|&a| self.name(a)).collect();
        shown.join(", ")
    }

    /// Explains why an action id is refused, with the legal bounds.
    pub(super) fn refusal(&self, d: &Deal, a: Action) -> String {
        let t = &self.table;
        let NextStep::Move(p) = d.next(t) else { return "no seat is to move".to_owned() };
        let c = &d.chips;
        let (options, botzone) = (d.options(t), t.sizes == Abstraction::Botzone);
        let (stack, spent) = (t.stacks[p], c.spent[p]);
        let owed = c.most.saturating_sub(spent);
        let (fold, call, all) = if botzone { ("-1", "0", "-2") } else { ("Fold", "Call", "AllIn") };
        let bets = options.range.is_some() || options.few.iter().any(|&o| o > if botzone { 2 } else { CALL });
        match d.does(t, a) {
            ActionEffect::Fold => format!("{fold}: a fold is not legal because there is no bet to call; {call} checks"),
            ActionEffect::Call => {
                format!("{call}: after an all-in, only fold ({fold}) and all-in ({all}) are legal")
            }
            _ if !bets => format!("{}: {}", self.name(a), no_raise(t, d, p, &options)),
            ActionEffect::Raise(_) if botzone => {
                let (low, high) = options.range.map_or((0, 0), |(l, h)| (self.size(l), self.size(h)));
                let k = self.size(a);
                format!(
                    "{k}: a raise must put in at least {low} and at most {high} chips; for all {} chips use {all}",
                    stack - spent
                )
            }
            ActionEffect::Raise(to) if t.sizes == Abstraction::Fullgame => {
                let (low, high) = options.range.unwrap_or_default();
                let flaw = if to > high { "above the stack" } else { "too small" };
                format!("Bet{to} is {flaw}: expected a total of at least {low} and at most {high} chips in this hand")
            }
            ActionEffect::Raise(to) => format!(
                "{}: a raise to {to} chips in this hand is illegal; the stack is {stack}, the call costs {owed}, and a \
                 raise must exceed the call by at least the last raise",
                self.name(a)
            ),
            ActionEffect::AllIn => {
                format!("{}: the pot is as large as the stack, so {} is all-in", self.name(a), self.name(2))
            }
        }
    }
}

fn no_raise(t: &PokerTable, d: &Deal, p: usize, options: &LegalIds) -> String {
    let (c, only) = (&d.chips, if options.has(FOLD) { "fold or call" } else { "check" });
    let stack = t.stacks[p];
    if t.sizes == Abstraction::Fc {
        "raises are disabled at this table".to_owned()
    } else if c.most >= stack {
        format!("the stack of {stack} does not exceed the call to {}; legal: {only}", c.most)
    } else {
        format!("no raise is possible: the round has its maximum of raises, or no seat can reply; legal: {only}")
    }
}
