//! Move parsing, reasons for refusals, and text of views. The text alone suffices to play.

use ludex_env::draw::Stream;
use ludex_env::game::{Action, Game, GameText, Seat};

use super::hand::MeldKind;
use super::ids::{self, Doing};
use super::shanten::{FORMS, Form, shanten};
use super::state::{Phase, SEATS, State, next};
use super::tiles::{self, COPIES, Counts, KINDS, Kinds, SUITS, Tile, family, name, names};
use super::view::{Kind, MeldView, View};
use super::{McrMahjong, WINDS};

/// Reason why a text is not a legal action.
pub(super) enum ParseFailure {
    /// The text names this action, which is not legal.
    Illegal(Action),
    /// The text names no action. Contains the reason as a message.
    Words(String),
}

/// Move notation, for error messages.
const WORDS: &str = "PASS, PLAY t, GANG t, BUGANG t, HU, PENG, CHI m";

fn tile(word: &str) -> Result<Tile, ParseFailure> {
    let found = tiles::read(word).filter(|&t| usize::from(t) < KINDS);
    found.ok_or_else(|| {
        let allowed = "W1 to W9, B1 to B9, T1 to T9, F1 to F4, J1 to J3";
        ParseFailure::Words(format!("{word:?} is not a tile; allowed: {allowed}"))
    })
}

impl McrMahjong {
    /// Parses the text of a legal action.
    pub(super) fn read_action(&self, view: &View, legal: &[Action], text: &str) -> Result<Action, ParseFailure> {
        let words: Vec<&str> = text.split([' ', ',', '\t']).filter(|w| !w.is_empty()).collect();
        let first = words.first().map(|w| w.to_ascii_uppercase()).unwrap_or_default();
        let rest = words.get(1..).unwrap_or_default();
        let offer = view.offer.as_ref().map(|o| o.tile.0);
        let no_more = |why: &str| match rest {
            [] => Ok(()),
            _ => Err(ParseFailure::Words(format!("{first} takes no tile{why}"))),
        };
        let a = match (first.as_str(), rest) {
            ("PASS", _) => no_more("").map(|()| ids::PASS)?,
            ("HU", _) => no_more("").map(|()| ids::HU)?,
            ("PENG", _) => no_more(": the discard follows as a separate move").map(|()| ids::PENG)?,
            ("PLAY", [t]) => ids::PLAY + Action::from(tile(t)?),
            ("BUGANG", [t]) => ids::BUGANG + Action::from(tile(t)?),
            ("GANG", [t]) => ids::GANG + Action::from(tile(t)?),
            ("GANG", []) => {
                let kongs: Vec<Action> =
                    legal.iter().copied().filter(|a| (ids::GANG..ids::BUGANG).contains(a)).collect();
                match kongs[..] {
                    [one] => one,
                    [] => return Err(ParseFailure::Words("no kong is legal now".to_owned())),
                    _ => return Err(ParseFailure::Words("several kongs are legal: name the tile".to_owned())),
                }
            }
            ("CHI", [m]) => {
                let middle = tile(m)?;
                let place = offer.and_then(|o| (0..3).find(|&place| ids::middle(o, place) == Some(middle)));
                let none = || {
                    let middle = name(middle);
                    ParseFailure::Words(format!("no chow with middle tile {middle} contains the offered tile"))
                };
                ids::CHI + Action::from(place.ok_or_else(none)?)
            }
            ("CHI", [_, _]) => {
                let why = "CHI takes only the middle tile: the discard follows as a separate move";
                return Err(ParseFailure::Words(why.to_owned()));
            }
            _ => return Err(ParseFailure::Words(format!("{:?} is not a move; allowed: {WORDS}", short(text)))),
        };
        if legal.contains(&a) { Ok(a) } else { Err(ParseFailure::Illegal(a)) }
    }

    /// Explains why an action is not legal.
    pub(super) fn why(&self, s: &State, seat: Seat, a: Action) -> String {
        let seat = seat.min(SEATS - 1);
        let held = |t: Tile| s.hands[seat].get(usize::from(t)).copied().unwrap_or(0);
        let offer = matches!(s.phase, Phase::Claim | Phase::Kong);
        let on_offer = s.phase == Phase::Claim;
        let text = ids::text(a, offer.then_some(s.tile));
        let kongless = "your wall or the next seat's wall is empty";
        let why = match ids::reading(a) {
            _ if a >= ids::ACTIONS => format!("action ids are 0 to {}", ids::ACTIONS - 1),
            Doing::Pass if !offer => "no tile is on offer".to_owned(),
            Doing::Play(_) if offer => "a tile is on offer: claim it or pass".to_owned(),
            Doing::Play(t) => format!("{} is not in the hand", name(t)),
            Doing::Hu if s.phase == Phase::Discard => "a discard must follow the claim".to_owned(),
            Doing::Hu => match self.worth(s, seat) {
                Some(score) => {
                    let fans: Vec<String> = score.fans().map(|(p, n, name)| fan(p, n, name)).collect();
                    let (points, least, fans) = (score.points, self.params.minimum, fans.join(", "));
                    format!("the hand has {points} points without flowers, expected at least {least}: {fans}")
                }
                None => "the hand is not complete".to_owned(),
            },
            Doing::Gang(t) if on_offer && t != s.tile => format!("{} is not on offer", name(t)),
            Doing::Gang(t) if on_offer && held(t) < COPIES - 1 => {
                format!("the hand has {} {}, expected 3", held(t), name(t))
            }
            Doing::Gang(_) if s.phase == Phase::Kong || s.phase == Phase::Discard => {
                "no kong can be declared in this phase".to_owned()
            }
            Doing::Gang(t) if !on_offer && held(t) < COPIES => {
                format!("the hand has {} {}, expected 4", held(t), name(t))
            }
            Doing::Gang(_) => kongless.to_owned(),
            Doing::Bugang(_) if s.phase != Phase::Turn => "a pung can be promoted only after a draw".to_owned(),
            Doing::Bugang(t) if held(t) == 0 => format!("{} is not in the hand", name(t)),
            Doing::Bugang(t) if !s.melds(seat).any(|l| l.meld.kind == MeldKind::Peng && l.meld.tile == t) => {
                format!("the seat has no claimed pung of {}", name(t))
            }
            Doing::Bugang(_) => kongless.to_owned(),
            Doing::Peng | Doing::Chi(_) if !on_offer => "no discard is on offer".to_owned(),
            Doing::Peng if held(s.tile) < 2 => format!("the hand has {} {}, expected 2", held(s.tile), name(s.tile)),
            Doing::Chi(_) if seat != usize::from(next(s.seat)) => {
                format!("only the next seat may claim a chow: {}", WINDS[usize::from(next(s.seat))])
            }
            Doing::Chi(place) if !self.may_chi(s, seat, place) => "the other two tiles are not in the hand".to_owned(),
            Doing::Peng | Doing::Chi(_) => "the wall of the seat after the discarder is empty".to_owned(),
            Doing::Pass => "the seat is not to move".to_owned(),
        };
        format!("{text} is not legal: {why}")
    }

    /// Returns the view as text.
    pub(super) fn words(&self, view: &View) -> String {
        let mut lines = Vec::new();
        let wind = |p: u8| WINDS.get(usize::from(p)).copied().unwrap_or("?");
        let prevalent = view.prevalent.map_or("not drawn yet", wind);
        lines.push(format!("Hand {} of {}. Prevalent wind: {prevalent}.", u16::from(view.hand_number) + 1, view.hands));
        if let Some(p) = view.seat {
            lines.push(format!("You are {}, and so is your seat wind.", wind(p)));
            lines.push(format!("Your hand: {}", suits(&view.hand)));
        }
        if let Some(drawn) = view.drawn {
            let flags = view.flags.as_ref();
            let kong = if flags.is_some_and(|f| f.replacement) { ", for a kong" } else { "" };
            let last = if flags.is_some_and(|f| f.last_tile) { ", as a last tile" } else { "" };
            lines.push(format!("You have drawn {}{kong}{last}.", name(drawn.0)));
        }
        if let Some(dealt) = view.dealt {
            lines.push(format!("{dealt} of {} tiles are in the walls.", self.tiles()));
        }
        for p in 0..SEATS as u8 {
            let k = usize::from(p);
            let melds: Vec<String> = view.melds[k].iter().map(|m| meld_text(m, wind)).collect();
            let melds = if melds.is_empty() { "no melds".to_owned() } else { melds.join(", ") };
            let flowers = match view.flowers[k].len() {
                0 => String::new(),
                _ => format!("; flowers {}", names(view.flowers[k].iter().map(|f| f.0))),
            };
            lines.push(format!("{}: {} tiles; {melds}{flowers}", wind(p), view.held[k]));
        }
        let discard = |d: &super::Discard| {
            let claimed = d.claimed_by.map(|p| format!(" (to {})", wind(p))).unwrap_or_default();
            format!("{} {} {}{claimed}", d.number, wind(d.seat), name(d.tile.0))
        };
        if !view.discards.is_empty() {
            let all: Vec<String> = view.discards.iter().map(discard).collect();
            lines.push(format!("Discards: {}", all.join(", ")));
        }
        match view.wall[..] {
            [one] => lines.push(format!("Tiles left in the wall: {one}")),
            [_, ..] => {
                let all = (0..).zip(&view.wall).map(|(p, n)| format!("{} {n}", wind(p)));
                lines.push(format!("Tiles left in the walls: {}", all.collect::<Vec<_>>().join(", ")));
            }
            [] => {}
        }
        for o in &view.overridden {
            lines.push(format!("Your {} of offer {} was overridden.", ids::text(o.claim, None), o.number));
        }
        if self.params.hands > 1 {
            let all = (0..).zip(view.scores).map(|(p, n)| format!("{} {n}", wind(p)));
            lines.push(format!("Scores: {}", all.collect::<Vec<_>>().join(", ")));
        }
        for (k, result) in view.results.iter().enumerate() {
            lines.push(result_text(k, result, wind));
        }
        if let Some(offer) = &view.offer {
            let what = if offer.kong { "adds to a pung" } else { "discards" };
            lines.push(format!("{} {what} {}.", wind(offer.seat), name(offer.tile.0)));
        }
        if view.phase != Phase::Deal && view.phase != Phase::Over && view.seat.is_some() {
            self.advise(view, &mut lines);
        }
        lines.join("\n")
    }

    /// Describes the observer's options: shanten, useful tiles, HU, and legal moves.
    fn advise(&self, view: &View, lines: &mut Vec<String>) {
        let Some(me) = view.seat.map(|p| usize::from(p) % SEATS) else { return };
        // A seat's own options are the same in every determinization, so any determinization can be used.
        let s = self.world_of(view, &mut Stream::from_text("ludex.v1:mcr_mahjong:text"));
        let unseen = unseen(view);
        let copies = |kinds: Kinds| -> String {
            let all: Vec<String> = kinds.iter().map(|t| format!("{} ({})", name(t), unseen[usize::from(t)])).collect();
            if all.is_empty() { "none".to_owned() } else { all.join(" ") }
        };
        let open: Vec<Tile> = (0..KINDS).filter(|&t| unseen[t] <= 1).map(|t| t as Tile).collect();
        if !open.is_empty() {
            let all = open.iter().map(|&t| format!("{} ({})", name(t), unseen[usize::from(t)]));
            lines.push(format!("Nearly or fully seen (unseen left): {}", all.collect::<Vec<_>>().join(" ")));
        }
        let (hand, melds) = (&s.hands[me], view.melds[me].len().min(4));
        let held: u8 = hand.iter().sum();
        if usize::from(held) + 3 * melds == 13 {
            let least = shanten(hand, melds).number;
            lines.push(format!("Shanten {least}; useful tiles, with copies unseen:"));
            for form in FORMS {
                if let Some(of) = form.of(hand, melds).filter(|of| of.number <= least + 1) {
                    lines.push(format!("- {} {}: {}", form_text(form), of.number, copies(of.useful)));
                }
            }
        } else if usize::from(held) + 3 * melds == 14 {
            let all = discards(hand, melds);
            let least = all.iter().map(|(_, of)| of.number).min().unwrap_or(0);
            lines.push(format!("Discards that keep shanten {least}; useful tiles, with copies unseen:"));
            for (t, of) in all.iter().filter(|(_, of)| of.number == least) {
                lines.push(format!("- {}: {}", name(*t), copies(of.useful)));
            }
        }
        let is_due = view.to_move.contains(&(me as u8));
        if is_due
            && s.phase != Phase::Discard
            && let Some(score) = self.worth(&s, me)
        {
            let fans: Vec<String> = score.fans().map(|(p, n, name)| fan(p, n, name)).collect();
            let enough = if score.points >= self.params.minimum {
                String::new()
            } else {
                format!(" That is too little: {} without flowers are needed.", self.params.minimum)
            };
            lines.push(format!("HU is worth {} points: {}.{enough}", score.total(), fans.join(", ")));
        }
        if is_due {
            let mut legal = Vec::new();
            self.legal(&s, me, &mut legal);
            let all: Vec<String> = legal.into_iter().map(|a| self.action_text(view, me, a)).collect();
            lines.push(format!("Legal moves: {}", all.join(", ")));
        }
    }
}

/// Returns each possible discard with the shanten after it.
pub(super) fn discards(hand: &Counts, melds: usize) -> Vec<(Tile, super::shanten::Shanten)> {
    tiles::kinds(hand)
        .iter()
        .map(|t| {
            let mut left = *hand;
            left[usize::from(t)] -= 1;
            (t, shanten(&left, melds))
        })
        .collect()
}

/// Returns the number of copies of each kind that the observer does not see.
pub fn unseen(view: &View) -> Counts {
    let mut left = [COPIES; KINDS];
    let melds = view.melds.iter().flatten().flat_map(|m| &m.tiles);
    let discards = view.discards.iter().filter(|d| d.claimed_by.is_none()).map(|d| &d.tile);
    for kind in view.hand.iter().chain(melds).chain(discards) {
        if let Some(n) = left.get_mut(usize::from(kind.0)) {
            *n = n.saturating_sub(1);
        }
    }
    left
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

fn fan(points: u32, count: u8, name: &str) -> String {
    if count > 1 { format!("{name} {points} x {count}") } else { format!("{name} {points}") }
}

fn form_text(form: Form) -> &'static str {
    match form {
        Form::Regular => "four sets and a pair",
        Form::SevenPairs => "seven pairs",
        Form::ThirteenOrphans => "thirteen orphans",
        Form::HonorsKnitted => "honors and knitted tiles",
        Form::KnittedStraight => "knitted straight",
    }
}

/// Lists tiles by suit.
fn suits(hand: &[Kind]) -> String {
    let part = |f: usize| names(hand.iter().map(|k| k.0).filter(|&t| family(t).min(SUITS) == f));
    let parts: Vec<String> = (0..=SUITS).map(part).filter(|p| !p.is_empty()).collect();
    if parts.is_empty() { "no tiles".to_owned() } else { parts.join(" | ") }
}

fn meld_text(meld: &MeldView, wind: impl Fn(u8) -> &'static str) -> String {
    let word = match meld.kind {
        MeldKind::Chi => "CHI",
        MeldKind::Peng => "PENG",
        MeldKind::Gang => "GANG",
        MeldKind::Bugang => "BUGANG",
        MeldKind::Angang => "concealed GANG",
    };
    let tiles = if meld.tiles.is_empty() { "hidden".to_owned() } else { names(meld.tiles.iter().map(|k| k.0)) };
    match (meld.from, meld.claimed) {
        (Some(p), Some(tile)) => format!("{word} {tiles} ({} from {})", name(tile.0), wind(p)),
        _ => format!("{word} {tiles}"),
    }
}

fn result_text(k: usize, result: &super::HandResult, wind: impl Fn(u8) -> &'static str) -> String {
    use super::Outcome;
    let scores: Vec<String> = (0..).zip(result.scores).map(|(p, n)| format!("{} {n}", wind(p))).collect();
    let winner = result.winner.map_or("nobody", &wind);
    let how = match result.outcome {
        Outcome::Drawn => format!("{winner} won"),
        Outcome::False => format!("{winner} said HU in error"),
        _ => {
            let fans: Vec<String> = result.fans.iter().map(|(p, n, name)| fan(*p, *n, name)).collect();
            let tile = result.tile.map_or(String::new(), |t| name(t.0));
            let from = result.from.map(|p| format!(" of {}", wind(p))).unwrap_or_default();
            let hand = names(result.hand.iter().map(|k| k.0));
            let melds: Vec<String> = result.melds.iter().map(|m| meld_text(m, &wind)).collect();
            let melds = if melds.is_empty() { String::new() } else { format!("; {}", melds.join(", ")) };
            format!("{winner} won {} points with {tile}{from} ({}); hand {hand}{melds}", result.points, fans.join(", "))
        }
    };
    let own = match &result.overridden {
        Some(o) => format!(" Your {} was overridden.", ids::text(o.claim, result.tile.map(|t| t.0))),
        None => String::new(),
    };
    format!("Hand {}: {how}. Scores: {}.{own}", k + 1, scores.join(", "))
}
