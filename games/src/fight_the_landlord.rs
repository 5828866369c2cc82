#![doc = include_str!("fight_the_landlord.md")]

mod analyze;
pub mod cards;
pub mod combinations;
mod marks;
mod picture;
mod state;
#[cfg(test)]
mod tests;
mod view;
mod world;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use ludex_env::draw::Stream;
use ludex_env::game::{
    Action, ActionSink, Alias, EventView, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation,
    GameSearch, GameText, Marks, Mover, Outcomes, ParsedMove, Seat, ToMove, Unit, Viewer,
};
use ludex_env::params::ParamError;
use ludex_env::picture::{Gesture, Picture};
use ludex_env::tensor::stretches;
use ludex_protocol::error::Issue;
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, LegalForm, Params as Raw, RewardModel, Utility};

use cards::{Cards, DECK, LONG, RANKS, SHORT, cards_text, count, counts, lowest};
use combinations::{FIRST, Plays};
use state::{DEALT, MOST_BID, MOST_MOVES, NONE, SEATS, seat_after};
pub use state::{Phase, State};
pub use view::{FaceUp, Put, View};

/// Adds the variant `dou_dizhu` to the parameters of a game loaded by OpenSpiel's name.
fn dou_dizhu(mut params: Raw) -> Result<Raw, ParamError> {
    params.entry("rules").or_insert_with(|| "dou_dizhu".into());
    Ok(params)
}

/// Variant of the rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rules {
    /// Botzone's FightTheLandlord: seat 0 is the landlord, and combinations earn points.
    #[default]
    Botzone,
    /// Botzone's FightTheLandlord2: one round of bids; the stake can double.
    Botzone2,
    /// OpenSpiel's dou_dizhu: an auction; the stake can double.
    DouDizhu,
}

/// Parameters of the game.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Variant of the rules. Determines how the landlord is chosen, which combinations are legal, and what a win is
    /// worth.
    pub rules: Rules,
}

/// The game with its parameters and legal combinations.
pub struct FightTheLandlord {
    params: Params,
    plays: &'static Plays,
}

impl FightTheLandlord {
    fn rules(&self) -> Rules {
        self.params.rules
    }

    fn names(&self) -> &'static [&'static str; RANKS] {
        if self.rules() == Rules::DouDizhu { &LONG } else { &SHORT }
    }

    /// Returns true under OpenSpiel's rules, which deal one card face up and have an auction.
    fn auction(&self) -> bool {
        self.rules() == Rules::DouDizhu
    }

    /// Returns the name of an action, such as `33344`, `Pass` or `Bid 2`.
    fn name(&self, a: Action) -> String {
        let Some(play) = self.plays.get(a) else {
            return if a == 0 { "Pass".to_owned() } else { format!("Bid {a}") };
        };
        let main = self.plays.main(play);
        let winged = matches!(self.plays.kind(play), combinations::Kind::PlaneSingles | combinations::Kind::PlanePairs);
        if self.auction() && winged {
            // OpenSpiel's wings may be a trio, as in 333444555-666, so the name separates them.
            let [main, wings] = [main, play.counts - main].map(|c| cards::ranks_text(c, self.names()));
            return format!("{main}-{wings}");
        }
        cards::ranks_text(play.counts, self.names())
    }

    /// Returns the name of an action of `seat`. If the action is a combination, its cards follow.
    fn action_with_cards(&self, s: &State, seat: Seat, a: Action) -> String {
        match self.plays.get(a) {
            Some(play) if s.phase == Phase::Play => {
                let taken = lowest(s.hands.get(seat).copied().unwrap_or(0), play.counts);
                format!("{} ({})", self.name(a), cards_text(taken, self.names()))
            }
            _ => self.name(a),
        }
    }

    /// Returns a message if `hand` has too few cards of some rank for `wanted`, otherwise `None`.
    fn lacks(&self, hand: Cards, wanted: cards::Counts) -> Option<String> {
        let held = counts(hand);
        let rank = (0..RANKS).find(|&r| count(held, r) < count(wanted, r))?;
        let name = self.names()[rank];
        Some(match count(held, rank) {
            0 => format!("the hand has no {name}"),
            n => format!("expected {} cards of rank {name}, the hand has {n}", count(wanted, rank)),
        })
    }

    /// Returns the reason why `a` is illegal although the hand contains its cards, or `None` if `a` is legal.
    fn why_unfit(&self, s: &State, hand: Cards, a: Action) -> Option<String> {
        let play = self.plays.get(a)?;
        let what = |a: Action, play: &combinations::Combination| {
            format!("{} ({})", self.name(a), self.plays.kind(play).name())
        };
        if self.plays.is_forbidden(hand, play) {
            return Some(format!(
                "{}: a chain must not start with a rank of which the hand has four cards",
                what(a, play)
            ));
        }
        let top = self.top(s).filter(|top| !self.plays.beats(play, top))?;
        let on = what(Action::from(s.top), top);
        Some(format!(
            "{} does not beat {on}; allowed: a higher combination of the same kind and length, a bomb, the rocket",
            what(a, play)
        ))
    }
}

fn owner(who: Viewer) -> Option<Seat> {
    match who {
        Viewer::Seat(p) if p < SEATS => Some(p),
        _ => None,
    }
}

impl Game for FightTheLandlord {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("fight_the_landlord.j2"),
        players: [SEATS as u32, SEATS as u32],
        presets: &[
            ("botzone", r#"{"rules":"botzone"}"#, "Botzone's FightTheLandlord: the defaults"),
            ("botzonebench", r#"{"rules":"botzone"}"#, "BotzoneBench: as botzone"),
            ("botzone2", r#"{"rules":"botzone2"}"#, "Botzone's FightTheLandlord2: bids and stakes"),
            ("dou_dizhu", r#"{"rules":"dou_dizhu"}"#, "OpenSpiel's dou_dizhu: auction, stakes, ids and names"),
        ],
        aliases: &[Alias { name: "dou_dizhu", map: dou_dizhu }],
        ladder: &[
            (0, 1, "random"),
            (1, 1, "smallest_play slips=0.5"),
            (2, 1, "smallest_play"),
            (2, 2, "hand_split"),
            (3, 1, "team_split"),
            (4, 1, "split_search worlds=300"),
        ],
        unit: Unit::Duplicate(1),
        marks: marks::DOCS,
        roles: &["landlord", "farmer"],
        ..GameInfo::new("fight_the_landlord", "Fight the landlord", include_str!("fight_the_landlord.md"))
    };

    fn new(params: Params) -> Result<Self, ParamError> {
        Ok(FightTheLandlord { plays: Plays::of(params.rules), params })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let points = self.rules() == Rules::Botzone;
        let parts = [
            ("hand", 15),
            ("unseen", 15),
            ("bottom", 15),
            ("played", 45),
            ("to_beat", 15),
            ("held", 3),
            ("landlord", 3),
            ("last_to_play", 3),
            ("bid", 4),
            ("bidder", 3),
            ("phase", 4),
            ("my_move", 1),
            ("bombs", 1),
        ];
        let openspiel = [("hand", 69), ("played", 69), ("from_landlord", 3), ("first", 3), ("face_up", 15)];
        Facts {
            seats: (0..SEATS).map(|p| format!("p{p}")).collect(),
            dynamics: Dynamics::Sequential,
            chance: ChanceMode::Explicit,
            information: Information::Imperfect,
            utility: if points { Utility::GeneralSum } else { Utility::ZeroSum },
            rewards: RewardModel::Terminal,
            // Points: the rocket, four bombs and two single cards earn 58. Stakes: bid 3, doubled at most 13 times.
            returns: if points { [0.0, 2.0 + 58.0 / 100.0] } else { [-49_152.0, 49_152.0] },
            // At most 52 plays with two passes between them, and three bids; OpenSpiel's bound is 171.
            max_length: if self.auction() { MOST_MOVES as u32 } else { 157 },
            actions: self.plays.ids(),
            max_chance: if self.auction() { u32::from(DEALT) + 54 } else { 54 },
            legal: LegalForm::Ids,
            tensor: Some(("observation", stretches(&parts, 20.0))),
            info: None,
            openspiel: self.auction().then(|| stretches(&openspiel, 1.0)),
            document_schemas: None,
        }
    }

    fn start(&self) -> State {
        State {
            hands: [0; SEATS],
            played: [0; SEATS],
            rest: DECK,
            phase: Phase::Deal,
            dealt: 0,
            face_up: NONE,
            face_card: NONE,
            bid: 0,
            bidder: NONE,
            landlord: NONE,
            passes: 0,
            top: 0,
            made: [0; SEATS],
            bombs: 0,
            points: [0; SEATS],
            winner: NONE,
            bids: 0,
            length: 0,
            moves: [0; MOST_MOVES],
        }
    }

    #[inline]
    fn to_move(&self, s: &State) -> ToMove {
        match s.phase {
            Phase::Deal => ToMove::Chance,
            Phase::Bid => ToMove::Seat(seat_after(s.first(), s.bids)),
            Phase::Play => ToMove::Seat(seat_after(s.landlord, s.length - s.bids)),
            Phase::Over => ToMove::Over,
        }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        if self.to_move(s) != ToMove::Seat(seat) {
            return;
        }
        if s.phase == Phase::Bid || s.top != 0 {
            out.put(0);
        }
        match s.phase {
            Phase::Bid => (s.bid + 1..=MOST_BID).for_each(|bid| out.put(Action::from(bid))),
            _ => self.plays.find(s.hands[seat], self.top(s), out),
        }
    }

    #[inline]
    fn play_unchecked(&self, s: &mut State, a: Action) {
        match s.phase {
            Phase::Deal => self.deal(s, a),
            Phase::Bid => self.bid(s, a),
            Phase::Play => self.put(s, a),
            Phase::Over => {}
        }
    }

    fn returns(&self, s: &State, out: &mut [f64]) {
        out.fill(0.0);
        if s.winner == NONE {
            return;
        }
        let landlord = usize::from(s.landlord);
        let won = s.winner == s.landlord;
        if self.rules() == Rules::Botzone {
            let side = |p: Seat| if won == (p == landlord) { 2.0 } else { 0.0 };
            let own = |p: Seat| side(p) + f64::from(s.points[p]) / 100.0;
            let farmer = (own(1) + own(2)) / 2.0;
            out.copy_from_slice(&[own(0), farmer, farmer]);
            return;
        }
        let stake = f64::from(self.stake(s)) * if won { 1.0 } else { -1.0 };
        for (p, r) in out.iter_mut().enumerate() {
            *r = if p == landlord { 2.0 * stake } else { -stake };
        }
    }

    fn view(&self, s: &State, who: Viewer) -> View {
        self.seen_by(s, who)
    }

    fn sample_world(&self, view: &View, rng: &mut Stream) -> State {
        self.world_of(view, rng)
    }
}

impl GameMoves for FightTheLandlord {
    fn is_legal(&self, s: &State, seat: Seat, a: Action) -> bool {
        if self.to_move(s) != ToMove::Seat(seat) {
            return false;
        }
        match (s.phase, a) {
            (Phase::Bid, _) => a == 0 || (Action::from(s.bid) + 1..FIRST).contains(&a),
            (_, 0) => s.top != 0,
            _ => self.plays.get(a).is_some_and(|play| {
                let hand = s.hands[seat];
                cards::holds(counts(hand), play.counts)
                    && !self.plays.is_forbidden(hand, play)
                    && self.top(s).is_none_or(|top| self.plays.beats(play, top))
            }),
        }
    }

    fn chance(&self, s: &State, out: &mut Outcomes) {
        if self.auction() && s.face_up == NONE {
            return out.uniform(0..Action::from(DEALT));
        }
        let base = if self.auction() { Action::from(DEALT) } else { 0 };
        out.uniform((base..base + 54).filter(|&a| cards::card(self.dealt_card(a)) & s.rest != 0));
    }
}

impl GameText for FightTheLandlord {
    fn outcome_text(&self, s: &State, a: Action) -> String {
        if self.auction() && s.face_up == NONE {
            return format!("Decide first card up position {a}");
        }
        format!("Deal {}", cards::card_text(self.dealt_card(a), self.names()))
    }

    fn text(&self, view: &View) -> String {
        self.words(view)
    }

    fn action_text(&self, _view: &View, _seat: Seat, a: Action) -> String {
        self.name(a)
    }

    /// Accepts ranks in any order, Botzone's list of card numbers, and `pass`; in the auction, `bid 2` or `2`.
    fn parse(&self, view: &View, _seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        let named = |a: Action| self.name(a).eq_ignore_ascii_case(text.trim());
        if let Some(a) = legal.iter().copied().find(|&a| named(a)) {
            return Some(a);
        }
        if view.phase == Phase::Bid {
            let bid = text.trim().parse().ok()?;
            return legal.contains(&bid).then_some(bid);
        }
        let wanted = self.cards_of(text).ok()?;
        legal.iter().copied().find(|&a| self.plays.get(a).map_or(0, |play| play.counts) == wanted)
    }

    fn why_not_text(&self, s: &State, seat: Seat, text: &str) -> String {
        if s.phase == Phase::Bid {
            return format!("{}, got {text:?}", self.why_not(s, seat, Action::MAX));
        }
        let wanted = match self.cards_of(text) {
            Ok(0) => return self.why_not(s, seat, 0),
            Ok(wanted) => wanted,
            Err(why) => return why,
        };
        let hand = s.hands.get(seat).copied().unwrap_or(0);
        if let Some(why) = self.lacks(hand, wanted) {
            return format!("{text:?}: {why}");
        }
        match self.plays.with_cards(wanted).find_map(|a| self.why_unfit(s, hand, a)) {
            Some(why) => why,
            None => format!("{} is not a combination", cards::ranks_text(wanted, self.names())),
        }
    }

    fn why_not(&self, s: &State, seat: Seat, a: Action) -> String {
        let hand = s.hands.get(seat).copied().unwrap_or(0);
        match (s.phase, self.plays.get(a)) {
            (Phase::Bid, _) if s.bid + 1 == MOST_BID => "expected a bid of 3 or a pass".to_owned(),
            (Phase::Bid, _) => format!("expected a bid of {} to {MOST_BID}, or a pass", s.bid + 1),
            (_, None) if a == 0 => "the seat that leads a trick must not pass".to_owned(),
            (_, None) => "expected a combination, got a bid: the bidding is over".to_owned(),
            (_, Some(play)) => {
                let why = self.lacks(hand, play.counts).map(|why| format!("{}: {why}", self.name(a)));
                why.or_else(|| self.why_unfit(s, hand, a))
                    .unwrap_or_else(|| format!("{}: not legal here", self.name(a)))
            }
        }
    }

    fn phase(&self, s: &State) -> Option<&'static str> {
        Some(match s.phase {
            Phase::Deal => "deal",
            Phase::Bid => "bid",
            Phase::Play => "play",
            Phase::Over => "over",
        })
    }
}

impl GameObservation for FightTheLandlord {
    /// Shows a dealt card to its owner only, and a face-up card, bids and plays to all.
    fn observe_action(&self, before: &State, who: Viewer, by: Mover, a: Action) -> EventView {
        let whose = seat_after(0, before.dealt);
        let open = self.auction() && (before.face_up == NONE || before.face_up == before.dealt);
        match by {
            Mover::Seat(seat) => EventView { action: Some(a), text: Some(self.action_with_cards(before, seat, a)) },
            Mover::Chance if open && before.face_up == NONE => {
                EventView { action: Some(a), text: Some(self.outcome_text(before, a)) }
            }
            Mover::Chance if open || owner(who) == Some(whose) => {
                let card = cards::card_text(self.dealt_card(a), self.names());
                EventView { action: Some(a), text: Some(format!("{card} is dealt to p{whose}")) }
            }
            Mover::Chance => EventView { action: None, text: Some(format!("a card is dealt to p{whose}")) },
        }
    }

    /// Returns the landlord's three extra cards when the landlord has just been chosen.
    fn reveals(&self, now: &State, _who: Viewer) -> Vec<(String, Value)> {
        if !now.opened() {
            return Vec::new();
        }
        let text = format!("p{} is the landlord and takes {}", now.landlord, cards_text(now.rest, self.names()));
        vec![(text, json!({ "landlord": now.landlord, "bottom": cards::numbers(now.rest).collect::<Vec<u8>>() }))]
    }

    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        self.write(s, who, out);
    }

    /// Writes OpenSpiel's array. Each rank has a block of five cells, but the array has room for only two cells per
    /// joker. The cells of the big joker therefore overlap the part of the array that follows.
    fn openspiel_tensor(&self, s: &State, seat: Seat, out: &mut [f32]) {
        out.fill(0.0);
        if s.phase == Phase::Deal {
            return;
        }
        let held = counts(s.hands.get(seat).copied().unwrap_or(0));
        let played = counts(s.played.iter().fold(0, |all, p| all | p));
        let mut set = |at: usize| {
            if let Some(cell) = out.get_mut(at) {
                *cell = 1.0;
            }
        };
        for r in 0..RANKS {
            set(5 * r + usize::from(count(held, r)));
            set(69 + 5 * r + usize::from(count(played, r)));
        }
        if s.bidder != NONE {
            set(138 + (seat + SEATS - usize::from(s.bidder)) % SEATS);
        }
        set(141 + usize::from(s.first()));
        set(144 + usize::from(s.face_card) / 4 + usize::from(s.face_card == 53));
    }
}

impl GameDisplay for FightTheLandlord {
    fn picture(&self, view: &View, _from: Viewer) -> Picture {
        picture::picture(self, view)
    }

    /// Returns one click per card. Each click has the name of a rank; the lowest rank comes first.
    fn gesture(&self, _view: &View, _seat: Seat, a: Action) -> Option<Gesture> {
        self.plays.get(a).map(|play| picture::gesture(play.counts))
    }
}

impl GameSearch for FightTheLandlord {}

impl GameMarks for FightTheLandlord {
    fn teams(&self, s: &State) -> Option<Vec<usize>> {
        (s.landlord != NONE).then(|| (0..SEATS).map(|p| usize::from(p != usize::from(s.landlord))).collect())
    }

    fn marks(&self, before: &State, joint: &[Option<ParsedMove>], _after: &State, out: &mut Marks) {
        self.count(before, joint, out);
    }

    fn analyze(&self, question: &Value) -> Result<Value, Issue> {
        analyze::answer(self, question).map_err(|message| Issue { message, ..Issue::default() })
    }
}
