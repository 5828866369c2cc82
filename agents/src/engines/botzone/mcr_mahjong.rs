//! ChineseStandardMahjong with duplicate walls. Messages are lines of words, such as `2 W5` (drawn tile) and
//! `3 1 PENG B2` (seat 1 claims a pung and discards B2).
//!
//! Botzone sends a request to all four seats at every step. The response is `PASS` in steps in which the seat has no
//! decision in Ludex. Botzone's `PENG c` and `CHI m c` include the discard, which is a separate turn in Ludex. The
//! response to the claim request therefore answers both turns.

use serde_json::Value;

use ludex_env::{Action, MoveRequest, Mover, ObservedMove};
use ludex_games::mcr_mahjong::ids::{self, Doing};
use ludex_games::mcr_mahjong::tiles::{self, Tile};
use ludex_games::mcr_mahjong::{Phase, View};

use super::codec::{Codec, PastTurn, TurnLog, legal};
use crate::error::AgentError;
use crate::typed_access::view;

pub(super) const CODEC: Codec = Codec {
    game: "mcr_mahjong",
    free: &["prevalent", "errors"],
    simple: Some(&[]),
    idle: Some(PASS),
    fallback: None,
    talk,
    read,
};

const PASS: &str = "PASS";
/// Seat names in public events, by seat.
const WINDS: [&str; 4] = ["east", "south", "west", "north"];

/// Requests and responses of one seat so far.
#[derive(Default)]
struct Rounds {
    seat: usize,
    all: Vec<PastTurn>,
    /// True if the seat still has to respond to the last request.
    open: bool,
    /// Seat and text of a claim whose discard has not been played yet.
    claim: Option<(usize, String)>,
}

impl Rounds {
    /// Adds a request that requires a decision. The response is `PASS` until [`Rounds::answer`] sets it.
    fn ask(&mut self, request: String) {
        self.all.push(PastTurn { request: request.into(), action: ids::PASS, response: PASS.into() });
        self.open = true;
    }

    /// Adds a request that requires no decision.
    fn tell(&mut self, request: String) {
        self.ask(request);
        self.open = false;
    }

    /// Sets the response to the last request.
    fn answer(&mut self, action: Action, response: &str) {
        if let Some(last) = self.all.last_mut() {
            (last.action, last.response) = (action, response.into());
        }
        self.open = false;
    }

    /// Handles a public event: a draw, or a winning claim.
    fn on_public_event(&mut self, text: &str) {
        let words: Vec<&str> = text.split([' ', ':']).filter(|word| !word.is_empty()).collect();
        let seat = |name: &str| WINDS.iter().position(|w| *w == name);
        match words[..] {
            ["draw", _, _, tile] => self.ask(format!("2 {tile}")),
            ["draw", _, name] => {
                if let Some(p) = seat(name) {
                    self.tell(format!("3 {p} DRAW"));
                }
            }
            ["offer", _, name, claim @ ("PENG" | "CHI" | "GANG"), tile] => {
                let Some(p) = seat(name) else { return };
                match claim {
                    "GANG" => self.tell(format!("3 {p} GANG")),
                    "PENG" => self.claim = Some((p, claim.to_owned())),
                    _ => self.claim = Some((p, format!("{claim} {tile}"))),
                }
            }
            _ => {}
        }
    }

    /// Handles a move of any seat. Among responses to an offer, only the seat's own response is visible.
    fn moved(&mut self, seat: usize, past: &ObservedMove) {
        let own = seat == self.seat;
        let doing = past.action.map(ids::reading);
        let asked_for_claim = self.open && self.all.last().is_some_and(|t| !starts(&t.request, "2 "));
        match doing {
            Some(Doing::Pass) if own => self.answer(ids::PASS, PASS),
            Some(Doing::Hu) if own => self.answer(ids::HU, "HU"),
            // The discard is added once it is known.
            Some(Doing::Peng) if own => self.answer(ids::PENG, "PENG"),
            Some(Doing::Chi(_)) if own => self.answer(past.action.unwrap_or(ids::PASS), &past.text),
            Some(Doing::Gang(_)) if own && asked_for_claim => self.answer(past.action.unwrap_or(ids::PASS), "GANG"),
            Some(Doing::Play(tile)) => self.played(seat, past, tile),
            Some(Doing::Bugang(tile)) => {
                let request = format!("3 {seat} BUGANG {}", tiles::name(tile));
                if own {
                    self.answer(past.action.unwrap_or(ids::PASS), &past.text);
                    self.tell(request);
                } else {
                    self.ask(request);
                }
            }
            // Concealed kong; another seat's tile is hidden.
            Some(Doing::Gang(_)) | None => {
                if own {
                    self.answer(past.action.unwrap_or(ids::PASS), &past.text);
                }
                self.tell(format!("3 {seat} GANG"));
            }
            _ => {}
        }
    }

    fn played(&mut self, seat: usize, past: &ObservedMove, tile: Tile) {
        let own = seat == self.seat;
        let tile = tiles::name(tile);
        let request = match self.claim.take() {
            Some((_, claim)) => {
                if own && let Some(last) = self.all.last_mut() {
                    last.response = format!("{claim} {tile}").into();
                }
                format!("3 {seat} {claim} {tile}")
            }
            None => {
                if own {
                    self.answer(past.action.unwrap_or(ids::PASS), &past.text);
                }
                format!("3 {seat} PLAY {tile}")
            }
        };
        if own { self.tell(request) } else { self.ask(request) }
    }
}

fn starts(request: &Value, with: &str) -> bool {
    request.as_str().is_some_and(|text| text.starts_with(with))
}

/// Rebuilds all requests and responses of the seat from its view and history.
fn rounds(ask: &MoveRequest<'_>) -> Result<Rounds, AgentError> {
    let view = view::<View>(ask)?;
    let Some(past) = ask.past() else {
        let why = "botzone requires the move history, which this host does not store; use matches instead of batches";
        return Err(AgentError::failed(why));
    };
    let mut rounds = Rounds { seat: ask.seat, ..Rounds::default() };
    rounds.tell(format!("0 {} {}", ask.seat, view.prevalent.unwrap_or(0)));
    // The wind is drawn after the tiles. A seat takes its tiles from the end of its wall.
    let dealt = past.iter().filter(|p| p.by == Mover::Chance).filter_map(|p| p.action).take(13);
    let mut hand: Vec<String> = dealt.map(|tile| tiles::name(tile as Tile)).collect();
    hand.reverse();
    rounds.tell(format!("1 0 0 0 0 {}", hand.join(" ")));
    for one in past {
        if let Mover::Seat(seat) = one.by {
            rounds.moved(seat, one);
        }
        one.reveals.iter().for_each(|text| rounds.on_public_event(text));
    }
    Ok(rounds)
}

fn talk(ask: &MoveRequest<'_>) -> Result<TurnLog, AgentError> {
    let Rounds { mut all, open, claim, .. } = rounds(ask)?;
    // After the seat's own claim, the claim request is answered again: its response contains the discard.
    let again = claim.is_some_and(|(seat, _)| seat == ask.seat);
    match all.pop() {
        Some(last) if open || again => {
            Ok(TurnLog { turns: all, now: last.request, again: again.then_some(last.action) })
        }
        _ => Err(AgentError::failed(format!("botzone: the moves of the match do not lead to seat {}", ask.seat))),
    }
}

fn read(ask: &MoveRequest<'_>, response: &Value) -> Option<Action> {
    let seen = view::<View>(ask).ok()?;
    let tile = |name: &str| tiles::read(name).filter(|&t| usize::from(t) < tiles::KINDS).map(Action::from);
    let words: Vec<&str> = response.as_str()?.split_whitespace().collect();
    let action = match (seen.phase, &words[..]) {
        (Phase::Turn, ["PLAY", t]) => ids::PLAY + tile(t)?,
        (Phase::Turn, ["GANG", t]) => ids::GANG + tile(t)?,
        (Phase::Turn, ["BUGANG", t]) => ids::BUGANG + tile(t)?,
        (Phase::Turn | Phase::Claim | Phase::Kong, ["HU"]) => ids::HU,
        (Phase::Claim | Phase::Kong, ["PASS"]) => ids::PASS,
        (Phase::Claim, ["GANG"]) => ids::GANG + Action::from(seen.offer?.tile.0),
        (Phase::Claim, ["PENG", _]) => ids::PENG,
        (Phase::Claim, ["CHI", middle, _]) => {
            let (offer, middle) = (seen.offer?.tile.0, tile(middle)? as Tile);
            ids::CHI + (0..3).find(|&place| ids::middle(offer, place) == Some(middle)).map(Action::from)?
        }
        (Phase::Discard, ["PENG", t] | ["CHI", _, t]) => ids::PLAY + tile(t)?,
        _ => return None,
    };
    legal(ask, Some(action))
}
