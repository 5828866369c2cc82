#![doc = include_str!("pig.md")]

mod picture;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use ludex_env::draw::Stream;
use ludex_env::game::{
    Action, ActionSink, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation, GameSearch,
    GameText, Outcomes, Seat, ToMove, Unit, Viewer,
};
use ludex_env::params::{ParamError, in_range};
use ludex_env::picture::{Gesture, Picture};
use ludex_env::tensor::stretches;
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, LegalForm, RewardModel, TensorSpec, Utility};

/// Pig with fixed parameters.
pub struct Pig {
    params: Params,
    /// Number of seats at the table.
    n: usize,
    /// Number of banked points needed to win.
    goal: u16,
}

/// Parameters of seats, die and goal.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Number of seats, 2 to 10.
    #[schemars(range(min = 2, max = 10))]
    pub players: u32,
    /// Number of banked points needed to win, 1 to 1000.
    #[schemars(range(min = 1, max = 1000))]
    pub winscore: u32,
    /// Number of sides of the die, 2 to 100.
    #[schemars(range(min = 2, max = 100))]
    pub diceoutcomes: u32,
    /// Maximum number of rolls and stops, 1 to 1000000; then the game is a draw.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub horizon: u32,
    /// If true, every roll except a one is worth a single point.
    pub piglet: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params { players: 2, winscore: 100, diceoutcomes: 6, horizon: 1000, piglet: false }
    }
}

const MOST: usize = 10;
const ROLL: Action = 0;
const STOP: Action = 1;

/// A position of the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    scores: [u16; MOST],
    /// Points of the current turn that are not yet banked.
    total: u16,
    /// The seat whose turn it is.
    seat: u8,
    /// True if a roll is pending.
    rolling: bool,
    /// Number of rolls and stops so far.
    moves: u32,
}

/// The public information about a position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// Banked points, by seat.
    pub scores: Vec<u16>,
    /// Points of the current turn that are not yet banked.
    pub turn_total: u16,
    /// The seat whose turn it is; at the end, the seat that would move next.
    pub turn: u8,
    /// True if a roll is pending.
    pub rolling: bool,
    /// Number of rolls and stops so far.
    pub moves: u32,
    /// The seat that won; absent before the end and in a draw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winner: Option<u8>,
}

impl Pig {
    fn winner(&self, s: &State) -> Option<usize> {
        s.scores[..self.n].iter().position(|&score| score >= self.goal)
    }

    /// Returns true if banking the points of this turn reaches the goal; the seat must then stop.
    fn must_stop(&self, s: &State) -> bool {
        s.scores[usize::from(s.seat)].saturating_add(s.total) >= self.goal
    }

    /// Returns the nearness of `seat` to the goal: the inverse square of its missing points. The points of the current
    /// turn count in full, so that a player that looks one roll ahead rolls while the expected gain is positive.
    fn nearness(&self, s: &State, seat: usize) -> f64 {
        let total = if usize::from(s.seat) == seat { s.total } else { 0 };
        let missing = self.goal.saturating_sub(s.scores[seat].saturating_add(total));
        // A seat at the goal must still bank its points, so it counts as half a point away.
        let missing = if missing == 0 { 0.5 } else { f64::from(missing) };
        1.0 / (missing * missing)
    }

    fn pass_on(&self, s: &mut State) {
        s.total = 0;
        s.seat = if usize::from(s.seat) + 1 >= self.n { 0 } else { s.seat + 1 };
    }

    /// Writes one-hot rows for the turn total and for the scores, starting with the score of `first`. Values above the
    /// goal are capped at the goal.
    fn rows<T: From<u8>>(&self, s: &State, first: usize, out: &mut [T]) {
        let scores = (0..self.n).map(|k| s.scores[(first + k) % self.n]);
        let rows = out.chunks_exact_mut(usize::from(self.goal) + 1);
        for (row, points) in rows.zip(std::iter::once(s.total).chain(scores)) {
            row[usize::from(points.min(self.goal))] = T::from(1);
        }
    }
}

impl Game for Pig {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("pig.j2"),
        players: [2, MOST as u32],
        presets: &[
            ("openspiel", "{}", "OpenSpiel: the defaults, first to 100"),
            ("gtbench", r#"{"winscore":20}"#, "GTBench's game: first to 20"),
        ],
        ladder: &[
            (0, 1, "random"),
            (1, 1, "hold at=2"),
            (2, 1, "hold at=3"),
            (3, 1, "hold at=4"),
            (4, 1, "hold at=6"),
            (5, 1, "hold at=9"),
            (6, 1, "solver"),
            (6, 2, "hold at=20"),
        ],
        unit: Unit::Duplicate(1),
        ..GameInfo::new("pig", "Pig", include_str!("pig.md"))
    };

    fn new(params: Params) -> Result<Self, ParamError> {
        in_range(&params)?;
        Ok(Pig { n: params.players as usize, goal: params.winscore as u16, params })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let Params { players, winscore, diceoutcomes, horizon, .. } = self.params;
        let row = winscore + 1;
        let others: Vec<String> = (1..players).map(|k| format!("opponent_{k}")).collect();
        let others = others.iter().map(|name| (name.as_str(), row));
        let parts: Vec<(&str, u32)> = [("turn_total", row), ("my_score", row)]
            .into_iter()
            .chain(others)
            .chain([("turn", players), ("rolling", 1)])
            .collect();
        let names: Vec<String> =
            std::iter::once("turn_total".to_owned()).chain((0..players).map(|p| format!("score_{p}"))).collect();
        let lines: Vec<(&str, u32)> = names.iter().map(|name| (name.as_str(), 1)).collect();
        Facts {
            seats: (0..players).map(|p| format!("p{p}")).collect(),
            dynamics: Dynamics::Sequential,
            chance: ChanceMode::Explicit,
            information: Information::Perfect,
            utility: Utility::ZeroSum,
            rewards: RewardModel::Terminal,
            returns: [-1.0, 1.0],
            max_length: horizon,
            actions: 2,
            max_chance: diceoutcomes,
            legal: LegalForm::Ids,
            tensor: Some(("points", stretches(&parts, 1.0))),
            info: None,
            openspiel: Some(TensorSpec { s: vec![players + 1, row], ..stretches(&lines, 1.0) }),
            document_schemas: None,
        }
    }

    fn start(&self) -> State {
        State { scores: [0; MOST], total: 0, seat: 0, rolling: false, moves: 0 }
    }

    #[inline]
    fn to_move(&self, s: &State) -> ToMove {
        if s.moves >= self.params.horizon || self.winner(s).is_some() {
            ToMove::Over
        } else if s.rolling {
            ToMove::Chance
        } else {
            ToMove::Seat(usize::from(s.seat))
        }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        if self.to_move(s) == ToMove::Seat(seat) {
            if !self.must_stop(s) {
                out.put(ROLL);
            }
            out.put(STOP);
        }
    }

    #[inline]
    fn play_unchecked(&self, s: &mut State, a: Action) {
        if s.rolling {
            s.rolling = false;
            if a == 0 {
                self.pass_on(s);
            } else {
                let points = if self.params.piglet { 1 } else { a.min(self.params.diceoutcomes) as u16 + 1 };
                s.total = s.total.saturating_add(points);
            }
            return;
        }
        s.moves = s.moves.saturating_add(1);
        if a == ROLL {
            s.rolling = true;
        } else {
            let score = &mut s.scores[usize::from(s.seat)];
            *score = score.saturating_add(s.total);
            self.pass_on(s);
        }
    }

    fn returns(&self, s: &State, out: &mut [f64]) {
        match self.winner(s) {
            Some(p) => {
                out.fill(-1.0 / (self.n as f64 - 1.0));
                out[p] = 1.0;
            }
            None => out.fill(0.0),
        }
    }

    fn view(&self, s: &State, _who: Viewer) -> View {
        View {
            scores: s.scores[..self.n].to_vec(),
            turn_total: s.total,
            turn: s.seat,
            rolling: s.rolling,
            moves: s.moves,
            winner: self.winner(s).map(|p| p as u8),
        }
    }

    fn sample_world(&self, view: &View, _rng: &mut Stream) -> State {
        let mut s = self.start();
        s.scores[..self.n].iter_mut().zip(&view.scores).for_each(|(place, &score)| *place = score);
        s.total = view.turn_total;
        s.seat = view.turn.min(self.n as u8 - 1);
        (s.rolling, s.moves) = (view.rolling, view.moves);
        s
    }
}

impl GameMoves for Pig {
    fn chance(&self, _s: &State, out: &mut Outcomes) {
        let sides = self.params.diceoutcomes;
        if self.params.piglet {
            out.put(0, 1);
            out.put(1, u64::from(sides) - 1);
        } else {
            out.uniform(0..sides);
        }
    }

    /// Returns the stop, which banks the points of the turn.
    fn default_action(&self, _s: &State, _seat: Seat) -> Action {
        STOP
    }
}

impl GameText for Pig {
    fn outcome_text(&self, _s: &State, a: Action) -> String {
        format!("Roll {}", if self.params.piglet { a } else { a.saturating_add(1) })
    }

    /// Returns OpenSpiel's two text lines, followed by the goal or the result.
    fn text(&self, view: &View) -> String {
        let scores: Vec<String> = view.scores.iter().map(u16::to_string).collect();
        let rolling = if view.rolling { " (rolling)" } else { "" };
        let last = match view.winner {
            Some(p) => format!("p{p} has won."),
            None if view.moves >= self.params.horizon => format!("Drawn: nobody has {} points.", self.goal),
            None => format!("The first to bank {} points wins.", self.goal),
        };
        let (scores, total, turn) = (scores.join(" "), view.turn_total, view.turn);
        format!("Scores: {scores}, Turn total: {total}\nCurrent player: {turn}{rolling}\n{last}")
    }

    fn action_text(&self, _view: &View, _seat: Seat, a: Action) -> String {
        if a == ROLL { "roll" } else { "stop" }.to_owned()
    }

    /// Accepts `roll` and `stop`, `hold` and `bank`, first letters, and action ids.
    fn parse(&self, _view: &View, _seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        let a = match text.trim().to_ascii_lowercase().as_str() {
            "roll" | "r" | "0" => ROLL,
            "stop" | "s" | "hold" | "h" | "bank" | "b" | "1" => STOP,
            _ => return None,
        };
        legal.contains(&a).then_some(a)
    }

    fn why_not(&self, s: &State, _seat: Seat, _a: Action) -> String {
        let (score, total) = (s.scores[usize::from(s.seat)], s.total);
        format!("{score} banked points and {total} of this turn reach the goal of {}: stop to bank them", self.goal)
    }
}

impl GameObservation for Pig {
    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        let me = match who {
            Viewer::Seat(p) => p % self.n,
            Viewer::Public => 0,
        };
        out.fill(0);
        self.rows(s, me, out);
        let turn = (self.n + 1) * (usize::from(self.goal) + 1);
        out[turn + (self.n + usize::from(s.seat) - me) % self.n] = 1;
        out[turn + self.n] = u8::from(s.rolling);
    }

    fn openspiel_tensor(&self, s: &State, _seat: Seat, out: &mut [f32]) {
        out.fill(0.0);
        self.rows(s, 0, out);
    }
}

impl GameDisplay for Pig {
    fn picture(&self, view: &View, _from: Viewer) -> Picture {
        picture::picture(self, view)
    }

    /// Returns a click on the die for a roll, or on the bank for a stop.
    fn gesture(&self, _view: &View, _seat: Seat, a: Action) -> Option<Gesture> {
        Some(Gesture::of([if a == ROLL { "roll" } else { "stop" }]))
    }
}

impl GameSearch for Pig {
    /// Estimates the probability of winning as proportional to the nearness of each seat to the goal.
    fn evaluate(&self, s: &State, seat: Seat) -> Option<f64> {
        let seat = seat % self.n;
        if self.to_move(s) == ToMove::Over {
            let mut returns = [0.0; MOST];
            self.returns(s, &mut returns[..self.n]);
            return Some(returns[seat]);
        }
        let sum: f64 = (0..self.n).map(|p| self.nearness(s, p)).sum();
        let chance = self.nearness(s, seat) / sum;
        Some(chance - (1.0 - chance) / (self.n as f64 - 1.0))
    }
}

impl GameMarks for Pig {}

#[cfg(test)]
mod tests {
    use super::*;

    fn game(text: &str) -> ludex_env::GameRef {
        crate::load(text).unwrap()
    }

    /// Plays the letters of `moves` in order: `r` and `s` for roll and stop, a digit for the face of the die.
    fn played(text: &str, moves: &str) -> Box<dyn ludex_env::DynState> {
        let mut s = game(text).start();
        for c in moves.chars() {
            match (c, s.turn()) {
                ('r', ToMove::Seat(seat)) => s.play(seat, ROLL).unwrap(),
                ('s', ToMove::Seat(seat)) => s.play(seat, STOP).unwrap(),
                (c, _) => s.play_chance(c.to_digit(10).unwrap() - 1).unwrap(),
            }
        }
        s
    }

    fn scores(s: &dyn ludex_env::DynState) -> serde_json::Value {
        s.view(Viewer::Public).value()["scores"].clone()
    }

    #[test]
    fn rolling_one_loses_turn_total() {
        let s = played("pig", "r6r5sr3r1r2s");
        assert_eq!(scores(&*s), serde_json::json!([13, 0]));
        assert_eq!(s.turn(), ToMove::Seat(1));
    }

    #[test]
    fn winning_points_must_be_banked() {
        let mut s = played("pig(preset=gtbench)", "r6r6r6r2");
        let refused = s.play(0, ROLL).unwrap_err();
        assert!(refused.message.contains("20 of this turn"), "{refused}");
        s.play(0, STOP).unwrap();
        assert_eq!((s.turn(), s.returns()), (ToMove::Over, vec![1.0, -1.0]));
    }

    #[test]
    fn horizon_ends_game_in_draw_unless_last_stop_wins() {
        assert_eq!(played("pig(winscore=5,horizon=3)", "r4r4").turn(), ToMove::Seat(0));
        let s = played("pig(winscore=5,horizon=3)", "r2r2r");
        assert_eq!((s.turn(), s.returns()), (ToMove::Over, vec![0.0, 0.0]));
        assert!(s.view(Viewer::Public).text().ends_with(" has 5 points."));
        let s = played("pig(winscore=5,horizon=3)", "r4r4s");
        assert_eq!((s.turn(), s.returns()), (ToMove::Over, vec![1.0, -1.0]));
    }

    #[test]
    fn piglet_scores_one_point_per_roll() {
        let s = played("pig(piglet=true)", "r2r2s");
        assert_eq!(scores(&*s), serde_json::json!([2, 0]));
        let mut outcomes = Outcomes::new();
        played("pig(piglet=true)", "r").chance(&mut outcomes);
        assert_eq!(outcomes.items(), [(0, 1), (1, 5)]);
    }

    #[test]
    fn losing_seats_share_loss_equally() {
        let s = played("pig(players=3,winscore=5)", "r1r5s");
        assert_eq!(s.returns(), [-0.5, 1.0, -0.5]);
    }

    #[test]
    fn seat_nearer_to_goal_is_evaluated_higher() {
        let s = played("pig", "");
        assert_eq!([0, 1].map(|seat| s.evaluate(seat)), [Some(0.0); 2]);
        let s = played("pig", "r6r5");
        let guess = s.evaluate(0).unwrap();
        assert!(guess > 0.0 && guess < 1.0, "{guess}");
        assert!((guess + s.evaluate(1).unwrap()).abs() < 1e-12);
        let s = played("pig", "r6r5s");
        assert_eq!(s.evaluate(0), Some(guess), "what is at risk counts in full");
        let s = played("pig(players=3,winscore=5)", "r1r1r5s");
        assert_eq!([0, 1, 2].map(|seat| s.evaluate(seat)), [-0.5, -0.5, 1.0].map(Some));
        let s = played("pig(players=3)", "r1r6r6s");
        let sum: f64 = (0..3).map(|seat| s.evaluate(seat).unwrap()).sum();
        assert!(sum.abs() < 1e-12 && s.evaluate(1) > s.evaluate(0), "{sum}");
    }

    #[test]
    fn error_identifies_the_invalid_parameter() {
        for name in ["players=11", "winscore=0", "winscore=1001", "diceoutcomes=1", "horizon=0", "preset=hog"] {
            let error = crate::load(&format!("pig({name})")).err().unwrap();
            assert_eq!(error.name.as_deref(), name.split('=').next());
        }
    }
}
