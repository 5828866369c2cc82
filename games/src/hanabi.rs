#![doc = include_str!("hanabi.md")]

mod array;
mod marks;
mod picture;
#[cfg(test)]
mod tests;
mod view;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use ludex_env::draw::Stream;
use ludex_env::game::{
    Action, ActionSink, EventView, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation,
    GameSearch, GameText, Marks, Mover, Outcomes, ParsedMove, Seat, ToMove, Unit, Viewer,
};
use ludex_env::params::{ParamError, in_range};
use ludex_env::picture::{Gesture, Picture};
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, LegalForm, RewardModel, Utility};

pub use view::{Card, View};

/// Hanabi with fixed parameters.
pub struct Hanabi {
    params: Params,
    /// Number of seats at the table.
    n: usize,
    /// Number of cards in a full hand.
    hand: usize,
    colors: usize,
    ranks: usize,
}

/// Parameters of the seats, the deck, and the visible information.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Number of seats, 2 to 5.
    #[schemars(range(min = 2, max = 5))]
    pub players: u32,
    /// Number of colors, 1 to 5: red, yellow, green, white, blue.
    #[schemars(range(min = 1, max = 5))]
    pub colors: u32,
    /// Number of ranks, 1 to 5. Each color has three cards of rank 1, a single card of the highest rank, and two cards
    /// of each rank in between.
    #[schemars(range(min = 1, max = 5))]
    pub ranks: u32,
    /// Number of cards in a hand, 1 to 8. Default: 5 for two or three players, 4 for more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 8))]
    pub hand_size: Option<u32>,
    /// Maximum number of information tokens, 0 to 50. The game starts with all of them.
    #[schemars(range(min = 0, max = 50))]
    pub max_information_tokens: u32,
    /// Number of lives, 1 to 10.
    #[schemars(range(min = 1, max = 10))]
    pub max_life_tokens: u32,
    /// If true, chance draws the seat that starts; otherwise seat 0 starts.
    pub random_start_player: bool,
    /// Information that a seat sees in addition to the other seats' hands.
    pub observation_type: Sight,
    /// Accepted from OpenSpiel and ignored: the episode sets the seed.
    #[serde(skip_serializing)]
    pub seed: Option<i64>,
}

/// Information that a seat sees in addition to the other seats' hands.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sight {
    /// Text and arrays omit the facts that hints revealed about each card.
    Minimal,
    /// Text and arrays include the facts that hints revealed about each card.
    CardKnowledge,
    /// All seats see all cards, including their own: nothing is hidden.
    Seer,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            players: 2,
            colors: 5,
            ranks: 5,
            hand_size: None,
            max_information_tokens: 8,
            max_life_tokens: 3,
            random_start_player: false,
            observation_type: Sight::CardKnowledge,
            seed: None,
        }
    }
}

const MOST_PLAYERS: usize = 5;
const MOST_COLORS: usize = 5;
const MOST_KINDS: usize = 25;
const MOST_HAND: usize = 8;
/// Upper bound on the moves of a game. 50 initial tokens, 48 draws, 48 restored tokens and 5 last turns allow 151.
const MOST_MOVES: usize = 160;
/// Letters of the colors: red, yellow, green, white, blue.
const LETTERS: &str = "RYGWB";
const NAMES: [&str; MOST_COLORS] = ["red", "yellow", "green", "white", "blue"];
/// Marker for an absent or unknown card.
const NO_CARD: u8 = 255;
/// Marker for a starting seat that chance has not drawn yet.
const NO_SEAT: u8 = 255;

/// A card in a hand with the facts known from hints. Its number is `color * ranks + rank`, both counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct HandCard {
    card: u8,
    /// Bit set of the possible colors.
    colors: u8,
    ranks: u8,
    /// The color named by a hint, counted from 1; 0 without a color hint.
    color: u8,
    rank: u8,
}

/// A hand of cards, oldest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Hand {
    cards: [HandCard; MOST_HAND],
    size: u8,
}

impl Hand {
    fn cards(&self) -> &[HandCard] {
        &self.cards[..usize::from(self.size)]
    }

    fn cards_mut(&mut self) -> &mut [HandCard] {
        &mut self.cards[..usize::from(self.size)]
    }

    fn push(&mut self, held: HandCard) {
        if let Some(place) = self.cards.get_mut(usize::from(self.size)) {
            *place = held;
            self.size += 1;
        }
    }

    fn take(&mut self, slot: usize) -> Option<u8> {
        let card = self.cards().get(slot)?.card;
        self.cards.copy_within(slot + 1.., slot);
        self.size -= 1;
        // Unused slots are reset, so that equal hands compare equal.
        self.cards[usize::from(self.size)] = HandCard::default();
        Some(card)
    }
}

/// A move with its public effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PlayedMove {
    action: u8,
    /// Bit set of the slots that a hint pointed at.
    touched: u8,
    /// The card that was played or discarded.
    card: u8,
    /// True if the played card extended its firework.
    fits: bool,
    /// True if the move restored an information token.
    token: bool,
}

const NO_MOVE: PlayedMove = PlayedMove { action: 0, touched: 0, card: NO_CARD, fits: false, token: false };

/// A position, including all moves so far, because every view lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    hands: [Hand; MOST_PLAYERS],
    /// Number of cards in the deck, by kind.
    left: [u8; MOST_KINDS],
    deck: u8,
    /// Number of cards on each firework.
    fireworks: [u8; MOST_COLORS],
    information: u8,
    lives: u8,
    /// Number of turns left once the deck is empty.
    turns_left: u8,
    /// The seat that moves first.
    first: u8,
    log: [PlayedMove; MOST_MOVES],
    length: u8,
}

impl State {
    fn moves(&self) -> &[PlayedMove] {
        &self.log[..usize::from(self.length)]
    }

    fn score(&self) -> u8 {
        self.fireworks.iter().sum()
    }
}

/// A decoded action. A hint names its target by the number of seats clockwise from the mover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    Discard(usize),
    Play(usize),
    Color(usize, usize),
    Rank(usize, usize),
}

impl Hanabi {
    fn kinds(&self) -> usize {
        self.colors * self.ranks
    }

    /// Returns the number of cards of `rank` (from 0) in each color.
    fn copies(&self, rank: usize) -> u8 {
        match rank {
            0 => 3,
            r if r + 1 == self.ranks => 1,
            _ => 2,
        }
    }

    /// Returns the number of cards in the whole deck.
    fn cards(&self) -> usize {
        self.colors * (0..self.ranks).map(|r| usize::from(self.copies(r))).sum::<usize>()
    }

    fn actions(&self) -> usize {
        2 * self.hand + (self.n - 1) * (self.colors + self.ranks)
    }

    fn seer(&self) -> bool {
        self.params.observation_type == Sight::Seer
    }

    fn tokens(&self) -> u8 {
        self.params.max_information_tokens as u8
    }

    /// Returns true if `who` sees the cards of `owner`.
    fn sees(&self, who: Viewer, owner: usize) -> bool {
        self.seer() || matches!(who, Viewer::Seat(p) if p != owner)
    }

    fn reading(&self, a: Action) -> Option<Move> {
        let (a, hand) = (a as usize, self.hand);
        let by_color = (self.n - 1) * self.colors;
        match a {
            a if a < hand => Some(Move::Discard(a)),
            a if a < 2 * hand => Some(Move::Play(a - hand)),
            a if a < 2 * hand + by_color => {
                let k = a - 2 * hand;
                Some(Move::Color(1 + k / self.colors, k % self.colors))
            }
            a if a < self.actions() => {
                let k = a - 2 * hand - by_color;
                Some(Move::Rank(1 + k / self.ranks, k % self.ranks))
            }
            _ => None,
        }
    }

    fn id(&self, m: Move) -> Option<Action> {
        (0..self.actions() as Action).find(|&a| self.reading(a) == Some(m))
    }

    /// Returns the slots of `hand` that match the hint `m`, as a bit set.
    fn touched(&self, hand: &Hand, m: Move) -> u8 {
        let hit = |held: &HandCard| match m {
            Move::Color(_, c) => usize::from(held.card) / self.ranks == c,
            Move::Rank(_, r) => usize::from(held.card) % self.ranks == r,
            _ => false,
        };
        hand.cards().iter().enumerate().fold(0, |bits, (i, held)| bits | u8::from(hit(held)) << i)
    }

    fn over(&self, s: &State) -> bool {
        s.lives == 0 || s.turns_left == 0 || usize::from(s.score()) >= self.kinds()
    }

    /// Returns the seat that draws the next card; `None` if all hands are full or the deck is empty.
    fn draws(&self, s: &State) -> Option<usize> {
        let short = |p: &usize| usize::from(s.hands[*p].size) < self.hand;
        (0..self.n).find(short).filter(|_| s.deck > 0)
    }

    /// Returns the seat to move, ignoring pending draws.
    fn next(&self, s: &State) -> usize {
        (usize::from(s.first) + usize::from(s.length)) % self.n
    }

    fn allowed(&self, s: &State, seat: usize, a: Action) -> bool {
        let has = |slot| slot < usize::from(s.hands[seat].size);
        match self.reading(a) {
            Some(Move::Discard(slot)) => has(slot) && s.information < self.tokens(),
            Some(Move::Play(slot)) => has(slot),
            Some(m @ (Move::Color(to, _) | Move::Rank(to, _))) => {
                s.information > 0 && self.touched(&s.hands[(seat + to) % self.n], m) != 0
            }
            None => false,
        }
    }

    fn deal(&self, s: &mut State, to: usize, card: Action) {
        let card = card as usize % self.kinds();
        s.left[card] = s.left[card].saturating_sub(1);
        s.deck = s.deck.saturating_sub(1);
        let (colors, ranks) = ((1 << self.colors) - 1, (1 << self.ranks) - 1);
        let unknown = HandCard { card: card as u8, colors, ranks, color: 0, rank: 0 };
        let (c, r) = (card / self.ranks, card % self.ranks);
        let known = HandCard { colors: 1 << c, ranks: 1 << r, color: c as u8 + 1, rank: r as u8 + 1, ..unknown };
        s.hands[to].push(if self.seer() { known } else { unknown });
    }

    fn act(&self, s: &mut State, seat: usize, a: Action) {
        let Some(m) = self.reading(a) else { return };
        let mut done = PlayedMove { action: a as u8, ..NO_MOVE };
        match m {
            Move::Discard(slot) => {
                let Some(card) = s.hands[seat].take(slot) else { return };
                done.card = card;
                done.token = self.regain(s);
            }
            Move::Play(slot) => {
                let Some(card) = s.hands[seat].take(slot) else { return };
                done.card = card;
                let height = &mut s.fireworks[usize::from(card) / self.ranks];
                done.fits = usize::from(*height) == usize::from(card) % self.ranks;
                *height += u8::from(done.fits);
                let complete = usize::from(*height) == self.ranks;
                if !done.fits {
                    s.lives = s.lives.saturating_sub(1);
                } else if complete {
                    done.token = self.regain(s);
                }
            }
            Move::Color(to, _) | Move::Rank(to, _) => {
                let hand = &mut s.hands[(seat + to) % self.n];
                done.touched = self.touched(hand, m);
                tell(hand, m, done.touched);
                s.information = s.information.saturating_sub(1);
            }
        }
        if s.deck == 0 {
            s.turns_left = s.turns_left.saturating_sub(1);
        }
        if let Some(place) = s.log.get_mut(usize::from(s.length)) {
            *place = done;
            s.length += 1;
        }
    }

    /// Restores one information token; returns false if none is missing.
    fn regain(&self, s: &mut State) -> bool {
        let missing = s.information < self.tokens();
        s.information += u8::from(missing);
        missing
    }

    fn card_text(&self, card: u8) -> String {
        let (c, r) = (usize::from(card) / self.ranks, usize::from(card) % self.ranks);
        LETTERS.chars().nth(c).map(|letter| format!("{letter}{}", r + 1)).unwrap_or_default()
    }

    fn move_text(&self, a: Action) -> String {
        match self.reading(a) {
            Some(Move::Discard(slot)) => format!("(Discard {slot})"),
            Some(Move::Play(slot)) => format!("(Play {slot})"),
            Some(Move::Color(to, c)) => format!("(Reveal player +{to} color {})", &LETTERS[c..=c]),
            Some(Move::Rank(to, r)) => format!("(Reveal player +{to} rank {})", r + 1),
            None => format!("({a})"),
        }
    }

    /// Describes a move and its effects.
    fn done_text(&self, done: &PlayedMove) -> String {
        let text = self.move_text(done.action.into());
        match self.reading(done.action.into()) {
            Some(Move::Discard(_)) => format!("{text}: {}", self.card_text(done.card)),
            Some(Move::Play(_)) => {
                let fits = if done.fits { "fits" } else { "does not fit, a life is lost" };
                format!("{text}: {} {fits}", self.card_text(done.card))
            }
            _ => {
                let slots: Vec<String> = slots(done.touched).map(|i| i.to_string()).collect();
                format!("{text}: slots {}", slots.join(", "))
            }
        }
    }

    /// Parses a hint such as `player +1 color R`, `p1 red` or, with two seats, `rank 3`.
    fn hint(&self, seat: Seat, words: &[&str]) -> Option<Move> {
        let words = words.strip_prefix(&["player"]).unwrap_or(words);
        let distance = |word: &str| match word.strip_prefix('+') {
            Some(to) => to.parse().ok(),
            None => {
                let p: usize = word.strip_prefix('p')?.parse().ok()?;
                (p < self.n).then(|| (p + self.n - seat % self.n) % self.n)
            }
        };
        let (to, words) = match words {
            [first, rest @ ..] if distance(first).is_some() => (distance(first)?, rest),
            _ if self.n == 2 => (1, words),
            _ => return None,
        };
        let value = match words {
            ["color" | "colour" | "rank", value] | [value] => *value,
            _ => return None,
        };
        if let Ok(rank) = value.parse::<usize>() {
            return Some(Move::Rank(to, rank.checked_sub(1)?));
        }
        let named = |name: &&str| *name == value || name[..1] == *value;
        Some(Move::Color(to, NAMES.iter().position(named)?))
    }
}

/// Iterates over the slots of a bit set.
fn slots(bits: u8) -> impl Iterator<Item = usize> {
    (0..MOST_HAND).filter(move |i| bits >> i & 1 == 1)
}

/// Narrows the possible kinds of every card in `hand` after the hint `m`. The bit set `touched` holds the matching
/// slots.
fn tell(hand: &mut Hand, m: Move, touched: u8) {
    for (i, held) in hand.cards_mut().iter_mut().enumerate() {
        let hit = touched >> i & 1 == 1;
        match m {
            Move::Color(_, c) if hit => (held.colors, held.color) = (1 << c, c as u8 + 1),
            Move::Rank(_, r) if hit => (held.ranks, held.rank) = (1 << r, r as u8 + 1),
            Move::Color(_, c) => held.colors &= !(1 << c),
            Move::Rank(_, r) => held.ranks &= !(1 << r),
            _ => {}
        }
    }
}

impl Game for Hanabi {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("hanabi.j2"),
        players: [2, MOST_PLAYERS as u32],
        presets: &[(
            "llmarena",
            r#"{"colors":2,"hand_size":2,"max_information_tokens":3,"max_life_tokens":1}"#,
            "LLMArena: two colors, two cards per hand, three information tokens, one life",
        )],
        ladder: &[(0, 1, "random"), (1, 1, "internal"), (2, 1, "iggi"), (2, 2, "piers"), (3, 1, "conventions")],
        unit: Unit::Field(&["internal", "iggi", "conventions"]),
        marks: marks::DOCS,
        ..GameInfo::new("hanabi", "Hanabi", include_str!("hanabi.md"))
    };

    fn new(params: Params) -> Result<Self, ParamError> {
        in_range(&params)?;
        let hand = params.hand_size.unwrap_or(if params.players < 4 { 5 } else { 4 });
        let (n, colors, ranks) = (params.players as usize, params.colors as usize, params.ranks as usize);
        let params = Params { hand_size: Some(hand), ..params };
        let game = Hanabi { n, hand: hand as usize, colors, ranks, params };
        let cards = game.cards();
        if n * game.hand > cards {
            let allowed = format!("at most {} for a deck of {cards} cards", cards / n);
            return Err(ParamError::value("hand_size", hand, allowed));
        }
        Ok(game)
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let begins = if self.params.random_start_player { self.n } else { 0 };
        let hidden = if self.seer() { Information::Perfect } else { Information::Imperfect };
        Facts {
            seats: (0..self.n).map(|p| format!("p{p}")).collect(),
            dynamics: Dynamics::Sequential,
            chance: ChanceMode::Explicit,
            information: hidden,
            utility: Utility::Identical,
            rewards: RewardModel::Step,
            returns: [0.0, self.kinds() as f64],
            // OpenSpiel's bound.
            max_length: (2 * self.cards() + self.n * self.hand) as u32 + self.params.max_information_tokens,
            actions: self.actions() as u32,
            max_chance: self.kinds().max(begins) as u32,
            legal: LegalForm::Ids,
            tensor: Some(("observation", self.parts())),
            info: None,
            openspiel: Some(self.parts()),
            document_schemas: None,
        }
    }

    fn start(&self) -> State {
        let mut left = [0; MOST_KINDS];
        for (card, left) in left.iter_mut().enumerate().take(self.kinds()) {
            *left = self.copies(card % self.ranks);
        }
        State {
            hands: [Hand::default(); MOST_PLAYERS],
            left,
            deck: self.cards() as u8,
            fireworks: [0; MOST_COLORS],
            information: self.tokens(),
            lives: self.params.max_life_tokens as u8,
            turns_left: self.n as u8,
            first: if self.params.random_start_player { NO_SEAT } else { 0 },
            log: [NO_MOVE; MOST_MOVES],
            length: 0,
        }
    }

    #[inline]
    fn to_move(&self, s: &State) -> ToMove {
        if self.over(s) {
            ToMove::Over
        } else if s.first == NO_SEAT || self.draws(s).is_some() {
            ToMove::Chance
        } else {
            ToMove::Seat(self.next(s))
        }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        if self.to_move(s) == ToMove::Seat(seat) {
            (0..self.actions() as Action).filter(|&a| self.allowed(s, seat, a)).for_each(|a| out.put(a));
        }
    }

    fn play_unchecked(&self, s: &mut State, a: Action) {
        match self.to_move(s) {
            ToMove::Chance if s.first == NO_SEAT => s.first = (a as usize % self.n) as u8,
            ToMove::Chance => {
                if let Some(to) = self.draws(s) {
                    self.deal(s, to, a);
                }
            }
            ToMove::Seat(seat) => self.act(s, seat, a),
            ToMove::Simultaneous(_) | ToMove::Over => {}
        }
    }

    /// Writes the same score for all seats: the number of cards on the fireworks, or 0 once the last life is lost.
    fn returns(&self, s: &State, out: &mut [f64]) {
        out.fill(if s.lives == 0 { 0.0 } else { f64::from(s.score()) });
    }

    fn view(&self, s: &State, who: Viewer) -> View {
        self.seen_by(s, who)
    }

    fn sample_world(&self, view: &View, rng: &mut Stream) -> State {
        self.world_of(view, rng)
    }
}

impl GameMoves for Hanabi {
    fn is_legal(&self, s: &State, seat: Seat, a: Action) -> bool {
        self.to_move(s) == ToMove::Seat(seat) && self.allowed(s, seat, a)
    }

    fn chance(&self, s: &State, out: &mut Outcomes) {
        if s.first == NO_SEAT {
            return out.uniform(0..self.n as Action);
        }
        (0..).zip(&s.left[..self.kinds()]).for_each(|(card, &left)| out.put(card, left.into()));
    }

    /// Returns a discard if one is legal, otherwise a hint; a blind play is the last resort.
    fn default_action(&self, s: &State, seat: Seat) -> Action {
        let play = |a: &Action| matches!(self.reading(*a), Some(Move::Play(_)));
        let tame = (0..self.actions() as Action).find(|a| !play(a) && self.is_legal(s, seat, *a));
        tame.unwrap_or(self.hand as Action)
    }
}

impl GameText for Hanabi {
    fn outcome_text(&self, s: &State, a: Action) -> String {
        if s.first == NO_SEAT { format!("p{a} begins") } else { format!("(Deal {})", self.card_text(a as u8)) }
    }

    fn text(&self, view: &View) -> String {
        self.describe(view)
    }

    fn action_text(&self, _view: &View, _seat: Seat, a: Action) -> String {
        self.move_text(a)
    }

    /// Accepts the displayed name with or without brackets, `tell` or `hint` for `reveal`, seats as `p1`, colors as
    /// words, and the action id.
    fn parse(&self, _view: &View, seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        let text = text.to_ascii_lowercase();
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '+').filter(|w| !w.is_empty());
        let words: Vec<&str> = words.collect();
        let a = match words[..] {
            [id] => id.parse().ok()?,
            ["discard", slot] => self.id(Move::Discard(slot.parse().ok()?))?,
            ["play", slot] => self.id(Move::Play(slot.parse().ok()?))?,
            ["reveal" | "hint" | "tell", ref words @ ..] => self.id(self.hint(seat, words)?)?,
            _ => return None,
        };
        legal.contains(&a).then_some(a)
    }

    fn why_not(&self, s: &State, seat: Seat, a: Action) -> String {
        let text = self.move_text(a);
        let why = match self.reading(a) {
            Some(Move::Discard(slot) | Move::Play(slot)) if slot >= usize::from(s.hands[seat].size) => {
                format!("the hand has no card in slot {slot}")
            }
            Some(Move::Discard(_)) => format!("all {} information tokens are already available", self.tokens()),
            Some(Move::Color(..) | Move::Rank(..)) if s.information == 0 => "no information token is left".to_owned(),
            Some(Move::Color(to, c)) => format!("p{} holds no {} card", (seat + to) % self.n, NAMES[c]),
            Some(Move::Rank(to, r)) => format!("p{} holds no card of rank {}", (seat + to) % self.n, r + 1),
            _ => "the id is not a move".to_owned(),
        };
        format!("{text} is not legal: {why}")
    }
}

impl GameObservation for Hanabi {
    /// Hides a drawn card from its owner until the card leaves the hand; all other seats see it.
    fn observe_action(&self, before: &State, who: Viewer, by: Mover, a: Action) -> EventView {
        let (shown, text) = match (by, self.draws(before)) {
            (Mover::Seat(_), _) => {
                let mut after = *before;
                self.play_unchecked(&mut after, a);
                (true, after.moves().last().map_or_else(|| self.move_text(a), |done| self.done_text(done)))
            }
            (Mover::Chance, Some(to)) if before.first != NO_SEAT => {
                let shown = self.sees(who, to);
                let card = if shown { self.card_text(a as u8) } else { "a card".to_owned() };
                (shown, format!("p{to} draws {card}"))
            }
            (Mover::Chance, _) => (true, self.outcome_text(before, a)),
        };
        EventView { action: shown.then_some(a), text: Some(text) }
    }

    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        self.encode(s, who, out);
    }

    fn openspiel_tensor(&self, s: &State, seat: Seat, out: &mut [f32]) {
        self.encode_as_theirs(s, seat, out);
    }
}

impl GameDisplay for Hanabi {
    fn picture(&self, view: &View, _from: Viewer) -> Picture {
        picture::picture(self, view)
    }

    /// Returns two clicks: a card and the word `discard` or `play`, or a seat and the color or rank of the hint.
    fn gesture(&self, _view: &View, seat: Seat, a: Action) -> Option<Gesture> {
        let other = |to: usize| format!("p{}", (seat + to) % self.n);
        let [first, then] = match self.reading(a)? {
            Move::Discard(slot) => [format!("p{seat}.{slot}"), "discard".to_owned()],
            Move::Play(slot) => [format!("p{seat}.{slot}"), "play".to_owned()],
            Move::Color(to, c) => [other(to), LETTERS[c..=c].to_owned()],
            Move::Rank(to, r) => [other(to), (r + 1).to_string()],
        };
        Some(Gesture::of([first, then]))
    }
}

impl GameSearch for Hanabi {}

impl GameMarks for Hanabi {
    fn marks(&self, before: &State, joint: &[Option<ParsedMove>], _after: &State, out: &mut Marks) {
        self.count(before, joint, out);
    }
}
