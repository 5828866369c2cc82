//! Marks of plays and passes, voluntary or forced.

use ludex_env::game::{Count, Game, MarkDoc, Marks, ParsedMove, ToMove};
use ludex_env::marks::{FLAG, WORD};

use super::state::NONE;
use super::{FightTheLandlord, Phase, State};

const SOURCE: &str = "BotzoneBench, table 5";

/// Documentation of the marks.
pub(super) const DOCS: &[MarkDoc] = &[
    MarkDoc::new("action", WORD, "for each move after the auction: `play` or `pass`", SOURCE),
    MarkDoc::new(
        "could_play",
        FLAG,
        "for each move after the auction: 1 if the seat could choose between a play and a pass; else 0",
        SOURCE,
    ),
    MarkDoc::new(
        "after",
        WORD,
        "for each move after the auction: owner of the play to beat, `team_mate` or `opponent`; `lead` if the seat led",
        SOURCE,
    ),
];

impl FightTheLandlord {
    pub(super) fn count(&self, before: &State, joint: &[Option<ParsedMove>], out: &mut Marks) {
        let (Phase::Play, ToMove::Seat(seat)) = (before.phase, self.to_move(before)) else { return };
        let Some(Some(ParsedMove::Action(a))) = joint.get(seat) else { return };
        out.word(seat, "action", if *a == 0 { "pass" } else { "play" });
        if out.wants("could_play") {
            let mut plays = Count::default();
            self.plays.find(before.hands[seat], self.top(before), &mut plays);
            out.flag(seat, "could_play", plays.0 > 0 && before.top != 0);
        }
        let landlord = |p: usize| before.landlord != NONE && p == usize::from(before.landlord);
        let last = before.plays().filter(|(_, a)| *a != 0).last().filter(|_| before.top != 0);
        let after = match last {
            None => "lead",
            Some((by, _)) if landlord(by) == landlord(seat) => "team_mate",
            Some(_) => "opponent",
        };
        out.word(seat, "after", after);
    }
}
