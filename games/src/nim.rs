#![doc = include_str!("nim.md")]

mod picture;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use ludex_env::draw::{Stream, scale};
use ludex_env::game::{
    Action, ActionSink, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation, GameSearch,
    GameText, Seat, ToMove, Viewer,
};
use ludex_env::params::{ParamError, list};
use ludex_env::picture::{Gesture, Picture};
use ludex_env::tensor::stretches;
use ludex_protocol::spec::TensorSpec;

use crate::board;

/// Nim with fixed parameters.
pub struct Nim {
    params: Params,
    start: State,
    /// Number of piles at the start.
    n: usize,
    /// Size of the largest initial pile.
    largest: usize,
    /// Pile (from 0) and number of taken objects of each action id. The last id takes nothing.
    moves: Vec<(u8, u8)>,
}

/// Parameters of the piles and the winning condition.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Number of objects in each pile, as a list or as text such as `1;3;5;7`: 1 to 16 piles of 0 to 255 objects, not
    /// all empty.
    #[serde(deserialize_with = "list")]
    #[schemars(length(min = 1, max = 16), inner(range(min = 0, max = 255)))]
    pub pile_sizes: Vec<u32>,
    /// If true, the player who takes the last object loses; otherwise that player wins.
    pub is_misere: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params { pile_sizes: vec![1, 3, 5, 7], is_misere: true }
    }
}

const MOST_PILES: usize = 16;

/// A position of the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Number of objects in each pile; unused piles are empty.
    piles: [u8; MOST_PILES],
    /// Total number of objects.
    left: u16,
    /// The seat to move; at the end, the seat that did not move last.
    seat: u8,
}

/// The public information about a position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// Objects in each pile.
    pub piles: Vec<u8>,
    /// The seat to move; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_move: Option<u8>,
    /// The seat that won; absent before the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winner: Option<u8>,
}

impl Nim {
    /// Returns the winner of a finished game in which the opponent of `seat` took the last object.
    fn winner(&self, seat: u8) -> u8 {
        if self.params.is_misere { seat & 1 } else { 1 - (seat & 1) }
    }

    /// Returns the seat to move; at the end, the seat that did not move last.
    fn next(&self, view: &View) -> u8 {
        // `winner` is its own inverse, so it also maps the winner back to the seat.
        view.to_move.or(view.winner.map(|p| self.winner(p))).unwrap_or(0) & 1
    }

    fn state(&self, piles: impl Iterator<Item = u8>, seat: u8) -> State {
        let mut s = State { piles: [0; MOST_PILES], left: 0, seat };
        for (place, size) in s.piles.iter_mut().zip(piles) {
            *place = size;
            s.left += u16::from(size);
        }
        s
    }

    /// Writes a one-hot row for each pile; the cell of the pile's size is set to `one`.
    #[inline]
    fn one_hot<T: Copy>(&self, s: &State, out: &mut [T], one: T) {
        for (cells, &size) in out.chunks_exact_mut(self.largest + 1).zip(&s.piles) {
            if let Some(cell) = cells.get_mut(usize::from(size)) {
                *cell = one;
            }
        }
    }

    /// Returns the layout of an array: the parts of `head`, then the piles.
    fn array(&self, head: &[(&str, u32)]) -> TensorSpec {
        let names: Vec<String> = (1..=self.n).map(|p| format!("pile_{p}")).collect();
        let piles = names.iter().map(|name| (name.as_str(), self.largest as u32 + 1));
        stretches(&head.iter().copied().chain(piles).collect::<Vec<_>>(), 1.0)
    }

    /// Parses a pile (from 1) and a number of taken objects.
    fn numbers(words: &[&str]) -> Option<(usize, usize)> {
        let (pile, take) = match words {
            ["pile", pile, "take", take] | [pile, take] => (pile, take),
            ["take", take, "from", "pile", pile] | ["take", take, "pile", pile] => (pile, take),
            _ => return None,
        };
        Some((pile.parse().ok()?, take.parse().ok()?))
    }
}

impl Game for Nim {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("nim.j2"),
        presets: &[("gtbench", "{}", "GTBench's game: the defaults")],
        ladder: &[
            (0, 1, "random"),
            (1, 1, "solver blunder=0.5"),
            (2, 1, "solver blunder=0.2"),
            (3, 1, "solver"),
            (3, 2, "alphabeta depth=16"),
        ],
        ..GameInfo::new("nim", "Nim", include_str!("nim.md"))
    };

    fn new(params: Params) -> Result<Self, ParamError> {
        let sizes = &params.pile_sizes;
        let refused = || {
            let allowed = format!("1 to {MOST_PILES} piles of 0 to 255 objects, not all empty");
            ParamError::value("pile_sizes", sizes.clone(), allowed)
        };
        let n = sizes.len();
        if n == 0 || n > MOST_PILES {
            return Err(refused());
        }
        let sizes: Vec<u8> = sizes.iter().map(|&k| u8::try_from(k)).collect::<Result<_, _>>().map_err(|_| refused())?;
        let largest = usize::from(sizes.iter().copied().max().unwrap_or(0));
        if largest == 0 {
            return Err(refused());
        }
        let mut moves: Vec<(u8, u8)> =
            (1..=largest).flat_map(|take| (0..n).map(move |pile| (pile as u8, take as u8))).collect();
        moves.push((0, 0));
        let empty = State { piles: [0; MOST_PILES], left: 0, seat: 0 };
        let game = Nim { params, start: empty, n, largest, moves };
        Ok(Nim { start: game.state(sizes.into_iter(), 0), ..game })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let n = self.n as u32;
        Facts {
            tensor: Some(("piles", self.array(&[("my_move", 1)]))),
            openspiel: Some(self.array(&[("player", 2), ("over", 1), ("piles", n)])),
            ..board::facts(["p0", "p1"], self.moves.len() as u32, u32::from(self.start.left))
        }
    }

    fn start(&self) -> State {
        self.start
    }

    #[inline]
    fn to_move(&self, s: &State) -> ToMove {
        if s.left == 0 { ToMove::Over } else { ToMove::Seat(usize::from(s.seat & 1)) }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        if self.to_move(s) == ToMove::Seat(seat) {
            let piles = &s.piles[..self.n];
            let highest = piles.iter().copied().max().unwrap_or(0);
            for taken in 0..highest {
                let row = usize::from(taken) * self.n;
                (0..self.n).filter(|&p| piles[p] > taken).for_each(|p| out.put((row + p) as Action));
            }
        }
    }

    #[inline]
    fn play_unchecked(&self, s: &mut State, a: Action) {
        if let Some(&(pile, take)) = self.moves.get(a as usize) {
            let size = &mut s.piles[usize::from(pile)];
            let take = take.min(*size);
            *size -= take;
            s.left -= u16::from(take);
        }
        s.seat = 1 - (s.seat & 1);
    }

    #[inline]
    fn returns(&self, s: &State, out: &mut [f64]) {
        board::returns((s.left == 0).then(|| usize::from(self.winner(s.seat))), out);
    }

    fn view(&self, s: &State, _who: Viewer) -> View {
        let over = s.left == 0;
        View {
            piles: s.piles[..self.n].to_vec(),
            to_move: (!over).then_some(s.seat & 1),
            winner: over.then(|| self.winner(s.seat)),
        }
    }

    fn sample_world(&self, view: &View, _rng: &mut Stream) -> State {
        // A forged view may exceed the limits.
        let piles = view.piles.iter().take(self.n).map(|&size| size.min(self.largest as u8));
        self.state(piles, self.next(view))
    }
}

impl GameMoves for Nim {
    #[inline]
    fn mask(&self, s: &State, seat: Seat, out: &mut [u8]) {
        let piles = if self.to_move(s) == ToMove::Seat(seat) { s.piles } else { [0; MOST_PILES] };
        let mut rows = out.chunks_exact_mut(self.n);
        for (taken, row) in (0..=u8::MAX).zip(&mut rows) {
            row.iter_mut().zip(&piles).for_each(|(cell, &size)| *cell = u8::from(size > taken));
        }
        rows.into_remainder().fill(0);
    }

    #[inline]
    fn is_legal(&self, s: &State, seat: Seat, a: Action) -> bool {
        let fits = |&(pile, take): &(u8, u8)| take > 0 && take <= s.piles[usize::from(pile)];
        self.to_move(s) == ToMove::Seat(seat) && self.moves.get(a as usize).is_some_and(fits)
    }

    #[inline]
    fn random_action(&self, s: &State, _seat: Seat, rng: &mut Stream) -> Action {
        let mut k = scale(rng.bits(), u64::from(s.left)) as usize;
        for (pile, &size) in s.piles[..self.n].iter().enumerate() {
            if k < usize::from(size) {
                return (k * self.n + pile) as Action;
            }
            k -= usize::from(size);
        }
        0
    }
}

impl GameText for Nim {
    fn text(&self, view: &View) -> String {
        let piles: Vec<String> = view.piles.iter().map(u8::to_string).collect();
        format!("({}): {}", self.next(view), piles.join(" "))
    }

    fn action_text(&self, _view: &View, _seat: Seat, a: Action) -> String {
        let (pile, take) = (a as usize % self.n + 1, a as usize / self.n + 1);
        format!("pile:{pile}, take:{take};")
    }

    /// Accepts the displayed text, `2 3` (pile, number of objects), `take 3 from pile 2`, and action ids.
    fn parse(&self, _view: &View, _seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        let text = text.to_ascii_lowercase();
        let words: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
        let a = match words[..] {
            [id] => id.parse().ok()?,
            _ => {
                let (pile, take) = Self::numbers(&words)?;
                let there = (1..=self.n).contains(&pile) && (1..=self.largest).contains(&take);
                there.then(|| ((take - 1) * self.n + pile - 1) as Action)?
            }
        };
        legal.contains(&a).then_some(a)
    }

    fn why_not(&self, s: &State, seat: Seat, a: Action) -> String {
        if a as usize + 1 >= self.moves.len() {
            return format!("action {a} takes more objects than any pile had at the start");
        }
        let pile = a as usize % self.n;
        let name = self.action_text(&self.view(s, Viewer::Public), seat, a);
        format!("{a} is {name} pile {} holds {}", pile + 1, s.piles[pile])
    }
}

impl GameObservation for Nim {
    #[inline]
    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        let [me, _] = board::sides(who);
        out.fill(0);
        if let Some((mover, piles)) = out.split_first_mut() {
            *mover = u8::from(self.to_move(s) == ToMove::Seat(me));
            self.one_hot(s, piles, 1);
        }
    }

    fn openspiel_tensor(&self, s: &State, _seat: Seat, out: &mut [f32]) {
        out.fill(0.0);
        out[usize::from(s.seat & 1)] = 1.0;
        out[2] = if s.left == 0 { 1.0 } else { 0.0 };
        out[2 + self.n] = 1.0;
        self.one_hot(s, &mut out[3 + self.n..], 1.0);
    }
}

impl GameDisplay for Nim {
    fn picture(&self, view: &View, _from: Viewer) -> Picture {
        picture::picture(self, view)
    }

    /// Returns the lowest object to take; all objects above it are taken with it.
    fn gesture(&self, view: &View, _seat: Seat, a: Action) -> Option<Gesture> {
        let (pile, take) = (a as usize % self.n, a as usize / self.n + 1);
        let left = usize::from(*view.piles.get(pile)?).checked_sub(take)?;
        picture::draws_all_objects(view).then(|| Gesture::of([picture::name(pile, left)]))
    }

    fn drawing(&self, view: &View, _from: Viewer) -> String {
        let pile = |(k, held): (usize, &u8)| format!("Pile {}: {held}\n", k + 1);
        view.piles.iter().enumerate().map(pile).collect()
    }
}

impl GameSearch for Nim {
    fn hash(&self, s: &State) -> Option<u64> {
        let piles = u128::from_le_bytes(s.piles);
        let words = [piles as u64, (piles >> 64) as u64];
        let mixed = words
            .into_iter()
            .fold(u64::from(s.seat), |hash, word| (hash.rotate_left(29) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Some(mixed ^ mixed >> 32)
    }
}

impl GameMarks for Nim {}

#[cfg(test)]
mod tests {
    use super::*;

    fn game(sizes: &[u32], is_misere: bool) -> Nim {
        Nim::new(Params { pile_sizes: sizes.to_vec(), is_misere }).unwrap()
    }

    /// Returns the value of a position for the seat to move under perfect play.
    fn value(g: &Nim, s: &State) -> f64 {
        let mut legal = Vec::new();
        g.legal(s, usize::from(s.seat), &mut legal);
        if legal.is_empty() {
            let mut r = [0.0; 2];
            g.returns(s, &mut r);
            return r[usize::from(s.seat)];
        }
        let after = legal.into_iter().map(|a| {
            let mut next = *s;
            g.play_unchecked(&mut next, a);
            -value(g, &next)
        });
        after.fold(-1.0, f64::max)
    }

    /// By Bouton's theorem, the side to move wins if the xor of the piles is not zero. In misère play with piles of at
    /// most one object, the side to move wins if the number of nonempty piles is even.
    #[test]
    fn perfect_play_agrees_with_the_theorem_of_bouton() {
        for (sizes, is_misere) in (0..4u32.pow(3)).flat_map(|k| [(k, true), (k, false)]) {
            let sizes = [sizes % 4, sizes / 4 % 4, sizes / 16];
            if sizes == [0; 3] {
                continue;
            }
            let xor = sizes.iter().fold(0, |x, k| x ^ k);
            let single = sizes.iter().all(|&k| k <= 1);
            let wins = if is_misere && single { xor == 0 } else { xor != 0 };
            let g = game(&sizes, is_misere);
            assert_eq!(value(&g, &g.start()), if wins { 1.0 } else { -1.0 }, "{sizes:?}, misère {is_misere}");
        }
    }

    #[test]
    fn last_object_decides_winner() {
        for (is_misere, wanted) in [(true, [-1.0, 1.0]), (false, [1.0, -1.0])] {
            let g = game(&[2], is_misere);
            let mut s = g.start();
            g.play_unchecked(&mut s, 1);
            let mut r = [0.0; 2];
            g.returns(&s, &mut r);
            assert_eq!((g.to_move(&s), r), (ToMove::Over, wanted), "misère {is_misere}");
            assert_eq!(g.text(&g.view(&s, Viewer::Public)), "(1): 0");
        }
    }

    #[test]
    fn action_that_takes_nothing_is_never_legal() {
        let g = game(&[1, 3, 5, 7], true);
        assert_eq!(g.facts().actions, 29);
        let mut s = g.start();
        assert!(!g.is_legal(&s, 0, 28));
        assert!(g.why_not(&s, 0, 28).contains("any pile"));
        assert!(g.why_not(&s, 0, 4).contains("pile 1 holds 1"), "{}", g.why_not(&s, 0, 4));
        g.play_unchecked(&mut s, 28);
        assert_eq!(s.left, 16, "it takes nothing");
    }

    #[test]
    fn move_notation_variants_parse() {
        let g = game(&[1, 3, 5, 7], true);
        let s = g.start();
        let mut legal = Vec::new();
        g.legal(&s, 0, &mut legal);
        let view = g.view(&s, Viewer::Seat(0));
        let read = |text: &str| g.parse(&view, 0, &legal, text);
        for text in ["pile:3, take:2;", "pile:3,take:2", "<pile 3 take 2>", "3 2", "Take 2 from pile 3", "6"] {
            assert_eq!(read(text), Some(6), "{text}");
        }
        for text in ["", "pile:1, take:2;", "pile:5, take:1;", "0 1", "3 0", "28", "3 2 1", "3 99999999999999999999"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn pile_sizes_parse_from_list_and_text() {
        let string = |text: &str| crate::load(text).map(|g| g.spec().string.clone());
        let wanted = "nim(pile_sizes=[2,0,9],is_misere=true)";
        for text in ["nim(pile_sizes=2;0;9)", "nim(pile_sizes=[2,0,9])", "nim(pile_sizes=2 0 9,is_misere=True)"] {
            assert_eq!(string(text).as_deref(), Ok(wanted), "{text}");
        }
        assert_eq!(string("nim(pile_sizes=4)").as_deref(), Ok("nim(pile_sizes=[4],is_misere=true)"));
        let many = format!("nim(pile_sizes={})", ["1"; 17].join(";"));
        for text in ["nim(pile_sizes=0;0)", "nim(pile_sizes=[])", "nim(pile_sizes=256)", "nim(pile_sizes=1;x)", &many] {
            let error = string(text).unwrap_err();
            assert_eq!(error.name.as_deref(), Some("pile_sizes"), "{text}: {error}");
        }
    }
}
