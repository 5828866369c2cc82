#![doc = include_str!("iterated_prisoners_dilemma.md")]

mod marks;
mod picture;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use smallvec::SmallVec;

use ludex_env::draw::Stream;
use ludex_env::game::{
    Action, ActionSink, Alias, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation, GameSearch,
    GameText, Marks, Outcomes, ParsedMove, Seat, SeatSet, ToMove, Unit, Viewer,
};
use ludex_env::params::{self, ParamError};
use ludex_env::picture::{Gesture, Picture};
use ludex_protocol::spec::{
    ChanceMode, Dtype, Dynamics, Information, LegalForm, Params as Raw, Part, RewardModel, TensorSpec, Utility,
};

/// Converts the parameters of OpenSpiel's `repeated_game(stage_game=matrix_pd(),num_repetitions=N,recall=K)`.
fn repeated(mut raw: Raw) -> Result<Raw, ParamError> {
    let stage = raw.remove("stage_game").unwrap_or_default();
    if !matches!(stage.as_str(), Some("matrix_pd()" | "matrix_pd")) {
        return Err(ParamError::value("stage_game", stage, "matrix_pd()"));
    }
    if !raw.contains_key("num_repetitions") {
        return Err(ParamError::value("num_repetitions", serde_json::Value::Null, "1 to 9999 (required)"));
    }
    Ok(raw)
}

/// The iterated prisoner's dilemma with fixed parameters.
pub struct IteratedPrisonersDilemma {
    params: Params,
    /// Maximum number of rounds.
    horizon: u32,
    /// Weight of [`STOP`] out of 2^53 after each round; `None` for a fixed number of rounds.
    stop: Option<u64>,
}

/// Parameters of the payoffs and the number of rounds.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Probability that the game ends after a round, 0 to 1; ignored if `num_repetitions` is set.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub termination_probability: f64,
    /// Maximum number of rounds, 1 to 9999; ignored if `num_repetitions` is set.
    #[schemars(range(min = 1, max = 9999))]
    pub max_game_length: u32,
    /// Exact number of rounds, 1 to 9999, known to both seats. Default: chance decides after each round.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 9999))]
    pub num_repetitions: Option<u32>,
    /// Number of recent rounds in the observation array, 1 to 9999.
    #[schemars(range(min = 1, max = 9999))]
    pub recall: u32,
    /// Payoffs per round, `[T, S, R, P]`: temptation (I defect, you cooperate), sucker (I cooperate, you defect),
    /// reward (both cooperate), punishment (both defect), with T > R > P > S.
    #[serde(deserialize_with = "four")]
    #[schemars(with = "[f64; 4]")]
    pub payoffs: [f64; 4],
}

impl Default for Params {
    fn default() -> Self {
        Params {
            termination_probability: 0.125,
            max_game_length: MOST_ROUNDS,
            num_repetitions: None,
            recall: 1,
            payoffs: [10.0, 0.0, 5.0, 1.0],
        }
    }
}

fn four<'de, D: Deserializer<'de>>(d: D) -> Result<[f64; 4], D::Error> {
    let list: Vec<f64> = params::list(d)?;
    list.try_into()
        .map_err(|l: Vec<f64>| serde::de::Error::custom(format!("expected four numbers [T, S, R, P], got {}", l.len())))
}

const MOST_ROUNDS: u32 = 9_999;
/// Chance outcome: the episode continues.
const CONTINUE: Action = 0;
/// Chance outcome: the episode ends.
const STOP: Action = 1;
/// Sum of the chance weights. With 2^53, every probability that is a multiple of 2^-53 is exact.
const WHOLE: u64 = 1 << 53;
/// Number of rounds in each word of the history.
const PER_WORD: u32 = 32;

/// A position: two bits for each round, and the count of each pair of moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Round r is stored in bits 2r and 2r + 1, 32 rounds per word. Bit 2r is set if seat 0 defected, bit 2r + 1 if
    /// seat 1 defected. Up to 96 rounds need no heap.
    history: SmallVec<[u64; 3]>,
    rounds: u32,
    /// Number of rounds with each pair of moves. Returns are sums over these counts, so the order of rounds cannot
    /// affect rounding.
    counts: [u32; 4],
    phase: Phase,
}

/// The current phase of the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Both seats choose a move.
    Move,
    /// Chance ends or continues the game.
    Chance,
    /// The game has ended.
    Over,
}

impl State {
    /// Returns the two moves of round `r` as bits.
    fn round(&self, r: u32) -> u64 {
        let word = self.history.get((r / PER_WORD) as usize).copied().unwrap_or(0);
        word >> (2 * (r % PER_WORD)) & 3
    }

    fn push(&mut self, pair: u64) {
        if self.rounds.is_multiple_of(PER_WORD) {
            self.history.push(0);
        }
        if let Some(word) = self.history.last_mut() {
            *word |= pair << (2 * (self.rounds % PER_WORD));
        }
        self.rounds += 1;
        self.counts[pair as usize] += 1;
    }

    fn letters(&self, seat: Seat) -> String {
        (0..self.rounds).map(|r| if self.round(r) >> seat & 1 == 1 { 'D' } else { 'C' }).collect()
    }
}

/// The public information: all moves so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// The observer's seat; absent for the public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u8>,
    /// The moves of seat 0 and of seat 1, round by round: `C` cooperate, `D` defect.
    pub moves: [String; 2],
    /// Total payoffs so far, by seat.
    pub score: [f64; 2],
    /// The current phase of the game.
    pub phase: Phase,
}

impl IteratedPrisonersDilemma {
    /// Returns the phase that follows a number of finished rounds.
    fn after_round(&self, rounds: u32) -> Phase {
        match self.stop {
            // OpenSpiel has a chance node after the last round too; either outcome then ends the episode.
            Some(_) => Phase::Chance,
            None if rounds >= self.horizon => Phase::Over,
            None => Phase::Move,
        }
    }

    /// Writes the last rounds, most recent first. Each round has two one-hot pairs: the move of seat `first`, then the
    /// move of the other seat.
    fn last_rounds<T: From<u8>>(&self, s: &State, first: Seat, out: &mut [T]) {
        for (back, cells) in out.chunks_exact_mut(4).enumerate() {
            let r = s.rounds.checked_sub(back as u32 + 1);
            Self::cells(r.map(|r| s.round(r)), first, cells);
        }
    }

    fn cells<T: From<u8>>(pair: Option<u64>, first: Seat, out: &mut [T]) {
        for (k, cell) in out.iter_mut().enumerate() {
            let seat = if k < 2 { first } else { 1 - first };
            *cell = T::from(u8::from(pair.is_some_and(|p| p >> seat & 1 == (k & 1) as u64)));
        }
    }

    fn rounds_spec(name: &str, rounds: u32) -> TensorSpec {
        let parts = vec![Part { name: name.into(), at: 0, len: rounds }];
        TensorSpec { d: Dtype::U1, s: vec![rounds, 2, 2], low: 0.0, high: 1.0, parts }
    }
}

fn first(who: Viewer) -> Seat {
    if who == Viewer::Seat(1) { 1 } else { 0 }
}

impl Game for IteratedPrisonersDilemma {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("iterated_prisoners_dilemma.j2"),
        presets: &[
            ("openspiel", r#"{"payoffs":[10,0,5,1]}"#, "OpenSpiel: the defaults"),
            ("gtbench", r#"{"payoffs":[10,0,5,1]}"#, "GTBench: the defaults"),
            ("years", r#"{"payoffs":[0,-3,-1,-2]}"#, "years in prison, as in GTBench's prompt"),
            ("axelrod", r#"{"payoffs":[5,0,3,1]}"#, "the payoffs of Axelrod's tournaments"),
        ],
        aliases: &[
            Alias { name: "python_iterated_prisoners_dilemma", map: Ok },
            Alias { name: "repeated_game", map: repeated },
        ],
        ladder: &[(0, 1, "random"), (1, 1, "tit_for_tat"), (1, 2, "gradual"), (2, 1, "classics_responder")],
        unit: Unit::Field(&[
            "random",
            "always_defect",
            "tit_for_tat",
            "suspicious_tit_for_tat",
            "pavlov",
            "generous_tit_for_tat",
            "gradual",
        ]),
        marks: marks::DOCS,
        ..GameInfo::new(
            "iterated_prisoners_dilemma",
            "Iterated prisoner's dilemma",
            include_str!("iterated_prisoners_dilemma.md"),
        )
    };

    fn new(params: Params) -> Result<Self, ParamError> {
        params::in_range(&params)?;
        let Params { termination_probability, max_game_length, num_repetitions, payoffs, .. } = params;
        let [t, s, r, p] = payoffs;
        if !(t > r && r > p && p > s && payoffs.iter().all(|v| v.abs() <= 1e6)) {
            return Err(ParamError::value(
                "payoffs",
                payoffs.to_vec(),
                "[T, S, R, P] with T > R > P > S, each from -1e6 to 1e6",
            ));
        }
        let stop = num_repetitions.is_none().then_some((termination_probability * WHOLE as f64 + 0.5) as u64);
        Ok(IteratedPrisonersDilemma { horizon: num_repetitions.unwrap_or(max_game_length), stop, params })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let [t, s, ..] = self.params.payoffs;
        let (most, least) = (f64::from(self.horizon), if self.stop.is_some() { 1.0 } else { f64::from(self.horizon) });
        let recall = self.params.recall;
        Facts {
            seats: vec!["p0".into(), "p1".into()],
            dynamics: Dynamics::Simultaneous,
            chance: if self.stop.is_some() { ChanceMode::Explicit } else { ChanceMode::Deterministic },
            information: Information::Perfect,
            utility: Utility::GeneralSum,
            rewards: RewardModel::Step,
            returns: [(s * most).min(s * least), (t * most).max(t * least)],
            max_length: self.horizon,
            actions: 2,
            max_chance: if self.stop.is_some() { 2 } else { 0 },
            legal: LegalForm::Ids,
            tensor: Some(("rounds", Self::rounds_spec("last", recall))),
            info: self.params.num_repetitions.map(|n| ("history", Self::rounds_spec("rounds", n))),
            openspiel: self.stop.is_none().then(|| TensorSpec {
                s: vec![4 * recall],
                parts: vec![Part { name: "last".into(), at: 0, len: 4 * recall }],
                ..Self::rounds_spec("last", recall)
            }),
            document_schemas: None,
        }
    }

    fn start(&self) -> State {
        State { history: SmallVec::new(), rounds: 0, counts: [0; 4], phase: Phase::Move }
    }

    #[inline]
    fn to_move(&self, s: &State) -> ToMove {
        match s.phase {
            Phase::Move => ToMove::Simultaneous(SeatSet::first(2)),
            Phase::Chance => ToMove::Chance,
            Phase::Over => ToMove::Over,
        }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        if s.phase == Phase::Move && seat < 2 {
            out.put(0);
            out.put(1);
        }
    }

    fn play_unchecked(&self, s: &mut State, a: Action) {
        if s.phase == Phase::Chance {
            s.phase = if a == STOP || s.rounds >= self.horizon { Phase::Over } else { Phase::Move };
        }
    }

    #[inline]
    fn returns(&self, s: &State, out: &mut [f64]) {
        let [t, sucker, r, p] = self.params.payoffs;
        let [both, first, second, none] = s.counts.map(f64::from);
        let shared = both * r + none * p;
        // `first` is the number of rounds in which only seat 0 defected.
        out.copy_from_slice(&[shared + first * t + second * sucker, shared + second * t + first * sucker]);
    }

    fn view(&self, s: &State, who: Viewer) -> View {
        let seat = who.seat().map(|p| p as u8);
        let mut score = [0.0; 2];
        self.returns(s, &mut score);
        View { seat, moves: [s.letters(0), s.letters(1)], score, phase: s.phase }
    }

    fn sample_world(&self, view: &View, _rng: &mut Stream) -> State {
        let mut s = self.start();
        let [first, second] = &view.moves;
        for (a, b) in first.chars().zip(second.chars()).take(self.horizon as usize) {
            s.push(u64::from(a == 'D') | u64::from(b == 'D') << 1);
        }
        s.phase = view.phase;
        s
    }
}

impl GameMoves for IteratedPrisonersDilemma {
    #[inline]
    fn play_together_unchecked(&self, s: &mut State, joint: &[Action]) {
        if let (Phase::Move, [a, b, ..]) = (s.phase, joint) {
            s.push(u64::from(a & 1 | (b & 1) << 1));
            s.phase = self.after_round(s.rounds);
        }
    }

    fn chance(&self, _s: &State, out: &mut Outcomes) {
        let stop = self.stop.unwrap_or(0);
        out.put(CONTINUE, WHOLE - stop);
        out.put(STOP, stop);
    }
}

impl GameText for IteratedPrisonersDilemma {
    fn outcome_text(&self, _s: &State, a: Action) -> String {
        if a == STOP { "STOP" } else { "CONTINUE" }.to_owned()
    }

    fn text(&self, view: &View) -> String {
        let rounds = view.moves[0].chars().count();
        let head = match view.phase {
            Phase::Move => format!("Round {}.", rounds + 1),
            Phase::Chance => format!("Round {rounds} is played; chance decides whether it was the last."),
            Phase::Over => format!("Over after round {rounds}."),
        };
        let (own, other, mine, theirs) = match view.seat {
            None => ("p0", "p1", 0, 1),
            Some(p) => ("You", "Opponent", usize::from(p & 1), usize::from(1 - (p & 1))),
        };
        let line = |who: &str, i: usize| {
            let moves = view.moves[i].as_str();
            format!("{who}: {} ({} in all)", if moves.is_empty() { "nothing yet" } else { moves }, view.score[i])
        };
        [head, line(own, mine), line(other, theirs)].join("\n")
    }

    /// Returns the name of a move. As in OpenSpiel, the name is in capitals if chance decides when the game ends.
    fn action_text(&self, _view: &View, _seat: Seat, a: Action) -> String {
        match (self.stop.is_some(), a & 1) {
            (true, 0) => "COOPERATE",
            (true, _) => "DEFECT",
            (false, 0) => "Cooperate",
            (false, _) => "Defect",
        }
        .to_owned()
    }

    /// Accepts the displayed names, `C` and `D`, `silent` and `testify`, and action ids.
    fn parse(&self, _view: &View, _seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        let a = match text.trim().to_ascii_lowercase().as_str() {
            "cooperate" | "c" | "silent" | "0" => 0,
            "defect" | "d" | "testify" | "1" => 1,
            _ => return None,
        };
        legal.contains(&a).then_some(a)
    }
}

impl GameObservation for IteratedPrisonersDilemma {
    #[inline]
    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        self.last_rounds(s, first(who), out);
    }

    fn info(&self, s: &State, who: Viewer, out: &mut [u8]) {
        for (r, cells) in (0..).zip(out.chunks_exact_mut(4)) {
            Self::cells((r < s.rounds).then(|| s.round(r)), first(who), cells);
        }
    }

    fn openspiel_tensor(&self, s: &State, _seat: Seat, out: &mut [f32]) {
        self.last_rounds(s, 0, out);
    }
}

impl GameDisplay for IteratedPrisonersDilemma {
    fn picture(&self, view: &View, _from: Viewer) -> Picture {
        picture::picture(view)
    }

    fn gesture(&self, _view: &View, _seat: Seat, a: Action) -> Option<Gesture> {
        Some(Gesture::of([if a & 1 == 0 { "cooperate" } else { "defect" }]))
    }
}

impl GameSearch for IteratedPrisonersDilemma {}

impl GameMarks for IteratedPrisonersDilemma {
    fn marks(&self, before: &State, _joint: &[Option<ParsedMove>], after: &State, out: &mut Marks) {
        Self::count(before, after, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game(text: &str) -> ludex_env::GameRef {
        crate::load(text).unwrap()
    }

    #[test]
    fn returns_of_longest_match_equal_exact_sum() {
        let ipd = game("iterated_prisoners_dilemma(num_repetitions=9999,payoffs=[0.3,-0.1,0.2,0.1])");
        let mut s = ipd.start();
        for r in 0..9_999u32 {
            s.play_together(&[Some(r % 2), Some(r % 3 / 2)]).unwrap();
        }
        assert_eq!(s.turn(), ToMove::Over);
        // In each six rounds, both cooperate twice, only seat 0 defects twice, only seat 1 defects once, and both
        // defect once. The last three of the 9,999 rounds are the first three of these six.
        let (both, first, second, none) = (3_333.0, 3_333.0, 1_667.0, 1_666.0);
        let want = both * 0.2 + none * 0.1 + first * 0.3 - second * 0.1;
        assert!((s.returns()[0] - want).abs() < 1e-9, "{} {want}", s.returns()[0]);
        let w = s.view(Viewer::Public).world(&mut Stream::from_text("w"));
        assert_eq!(w.returns(), s.returns());
    }

    #[test]
    fn move_notation_variants_parse() {
        let g = game("repeated_game(stage_game=matrix_pd(),num_repetitions=10,recall=3)");
        assert_eq!((g.spec().max_length, g.spec().max_chance, g.spec().max_return), (10, 0, 100.0));
        assert_eq!(
            g.spec().string,
            "iterated_prisoners_dilemma(termination_probability=0.125,max_game_length=9999,num_repetitions=10,recall=3,\
             payoffs=[10.0,0.0,5.0,1.0])"
        );
        assert_eq!(game(&g.spec().string).spec().hash, g.spec().hash);
        let g = game("python_iterated_prisoners_dilemma(max_game_length=20,termination_probability=0.125)");
        assert_eq!((g.spec().max_length, g.spec().max_chance), (20, 2));
    }

    #[test]
    fn error_identifies_the_invalid_parameter() {
        let name = |params: &str| {
            let error = crate::load(&format!("iterated_prisoners_dilemma({params})")).err().unwrap();
            error.name.unwrap()
        };
        assert_eq!(name("payoffs=[1,2,3,4]"), "payoffs");
        assert_eq!(name("payoffs=[5,3]"), "payoffs");
        assert_eq!(name("termination_probability=1.5"), "termination_probability");
        assert_eq!(name("num_repetitions=0"), "num_repetitions");
        assert_eq!(name("max_game_length=10000"), "max_game_length");
        assert_eq!(name("recall=0"), "recall");
        assert_eq!(name("preset=prison"), "preset");
        assert!(crate::load("repeated_game(stage_game=matrix_rps(),num_repetitions=3)").is_err());
        assert!(crate::load("repeated_game(stage_game=matrix_pd())").is_err());
    }

    #[test]
    fn presets_set_payoffs() {
        let range = |preset: &str| {
            let g = game(&format!("iterated_prisoners_dilemma(preset={preset},num_repetitions=2)"));
            (g.spec().min_return, g.spec().max_return)
        };
        assert_eq!(range("openspiel"), (0.0, 20.0));
        assert_eq!(range("years"), (-6.0, 0.0));
        assert_eq!(range("axelrod"), (0.0, 10.0));
    }
}
