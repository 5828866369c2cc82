//! The information of a seat or the public: view, text and array.

use std::sync::Arc;

use ludex_env::game::{Action, Game, Seat, ToMove};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::board;
use super::document::MOST_KINDS;
use super::ids::{Ply, ply};
use super::position::{BoardState, NOTHING, Why, Winner};
use super::rules::Rules;
use super::speech::MessageAct;
use super::{FreeStyle, State, score, words};
use crate::quote::quoted;

/// The current phase of the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// A seat writes a message.
    Negotiate,
    /// Chance draws the rules or the first mover.
    Draw,
    /// A seat plays a ply.
    Play,
    /// The game has ended.
    Over,
}

/// The information available to one seat, or to the public.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// The observer's seat; absent for the public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u8>,
    /// The current phase of the game.
    pub phase: Phase,
    /// The messages of the negotiation, oldest first.
    pub messages: Vec<MessageView>,
    /// Hash of the latest proposal of each seat.
    pub open: [Option<String>; 2],
    /// The rules in play; absent until they are known.
    pub rules: Option<Value>,
    /// The rules in English; absent until they are known.
    pub summary: Option<String>,
    /// True if the seats agreed on the rules in the negotiation.
    pub agreed: bool,
    /// The seat that wrote the rules, or seat 0 if neither seat wrote them.
    pub author: u8,
    /// The seat that moves first; absent until that seat is known.
    pub first: Option<u8>,
    /// The pieces that the observer can see, by cell: a1, b1, and so on to e5.
    pub board: Vec<Option<Piece>>,
    /// Cells on which the observer has bumped into a hidden piece.
    pub bumped: Vec<String>,
    /// Number of pieces that each seat can still place, by kind; null for no limit.
    pub supply: [Vec<Option<u8>>; 2],
    /// Sum of the numbers that the observer has placed, by kind.
    pub sums: Vec<u16>,
    /// Number of opposing pieces that each seat has captured or removed.
    pub captured: [u16; 2],
    /// Number of plies so far.
    pub ply: u8,
    /// All plies so far, limited to the parts that the observer can see.
    pub plies: Vec<PlyView>,
    /// The seats to move.
    pub to_move: Vec<u8>,
    /// Result of the game, once it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Outcome>,
    /// The compiled rules, cached so that they are not parsed again.
    #[serde(skip)]
    #[schemars(skip)]
    pub(super) ready: LoadedRules,
}

/// The compiled rules of a view. Ignored when views are compared or serialized.
#[derive(Clone, Debug, Default)]
pub(super) struct LoadedRules(pub Option<Arc<Rules>>);

impl PartialEq for LoadedRules {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A message of the negotiation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageView {
    /// The seat that wrote the message.
    pub seat: u8,
    /// The type of the message.
    pub act: MessageAct,
    /// Hash of the proposed rules, if the message proposes rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The proposed rules in full, if the message proposes rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<Value>,
    /// Free text sent with the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub say: Option<String>,
}

/// A piece on the board.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Piece {
    /// The seat that owns the piece.
    pub owner: u8,
    /// The kind of the piece.
    pub kind: String,
    /// The number of the piece; absent if the piece has no number or the observer does not know the number.
    pub value: Option<u8>,
    /// True if the piece has a number that the observer does not know.
    pub unknown: bool,
}

/// An action of a seat in a ply, limited to the parts that the observer can see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlyView {
    /// Number of the ply.
    pub ply: u8,
    /// The seat that acted.
    pub seat: u8,
    /// The action id; absent if the observer does not know all parts of the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// Index of the placed kind, if the observer sees only a part of the placement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<u8>,
    /// The cell of the placement, if the observer sees only a part of the placement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<u8>,
    /// True if the placement failed because of a hidden piece on the cell.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bump: bool,
    /// The action as text.
    pub text: String,
    /// Numbers revealed on contact: of the moved piece, and of the piece on its target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<(u8, u8)>,
}

/// The result of a game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// The winning seat; absent for a draw.
    pub winner: Option<u8>,
    /// The condition that ended the game.
    pub why: Why,
    /// The points of both seats, if the board was scored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<[i32; 2]>,
}

/// Returns an action of `seat` in the position `before`, limited to the parts that `viewer` can see.
pub(super) fn ply_view(rules: &Rules, before: &BoardState, seat: Seat, a: Action, viewer: Option<Seat>) -> PlyView {
    let hidden = &rules.document.hidden;
    let open = viewer == Some(seat) || before.over.is_some();
    let mut seen = PlyView {
        ply: before.ply,
        seat: seat as u8,
        action: Some(a),
        kind: None,
        cell: None,
        bump: false,
        text: words::name(rules, a),
        met: None,
    };
    let Ply::Place { kind, cell, .. } = ply(a) else { return seen };
    seen.bump = !rules.together() && before.occupied() >> cell & 1 == 1;
    let has = rules.document.kinds.get(kind).is_some_and(|k| k.values.is_some());
    if open {
        if seen.bump {
            seen.text.push_str(", which is taken");
        }
    } else if hidden.pieces && seen.bump {
        (seen.action, seen.text) = (None, "a cell that is taken".into());
    } else if hidden.pieces {
        (seen.action, seen.kind, seen.text) = (None, Some(kind as u8), words::veiled(rules, kind, None));
    } else if hidden.values && has {
        (seen.action, seen.kind, seen.cell) = (None, Some(kind as u8), Some(cell as u8));
        seen.text = words::veiled(rules, kind, Some(cell));
    }
    seen
}

/// Returns all plies of a game, limited to the parts that `viewer` can see.
pub(super) fn plies(rules: &Rules, now: &BoardState, viewer: Option<Seat>) -> Vec<PlyView> {
    let mut s = BoardState::start(rules, now.first.into());
    let mut out = Vec::new();
    for actions in now.past.iter().take(now.ply.into()) {
        let joint = actions.map(|a| (a != NOTHING).then_some(Action::from(a)));
        let from = out.len();
        for (seat, a) in joint.iter().enumerate() {
            let Some(a) = *a else { continue };
            // At the end, everything is revealed: each ply is listed as its own seat saw it.
            let eyes = if now.over.is_some() { Some(seat) } else { viewer };
            out.push(ply_view(rules, &s, seat, a, eyes));
        }
        advance(rules, &mut s, joint);
        out[from..].iter_mut().for_each(|t| t.met = s.contact[usize::from(t.seat & 1)]);
    }
    out
}

pub(super) fn advance(rules: &Rules, s: &mut BoardState, joint: [Option<Action>; 2]) {
    if rules.together() {
        s.step_together(rules, joint);
    } else if let [Some(a), _] | [_, Some(a)] = joint {
        s.step(rules, a);
    }
}

impl FreeStyle {
    /// Returns the rules of a view, compiled if necessary.
    pub(super) fn rules_of(&self, view: &View) -> Option<Arc<Rules>> {
        self.fixed.clone().or_else(|| view.ready.0.clone()).or_else(|| super::validate::rules(view.rules.as_ref()?))
    }

    pub(super) fn seen_by(&self, s: &State, who: Option<Seat>) -> View {
        let rules = self.rules(s);
        let messages = s.talk.iter().map(|m| MessageView {
            seat: m.seat as u8,
            act: m.act,
            hash: m.rules.as_ref().map(|r| r.hash.clone()),
            rules: m.rules.as_ref().map(|r| r.canonical.clone()),
            say: m.say.clone(),
        });
        let turn = self.to_move(s);
        let mut view = View {
            seat: who.map(|p| p as u8),
            phase: match (turn, rules) {
                (ToMove::Over, _) => Phase::Over,
                (ToMove::Chance, _) => Phase::Draw,
                (_, None) => Phase::Negotiate,
                _ => Phase::Play,
            },
            messages: messages.collect(),
            open: [0, 1].map(|seat| self.open(s, seat).map(|r| r.hash.clone())),
            rules: rules.map(|r| r.canonical.clone()),
            summary: rules.map(|r| r.summary().to_owned()),
            agreed: s.agreed,
            author: s.author,
            first: s.play.as_ref().map(|p| p.first),
            board: Vec::new(),
            bumped: Vec::new(),
            supply: [Vec::new(), Vec::new()],
            sums: Vec::new(),
            captured: [0; 2],
            ply: 0,
            plies: Vec::new(),
            to_move: turn.seats().iter().map(|p| p as u8).collect(),
            result: None,
            ready: LoadedRules(rules.cloned()),
        };
        if let Some((rules, play)) = self.course(s) {
            look(rules, play, who, &mut view);
        }
        view
    }

    pub(super) fn words(&self, view: &View) -> String {
        let name = |seat: u8| ["a", "b"][usize::from(seat & 1)];
        let mut out = Vec::new();
        out.extend(view.seat.map(|p| format!("You are seat {}.", name(p))));
        if view.phase == Phase::Negotiate {
            out.push("The two seats agree on rules of a game on a board of 5 by 5, and then play by them.".into());
            out.push(if view.messages.is_empty() { "There are no messages yet." } else { "Messages so far:" }.into());
        }
        for m in &view.messages {
            let what = match m.act {
                MessageAct::Propose => "proposes",
                MessageAct::Counter => "proposes instead",
                MessageAct::Accept => "accepts",
                MessageAct::Reject => "rejects",
            };
            let hash = m.hash.as_ref().map_or(String::new(), |h| match Rules::builtin_name(h) {
                Some(name) => format!(" {name} (the rules {h})"),
                None => format!(" the rules {h}"),
            });
            let say = m.say.as_ref().map_or(String::new(), |s| format!(", saying: {}", quoted(s)));
            out.push(format!("- {} {what}{hash}{say}", name(m.seat)));
        }
        if view.phase == Phase::Negotiate {
            for (seat, hash) in view.open.iter().enumerate() {
                let Some(hash) = hash else { continue };
                let of = |m: &&MessageView| usize::from(m.seat) == seat && m.hash.as_ref() == Some(hash);
                let rules = view.messages.iter().rev().find(of).and_then(|m| super::validate::rules(m.rules.as_ref()?));
                if let Some(rules) = rules {
                    let words = rules.summary();
                    out.push(format!("\nThe latest rules of seat {} ({hash}):\n{words}\n", name(seat as u8)));
                }
            }
            let left = (self.params.messages as usize).saturating_sub(view.messages.len());
            let open = view
                .to_move
                .first()
                .is_some_and(|&p| view.open.get(1 - usize::from(p & 1)).is_some_and(Option::is_some));
            let accept = if open { "`accept`, " } else { "" };
            out.push(match left {
                0 => "No message is left.".to_owned(),
                1 => format!("This is the last message. It may only be {}`reject`.", if open { "`accept` or " } else { "" }),
                _ => format!("Messages left: {left}. The last one may only accept or reject. Possible are `propose F0` (four in line), `propose F1` (neighbours change sides), `propose F2` (hidden numbers), {accept}`reject`, and rules of your own as a JSON object."),
            });
            return out.join("\n");
        }
        if let Some(summary) = &view.summary {
            let how = if view.agreed { "agreed on" } else { "given" };
            out.push(format!("The rules, {how}; seat {} counts as their author:\n{summary}", name(view.author)));
        }
        if view.phase == Phase::Draw {
            out.push("Chance decides.".into());
            return out.join("\n");
        }
        out.push(String::new());
        out.extend(picture(view));
        let last: Vec<String> =
            view.plies.iter().rev().take(6).rev().map(|t| format!("{} {}", name(t.seat), t.text)).collect();
        if !last.is_empty() {
            out.push(format!("Last plies: {}.", last.join(", ")));
        }
        if !view.bumped.is_empty() {
            out.push(format!("Known as taken by hidden pieces: {}.", view.bumped.join(", ")));
        }
        for (seat, supply) in view.supply.iter().enumerate() {
            let left: Vec<String> = supply.iter().flatten().map(u8::to_string).collect();
            if !left.is_empty() {
                out.push(format!("Seat {} may still place: {}.", name(seat as u8), left.join(", ")));
            }
        }
        match &view.result {
            Some(r) => {
                let points = r.points.map_or(String::new(), |[a, b]| format!(" Points: {a} to {b}."));
                let won = r.winner.map_or("The game is drawn.".into(), |p| format!("Seat {} has won.", name(p)));
                out.push(format!("{won}{points}"));
            }
            None => {
                let seats: Vec<&str> = view.to_move.iter().map(|&p| name(p)).collect();
                out.push(format!("To move: {}. Plies so far: {}.", seats.join(" and "), view.ply));
                out.push("Answer with a ply: c3 places, c3=7 places with the number 7, n:c3=7 names the kind, b1-b2 moves, pass.".into());
            }
        }
        out.join("\n")
    }

    pub(super) fn encode(&self, s: &State, who: Option<Seat>, out: &mut [u8]) {
        out.fill(0);
        let Some((rules, play)) = self.course(s) else { return };
        let own = who.unwrap_or(0);
        let mut set = |at: usize, value: u8| {
            if let Some(cell) = out.get_mut(at) {
                *cell = value;
            }
        };
        for cell in play.on(board::ALL) {
            let Some(owner) = play.owner(cell) else { continue };
            if !play.sees(rules, who, owner) {
                continue;
            }
            set(2 * cell + usize::from(owner != own), 1);
            set(50 + 4 * cell + usize::from(play.kind[cell] & 3), 1);
            match play.number(cell) {
                Some(v) if play.is_known_to(rules, who, cell) => set(150 + 26 * cell + usize::from(v.min(25)), 1),
                Some(_) => set(800 + cell, 1),
                None => {}
            }
        }
        for seat in 0..2 {
            for (k, kind) in rules.document.kinds.iter().enumerate().take(MOST_KINDS) {
                let left = kind.supply.map_or(101, |n| n.saturating_sub(play.placed[seat][k]));
                set(825 + 4 * usize::from(seat != own) + k, left);
            }
        }
        let phase = if play.over.is_some() { 2 } else { usize::from(play.mover as usize != own || rules.together()) };
        set(833 + phase, 1);
        set(836, play.ply);
    }
}

/// Fills the fields of `view` that describe the position, limited to what `who` can see.
fn look(rules: &Rules, play: &BoardState, who: Option<Seat>, view: &mut View) {
    let kinds = &rules.document.kinds;
    view.board = (0..board::CELLS)
        .map(|cell| {
            let owner = play.owner(cell).filter(|&p| play.sees(rules, who, p))?;
            let (number, known) = (play.number(cell), play.is_known_to(rules, who, cell));
            Some(Piece {
                owner: owner as u8,
                kind: kinds.get(usize::from(play.kind[cell])).map_or(String::new(), |k| k.id.clone()),
                value: number.filter(|_| known),
                unknown: number.is_some() && !known,
            })
        })
        .collect();
    if let Some(p) = who {
        view.bumped = board::cells(play.bumped[p]).map(board::name).collect();
        view.sums = play.sums[p][..kinds.len().min(MOST_KINDS)].to_vec();
    }
    let left = |seat: usize| {
        let one =
            |(k, kind): (usize, &super::document::Kind)| kind.supply.map(|n| n.saturating_sub(play.placed[seat][k]));
        kinds.iter().enumerate().take(MOST_KINDS).map(one).collect()
    };
    view.supply = [left(0), left(1)];
    view.captured = play.captured;
    view.ply = play.ply;
    view.plies = plies(rules, play, who);
    view.result = play.over.map(|over| Outcome {
        winner: match over.winner {
            Winner::Seat(p) => Some(p),
            Winner::Draw => None,
        },
        why: over.why,
        points: over.scored.then(|| score::points(rules, play)),
    });
}

/// Returns the board as lines of text with coordinates, row 5 on top.
fn picture(view: &View) -> Vec<String> {
    let several = view.board.iter().flatten().any(|p| view.board.iter().flatten().any(|o| o.kind != p.kind));
    let cell = |k: usize| match view.board.get(k) {
        Some(Some(p)) => {
            let owner = if p.owner == 0 { "A" } else { "B" };
            let kind = if several { p.kind.as_str() } else { "" };
            let number = match p.value {
                Some(v) => v.to_string(),
                None if p.unknown => "?".into(),
                None => String::new(),
            };
            format!("{owner}{kind}{number}")
        }
        _ => ".".into(),
    };
    let all: Vec<String> = (0..board::CELLS).map(cell).collect();
    let width = all.iter().map(|c| c.chars().count()).max().unwrap_or(1);
    let row = |r: usize| {
        let cells: Vec<String> = all[5 * r..5 * r + 5].iter().map(|c| format!("{c:<width$}")).collect();
        format!("{} {}", r + 1, cells.join(" ")).trim_end().to_owned()
    };
    let letters: Vec<String> = ["a", "b", "c", "d", "e"].iter().map(|c| format!("{c:<width$}")).collect();
    let mut out = vec!["Board (A and B are the pieces of the seats):".to_owned()];
    out.extend((0..5).rev().map(row));
    out.push(format!("  {}", letters.join(" ")).trim_end().to_owned());
    out
}
