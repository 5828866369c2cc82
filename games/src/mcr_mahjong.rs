#![doc = include_str!("mcr_mahjong.md")]

mod analyze;
mod array;
mod combine;
mod distance;
mod divide;
pub mod fans;
mod hand;
mod heights;
pub mod ids;
mod marks;
mod observe;
mod picture;
mod score;
pub mod shanten;
mod state;
#[cfg(test)]
mod tests;
mod text;
pub mod tiles;
mod view;
mod waiting;
mod world;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use ludex_env::draw::Stream;
use ludex_env::game::{
    Action, ActionSink, EventView, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation,
    GameSearch, GameText, Marks, Mover, Outcomes, ParsedMove, Seat, SeatSet, ToMove, Unit, Viewer,
};
use ludex_env::params::{ParamError, in_range};
use ludex_env::picture::{Gesture, Picture};
use ludex_protocol::error::Issue;
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, LegalForm, RewardModel, Utility};

pub use hand::{Edition, Flags, Hand, Meld, MeldKind};
pub use score::Score;
pub use state::{Outcome, Phase, State};
pub use text::unseen;
pub use view::{Discard, HandResult, Kind, MeldView, Offer, Overridden, SeatFlags, View};

use state::SEATS;
use tiles::{ALL_KINDS, COPIES, KINDS, Tile};

/// Names of the four winds and of the seats, in turn order.
const WINDS: [&str; SEATS] = ["east", "south", "west", "north"];

/// Source of the tiles that seats draw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Wall {
    /// One wall per seat. The tiles that a seat draws do not depend on the moves of other seats.
    #[default]
    Duplicate,
    /// One wall for all seats. Draws come from the front, replacement tiles from the back.
    Common,
}

/// The prevalent wind of a hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Prevalent {
    /// A wind drawn by chance for every hand.
    #[default]
    Drawn,
    /// The east wind in every hand.
    East,
    /// The south wind in every hand.
    South,
    /// The west wind in every hand.
    West,
    /// The north wind in every hand.
    North,
    /// East in the first hand, then south, west, north, and east again.
    Round,
}

/// Treatment of a false HU: a declaration of victory without a sufficient hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Errors {
    /// A false HU is illegal.
    #[default]
    Refuse,
    /// HU is legal on every claim and draw. A false HU ends the hand: its seat scores -30, and each other seat scores
    /// 10.
    Botzone,
}

/// Parameters of the game.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Source of the tiles: one wall per seat, or one wall for all seats.
    pub wall: Wall,
    /// If true, the walls include eight flowers; requires `wall=common`.
    pub flowers: bool,
    /// The prevalent wind of each hand.
    pub prevalent: Prevalent,
    /// Hands per episode, 1 to 16; scores are added up.
    #[schemars(range(min = 1, max = 16))]
    pub hands: u32,
    /// Treatment of a false HU: a declaration of victory without a sufficient hand.
    pub errors: Errors,
    /// Minimum number of points of a winning hand, not counting flowers, 1 to 88.
    #[schemars(range(min = 1, max = 88))]
    pub minimum: u32,
    /// Edition of the rules.
    pub edition: Edition,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            wall: Wall::default(),
            flowers: false,
            prevalent: Prevalent::default(),
            hands: 1,
            errors: Errors::default(),
            minimum: 8,
            edition: Edition::default(),
        }
    }
}

/// Four-player mahjong under the Mahjong Competition Rules.
pub struct McrMahjong {
    params: Params,
}

const _: () = assert!(size_of::<State>() <= 512, "a position fits into 512 bytes");

fn owner(who: Viewer) -> Option<Seat> {
    who.seat().filter(|&p| p < SEATS)
}

impl McrMahjong {
    fn common(&self) -> bool {
        self.params.wall == Wall::Common
    }

    /// Returns the number of tile kinds in the walls.
    fn kinds(&self) -> usize {
        if self.params.flowers { ALL_KINDS } else { KINDS }
    }

    /// Returns the prevalent wind of a hand; `None` if chance draws it.
    fn fixed_wind(&self, hand: u8) -> Option<u8> {
        match self.params.prevalent {
            Prevalent::Drawn => None,
            Prevalent::East => Some(0),
            Prevalent::South => Some(1),
            Prevalent::West => Some(2),
            Prevalent::North => Some(3),
            Prevalent::Round => Some(hand % SEATS as u8),
        }
    }

    /// Returns the seats to move.
    fn acting(&self, s: &State) -> SeatSet {
        match s.phase {
            Phase::Turn | Phase::Discard => SeatSet(1 << s.seat),
            Phase::Claim | Phase::Kong => SeatSet(15 & !(1 << s.seat)),
            Phase::Deal | Phase::Over => SeatSet(0),
        }
    }

    fn discards_to(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        (0..).zip(&s.hands[seat]).filter(|(_, n)| **n > 0).for_each(|(t, _): (Action, _)| out.put(ids::PLAY + t));
    }

    /// Lists the legal moves of the seat that has drawn a tile.
    fn own_moves(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        self.discards_to(s, seat, out);
        if self.may_kong(s, seat as u8) {
            let hand = &s.hands[seat];
            for (t, _) in (0..).zip(hand).filter(|(_, n)| **n == COPIES) {
                out.put(ids::GANG + t);
            }
            let pungs = s.melds(seat).filter(|l| l.meld.kind == MeldKind::Peng && hand[usize::from(l.meld.tile)] > 0);
            let pungs = pungs.fold(0u64, |all, l| all | 1 << l.meld.tile);
            tiles::Kinds(pungs).iter().for_each(|t| out.put(ids::BUGANG + Action::from(t)));
        }
        if self.may_hu(s, seat) {
            out.put(ids::HU);
        }
    }

    /// Lists the legal replies to a discard.
    fn answers(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        out.put(ids::PASS);
        let held = s.hands[seat].get(usize::from(s.tile)).copied().unwrap_or(0);
        let open = self.claimable(s);
        if open && held == COPIES - 1 && self.may_kong(s, seat as u8) {
            out.put(ids::GANG + Action::from(s.tile));
        }
        if self.may_hu(s, seat) {
            out.put(ids::HU);
        }
        if open && held >= 2 {
            out.put(ids::PENG);
        }
        (0..3)
            .filter(|&place| open && self.may_chi(s, seat, place))
            .for_each(|place| out.put(ids::CHI + place as Action));
    }
}

impl Game for McrMahjong {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("mcr_mahjong.j2"),
        players: [SEATS as u32, SEATS as u32],
        presets: &[
            ("botzone", "{}", "Botzone's ChineseStandardMahjong: the defaults, with duplicate walls"),
            ("botzonebench", "{}", "BotzoneBench: as botzone"),
            ("botzone_errors", r#"{"errors":"botzone"}"#, "a false HU is legal and ends the hand, as on Botzone"),
            (
                "ijcai2020",
                r#"{"hands":4,"prevalent":"round"}"#,
                "a block of the contest at IJCAI 2020: one hand per prevalent wind",
            ),
            ("flowers", r#"{"wall":"common","flowers":true}"#, "all 144 tiles in one wall, as in the rules of 1998"),
        ],
        ladder: &[
            (0, 1, "random"),
            (1, 1, "lowest_shanten slips=0.2"),
            (2, 1, "most_useful slips=0.1"),
            (3, 1, "fan_plans slips=0.1"),
            (4, 1, "fan_plans"),
        ],
        unit: Unit::Duplicate(4),
        marks: marks::DOCS,
        hand_scores: true,
        ..GameInfo::new("mcr_mahjong", "International mahjong", include_str!("mcr_mahjong.md"))
    };

    fn new(params: Params) -> Result<Self, ParamError> {
        in_range(&params)?;
        if params.flowers && params.wall != Wall::Common {
            return Err(ParamError::value("flowers", true, "false; true needs wall=common"));
        }
        Ok(McrMahjong { params })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let hands = f64::from(self.params.hands);
        Facts {
            seats: WINDS.iter().map(|w| (*w).to_owned()).collect(),
            dynamics: Dynamics::Mixed,
            chance: ChanceMode::Explicit,
            information: Information::Imperfect,
            utility: Utility::ZeroSum,
            rewards: if self.params.hands == 1 { RewardModel::Terminal } else { RewardModel::Step },
            returns: [-400.0 * hands, 1200.0 * hands],
            max_length: 260 * self.params.hands,
            actions: ids::ACTIONS,
            max_chance: self.kinds() as u32,
            legal: LegalForm::Ids,
            tensor: Some(("observation", array::spec())),
            info: None,
            openspiel: None,
            document_schemas: None,
        }
    }

    fn start(&self) -> State {
        State::new()
    }

    #[inline]
    fn to_move(&self, s: &State) -> ToMove {
        match s.phase {
            Phase::Deal => ToMove::Chance,
            Phase::Turn | Phase::Discard => ToMove::Seat(s.seat.into()),
            Phase::Claim | Phase::Kong => ToMove::Simultaneous(self.acting(s)),
            Phase::Over => ToMove::Over,
        }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        if !self.acting(s).has(seat) {
            return;
        }
        match s.phase {
            Phase::Turn => self.own_moves(s, seat, out),
            Phase::Discard => self.discards_to(s, seat, out),
            Phase::Claim => self.answers(s, seat, out),
            _ => {
                out.put(ids::PASS);
                if self.may_hu(s, seat) {
                    out.put(ids::HU);
                }
            }
        }
    }

    #[inline]
    fn play_unchecked(&self, s: &mut State, a: Action) {
        match s.phase {
            Phase::Deal => self.deal(s, a),
            Phase::Turn | Phase::Discard => self.act(s, a),
            _ => {}
        }
    }

    fn returns(&self, s: &State, out: &mut [f64]) {
        out.iter_mut().zip(s.scores).for_each(|(to, score)| *to = score.into());
    }

    fn view(&self, s: &State, who: Viewer) -> View {
        self.seen_by(s, who)
    }

    fn sample_world(&self, view: &View, rng: &mut Stream) -> State {
        self.world_of(view, rng)
    }
}

impl GameMoves for McrMahjong {
    fn is_legal(&self, s: &State, seat: Seat, a: Action) -> bool {
        if !self.acting(s).has(seat) {
            return false;
        }
        let own = matches!(s.phase, Phase::Turn | Phase::Discard);
        match ids::reading(a) {
            _ if a >= ids::ACTIONS => false,
            ids::Doing::Pass => !own,
            ids::Doing::Play(t) => own && s.hands[seat][usize::from(t)] > 0,
            ids::Doing::Hu => s.phase != Phase::Discard && self.may_hu(s, seat),
            _ => {
                let mut find = ludex_env::game::Find { wanted: a, found: false };
                self.legal(s, seat, &mut find);
                find.found
            }
        }
    }

    fn play_together_unchecked(&self, s: &mut State, joint: &[Action]) {
        if matches!(s.phase, Phase::Claim | Phase::Kong) {
            self.answer(s, joint);
        }
    }

    /// Lists the outcomes of the next draw. Wall tiles are weighted by their remaining copies; the prevalent wind is
    /// drawn last.
    fn chance(&self, s: &State, out: &mut Outcomes) {
        if s.phase != Phase::Deal {
            return;
        }
        let dealt = usize::from(s.dealt);
        if dealt >= self.tiles() {
            return out.uniform(0..SEATS as Action);
        }
        let mut left = [COPIES; ALL_KINDS];
        left[KINDS..].fill(1);
        s.wall[..dealt].iter().for_each(|&t| left[usize::from(t)] = left[usize::from(t)].saturating_sub(1));
        (0..).zip(&left[..self.kinds()]).for_each(|(t, &n)| out.put(t, n.into()));
    }

    /// Returns a pass if it is legal, otherwise a discard: the drawn tile, or after a claim the highest legal tile.
    fn default_action(&self, s: &State, seat: Seat) -> Action {
        match s.phase {
            Phase::Turn => ids::PLAY + Action::from(s.tile),
            Phase::Discard => {
                let last = (0..KINDS).rfind(|&t| s.hands[seat.min(SEATS - 1)][t] > 0).unwrap_or(0);
                ids::PLAY + last as Action
            }
            _ => ids::PASS,
        }
    }
}

impl GameText for McrMahjong {
    fn outcome_text(&self, s: &State, a: Action) -> String {
        if usize::from(s.dealt) < self.tiles() {
            return format!("Deal {}", tiles::name(a as Tile));
        }
        WINDS.get(a as usize).map_or_else(|| a.to_string(), |w| format!("Prevalent {w}"))
    }

    fn text(&self, view: &View) -> String {
        self.words(view)
    }

    fn action_text(&self, view: &View, _seat: Seat, a: Action) -> String {
        ids::text(a, view.offer.as_ref().map(|o| o.tile.0))
    }

    /// Accepts Botzone's notation, also with tiles such as `5W`, `east` or `red`. `GANG` needs no tile if only one kong
    /// is legal.
    fn parse(&self, view: &View, _seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        self.read_action(view, legal, text).ok()
    }

    fn why_not(&self, s: &State, seat: Seat, a: Action) -> String {
        self.why(s, seat, a)
    }

    fn why_not_text(&self, s: &State, seat: Seat, text: &str) -> String {
        let view = self.seen_by(s, Viewer::Seat(seat));
        let mut legal = Vec::new();
        self.legal(s, seat, &mut legal);
        match self.read_action(&view, &legal, text) {
            Err(text::ParseFailure::Illegal(a)) => self.why(s, seat, a),
            Err(text::ParseFailure::Words(why)) => why,
            Ok(a) => self.why(s, seat, a),
        }
    }

    fn phase(&self, s: &State) -> Option<&'static str> {
        Some(match s.phase {
            Phase::Deal => "deal",
            Phase::Turn => "turn",
            Phase::Claim => "claim",
            Phase::Kong => "kong",
            Phase::Discard => "discard",
            Phase::Over => "over",
        })
    }
}

impl GameObservation for McrMahjong {
    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        self.write(s, who, out);
    }

    fn observe_action(&self, before: &State, who: Viewer, by: Mover, a: Action) -> EventView {
        self.observe_action(before, who, by, a)
    }

    fn reveals(&self, now: &State, who: Viewer) -> Vec<(String, Value)> {
        self.revealed_tiles(now, who)
    }
}

impl GameDisplay for McrMahjong {
    /// Returns the view as text without the list of legal moves, which hosts send separately.
    fn drawing(&self, view: &View, _from: Viewer) -> String {
        let words = self.words(view);
        words.rsplit_once("\nLegal moves: ").map_or(words.as_str(), |(position, _)| position).to_owned()
    }

    fn picture(&self, view: &View, _from: Viewer) -> Picture {
        picture::picture(view)
    }

    /// Returns the tile to click for a discard; claims and declarations are buttons.
    fn gesture(&self, _view: &View, _seat: Seat, a: Action) -> Option<Gesture> {
        match ids::reading(a) {
            ids::Doing::Play(tile) => Some(Gesture::of([tiles::name(tile)])),
            _ => None,
        }
    }
}

impl GameSearch for McrMahjong {}

impl GameMarks for McrMahjong {
    fn marks(&self, before: &State, _joint: &[Option<ParsedMove>], after: &State, out: &mut Marks) {
        marks::count(before, after, out);
    }

    fn analyze(&self, question: &Value) -> Result<Value, Issue> {
        analyze::answer(question)
    }
}
