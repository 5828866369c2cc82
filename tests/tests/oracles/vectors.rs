//! Games compared with OpenSpiel 2.0.2: recorded games played again step by step, move histories counted by depth, and
//! complete game trees.
//!
//! `data/openspiel/<name>.json.gz` holds trajectories of random play. Every field of a file is either compared or
//! listed in [`CASES`] with the reason for not comparing it; any other field fails the test. Rewards are compared at
//! the step that earns them: OpenSpiel repeats the last rewards at chance steps, where this project has zeros.

mod cases;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ludex_agents::solve::tree::{GameTree, NodeCounts};
use ludex_env::{DynState, GameRef, Move, Outcomes, ParsedMove, ToMove, Viewer, check};
use ludex_games::{load, load_with};
use ludex_protocol::spec::Dtype;
use ludex_tests::data::{document, histories};
use serde_json::{Map, Value};

use cases::CASES;

/// Function that builds one of OpenSpiel's strings from the views of a seat.
pub type Text = fn(&dyn DynState, usize) -> String;

/// Settings for the comparison with one file.
pub struct Case {
    name: &'static str,
    /// Text that must equal the seat's entry in `observation_strings`.
    observation: Option<Text>,
    /// Text that must equal the seat's entry in `information_state_strings`.
    information: Option<Text>,
    /// Text that must equal `state_string`, for any seat.
    state: Option<Text>,
    /// Fields that are not compared, with the reasons.
    not_compared: &'static [(&'static str, &'static str)],
}

/// Games that occur in the files of counts and trees, but are not in the registry yet.
const LATER: &[&str] =
    &["checkers", "dark_chess", "goofspiel", "hex", "matrix_pd", "matrix_rps", "phantom_ttt", "tiny_hanabi"];

/// Returns the game of a trajectory, and the number of the trajectory's steps that precede the start of that game.
/// OpenSpiel draws hands and pools in one step, from a table or with its own generator. If this project's game takes an
/// `instance`, the instance is parsed from the text of that step.
fn start_game(game: &GameRef, t: &Value) -> (GameRef, usize) {
    if game.spec().params_schema["properties"].get("instance").is_none() {
        return (game.clone(), 0);
    }
    let draw = &t["steps"][0];
    let text = draw["state_string_after"].as_str().or(draw["action_string"].as_str()).unwrap();
    let numbers = |line: &str| {
        let words = line.split_once(':').map_or("", |l| l.1).split(|c: char| !c.is_ascii_digit());
        words.filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ")
    };
    // OpenSpiel lists the limit of a negotiation first; our text has it last. Bargaining has no limit.
    let mut rows: Vec<String> = text.lines().take(4).map(numbers).collect();
    rows.rotate_left(1);
    rows.retain(|row| !row.is_empty());
    let instance = Map::from_iter([("instance".to_owned(), rows.join(";").into())]);
    (load_with(t["game_string"].as_str().unwrap(), &instance).unwrap(), 1)
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/openspiel")
}

fn read(name: &str) -> Value {
    document(&format!("openspiel/{name}"))
}

/// Replay of a trajectory: state, and number of comparisons per field.
struct Replay<'a> {
    case: &'a Case,
    s: Box<dyn DynState>,
    /// Position in the file, for failure messages.
    at: String,
    compared: BTreeMap<String, u32>,
    seen: BTreeSet<String>,
}

impl Replay<'_> {
    fn same<T: PartialEq + std::fmt::Debug>(&mut self, field: &str, ours: T, theirs: T) {
        assert_eq!(ours, theirs, "{}: {}: {field} (ours first)", self.case.name, self.at);
        *self.compared.entry(field.to_owned()).or_default() += 1;
    }

    fn note(&mut self, fields: &Value) {
        let named = fields.as_object().into_iter().flatten().map(|f| f.0.clone());
        self.seen.extend(named.filter(|f| f != "before" && f != "player"));
    }

    /// Compares the strings and arrays of a position.
    fn position(&mut self, before: &Value) {
        if before.is_null() {
            return;
        }
        self.note(before);
        let by_seat = |field: &str| before[field].as_array().cloned().unwrap_or_default();
        if let (Some(state), Some(theirs)) = (self.case.state, before["state_string"].as_str()) {
            let ours = state(&*self.s, 0);
            self.same("state_string", ours.as_str(), theirs);
        }
        let texts =
            [("observation_strings", self.case.observation), ("information_state_strings", self.case.information)];
        for (field, made) in texts {
            for (seat, theirs) in by_seat(field).iter().enumerate() {
                if let Some(made) = made {
                    let ours = made(&*self.s, seat);
                    self.same(field, Some(ours.as_str()), theirs.as_str());
                }
            }
        }
        for (seat, theirs) in by_seat("observation_tensors").iter().enumerate() {
            let mut ours = vec![0.0; self.s.openspiel_spec().map_or(0, |t| t.len())];
            self.s.openspiel_tensor(seat, &mut ours);
            self.array("observation_tensors", &ours, theirs);
        }
        let info = self.s.spec().views.info.as_ref().and_then(|t| t.values().next()).cloned();
        for (seat, theirs) in by_seat("information_state_tensors").iter().enumerate() {
            let mut bytes = vec![0; info.as_ref().map_or(0, |t| t.bytes())];
            self.s.info(Viewer::Seat(seat), &mut bytes);
            let ours: Vec<f32> = match info.as_ref().map(|t| t.d) {
                Some(Dtype::I4) => bytes.as_chunks().0.iter().map(|b| i32::from_le_bytes(*b) as f32).collect(),
                _ => bytes.into_iter().map(f32::from).collect(),
            };
            self.array("information_state_tensors", &ours, theirs);
        }
    }

    fn left_out(&self, field: &str) -> bool {
        self.case.not_compared.iter().any(|n| n.0 == field)
    }

    fn array(&mut self, field: &str, ours: &[f32], theirs: &Value) {
        if self.left_out(field) {
            return;
        }
        let wanted = dense(theirs);
        self.same(field, ours.len(), wanted.len());
        let off = ours.iter().zip(&wanted).position(|(a, b)| (a - b).abs() > 1e-6);
        self.same(field, off, None);
    }

    fn name_of(&mut self, field: &str, seat: usize, a: u32, theirs: &Value) {
        if self.left_out(field) {
            return;
        }
        let ours = self.s.view(Viewer::Seat(seat)).action_text(seat, a);
        self.same(field, Some(ours.as_str()), theirs.as_str().map(bare));
        let read = self.s.parse_move(seat, &Move::Text(ours));
        self.same(field, read, Ok(ParsedMove::Action(a)));
    }

    fn legal(&mut self, field: &str, seat: usize, theirs: Vec<u32>) {
        let ours = self.s.legal_list(seat);
        self.same(field, ours, theirs);
    }

    /// Compares one step: legal actions, their names, rewards.
    fn step(&mut self, step: &Value) {
        self.position(&step["before"]);
        self.note(step);
        let before = self.s.returns();
        let player = step["player"].as_i64().unwrap();
        assert_eq!(i64::from(self.s.turn().code()), player, "{}: {}: who moves", self.case.name, self.at);
        let id = |v: &Value| u32::try_from(v.as_u64().unwrap()).unwrap();
        match player {
            -1 => {
                let a = id(&step["action"]);
                self.chance(step);
                let ours = self.s.outcome_text(a);
                self.same("action_string", Some(ours.as_str()), step["action_string"].as_str().map(bare));
                self.s.play_chance(a).unwrap();
            }
            -2 => {
                let joint: Vec<u32> = step["joint_action"].as_array().unwrap().iter().map(id).collect();
                for (seat, &a) in joint.iter().enumerate() {
                    self.legal("joint_legal_actions", seat, ids(&step["joint_legal_actions"][seat]));
                    self.name_of("joint_action_strings", seat, a, &step["joint_action_strings"][seat]);
                }
                let joint: Vec<Option<u32>> = joint.into_iter().map(Some).collect();
                self.s.play_together(&joint).unwrap();
                *self.compared.entry("joint_action".into()).or_default() += 1;
            }
            seat => {
                let (seat, a) = (seat as usize, id(&step["action"]));
                match step["legal_action_ranges"].as_array() {
                    Some(ranges) => {
                        let all = ranges.iter().flat_map(|r| id(&r[0])..=id(&r[1])).collect();
                        self.legal("legal_action_ranges", seat, all);
                    }
                    None => self.legal("legal_actions", seat, ids(&step["legal_actions"])),
                }
                self.name_of("action_string", seat, a, &step["action_string"]);
                self.s.play(seat, a).unwrap();
            }
        }
        if player != -2 {
            *self.compared.entry("action".into()).or_default() += 1;
        }
        if let Some(theirs) = step["rewards_after"].as_array() {
            let ours: Vec<f64> = self.s.returns().iter().zip(&before).map(|(now, before)| now - before).collect();
            let earned: Vec<f64> =
                theirs.iter().map(|r| if player == -1 { 0.0 } else { r.as_f64().unwrap() }).collect();
            self.same("rewards_after", ours, earned);
        }
    }

    fn chance(&mut self, step: &Value) {
        let mut outcomes = Outcomes::new();
        self.s.chance(&mut outcomes);
        let ours: Vec<(u32, f64)> = outcomes.probabilities().collect();
        if let Some(list) = step["chance_outcomes"].as_array() {
            let theirs: Vec<(u32, f64)> =
                list.iter().map(|o| (o[0].as_u64().unwrap() as u32, o[1].as_f64().unwrap())).collect();
            self.same("chance_outcomes", ours.len(), theirs.len());
            let near = |(a, b): (&(u32, f64), &(u32, f64))| a.0 == b.0 && (a.1 - b.1).abs() < 1e-12;
            let all = ours.iter().zip(&theirs).all(near);
            assert!(all, "{}: {}: chance {ours:?}, not {theirs:?}", self.case.name, self.at);
        } else {
            self.same("num_chance_outcomes", Some(ours.len() as u64), step["num_chance_outcomes"].as_u64());
            let uniform = ours.iter().all(|o| (o.1 - ours[0].1).abs() < 1e-12);
            self.same("chance_uniform", Some(uniform), step["chance_uniform"].as_bool());
        }
    }
}

/// Returns the name of an action without the player. In hold'em, for example, names have the form `player=1 move=Call`.
fn bare(name: &str) -> &str {
    name.split_once(" move=").map_or(name, |(_, name)| name)
}

fn ids(list: &Value) -> Vec<u32> {
    list.as_array().unwrap().iter().map(|a| a.as_u64().unwrap() as u32).collect()
}

/// Returns an array that may be stored in sparse form, that is, as its nonzero cells.
fn dense(v: &Value) -> Vec<f32> {
    match v.as_array() {
        Some(list) => list.iter().map(|v| v.as_f64().unwrap() as f32).collect(),
        None => {
            let mut out = vec![0.0; v["size"].as_u64().unwrap() as usize];
            for cell in v["nonzero"].as_array().unwrap() {
                out[cell[0].as_u64().unwrap() as usize] = cell[1].as_f64().unwrap() as f32;
            }
            out
        }
    }
}

fn replay(case: &Case) {
    let data = read(case.name);
    let mut compared = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for t in data["trajectories"].as_array().unwrap() {
        // Game string of OpenSpiel, which our registry must accept.
        let game = load(t["game_string"].as_str().unwrap()).unwrap();
        meta(case, &game, &data["meta"], &mut seen);
        let at = format!("seed {}", t["seed"]);
        let (game, skipped) = start_game(&game, t);
        let mut r = Replay { case, s: game.start(), at: at.clone(), compared, seen };
        let steps = t["steps"].as_array().unwrap();
        steps[..skipped].iter().for_each(|step| r.note(step));
        for (k, step) in steps.iter().enumerate().skip(skipped) {
            r.at = format!("{at}, step {k}");
            r.step(step);
        }
        r.at = format!("{at}, at the end");
        r.position(&t["terminal"]);
        let (turn, returns) = (r.s.turn(), r.s.returns());
        r.same("terminal", turn, ToMove::Over);
        let theirs: Vec<f64> = t["returns"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        r.same("returns", returns, theirs);
        if let Some(state) = case.state {
            let ours = state(&*r.s, 0);
            r.same("final_state_string", Some(ours.as_str()), t["final_state_string"].as_str());
        }
        (compared, seen) = (r.compared, r.seen);
    }
    for field in &seen {
        let reason = case.not_compared.iter().find(|n| n.0 == field);
        let count = compared.get(field).copied().unwrap_or(0);
        assert_eq!(count == 0, reason.is_some(), "{}: {field} was compared {count} times: {reason:?}", case.name);
    }
    for (field, _) in case.not_compared {
        assert!(seen.contains(*field), "{}: {field} does not occur", case.name);
    }
}

/// Compares the metadata of the game: each entry must be equal, or be listed as different.
fn meta(case: &Case, game: &GameRef, meta: &Value, seen: &mut BTreeSet<String>) {
    let spec = game.spec();
    let mut agree = |field: &str, same: bool, ours: &dyn std::fmt::Debug| {
        let excused = case.not_compared.iter().any(|n| n.0 == field);
        seen.extend(excused.then(|| field.to_owned()));
        assert_eq!(same, !excused, "{}: {field} is {ours:?} here, {} there", case.name, meta[field]);
    };
    let numbers = [
        ("num_players", f64::from(spec.players)),
        ("num_distinct_actions", f64::from(spec.actions)),
        ("max_chance_outcomes", f64::from(spec.max_chance)),
        ("max_game_length", f64::from(spec.max_length)),
        ("min_utility", spec.min_return),
        ("max_utility", spec.max_return),
    ];
    for (field, ours) in numbers {
        agree(field, Some(ours) == meta[field].as_f64(), &ours);
    }
    let words = |v: Value| v.as_str().unwrap_or_default().to_uppercase();
    let kinds = [
        ("dynamics", serde_json::to_value(spec.dynamics)),
        ("utility", serde_json::to_value(spec.utility)),
        ("information", serde_json::to_value(spec.information)),
        ("chance_mode", serde_json::to_value(spec.chance)),
    ];
    for (field, ours) in kinds {
        let ours = words(ours.unwrap());
        agree(field, words(meta[field].clone()).starts_with(&ours), &ours);
    }
}

#[test]
fn recorded_games_equal_openspiel() {
    CASES.iter().for_each(replay);
}

#[test]
fn every_recorded_game_file_is_compared() {
    let files = std::fs::read_dir(folder()).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap());
    let files: BTreeSet<String> = files.map(|f| f.trim_end_matches(".json.gz").to_owned()).collect();
    let lines = CASES.iter().map(|c| c.name).chain(["perft", "tree_stats"]).map(str::to_owned).collect();
    assert_eq!(files, lines);
}

/// Loads the game of a string. `None` for a game in [`LATER`], which the registry must not contain.
fn supported_game(string: &str) -> Option<GameRef> {
    let name = string.split('(').next().unwrap_or_default();
    match load(string) {
        Ok(game) => {
            assert!(!LATER.contains(&name), "{name} is in the registry: remove it from LATER");
            Some(game)
        }
        Err(e) => {
            assert!(e.unknown_game && LATER.contains(&name), "{string}: {e}");
            None
        }
    }
}

#[test]
fn history_counts_equal_openspiel() {
    let most = check::scaled(1_000_000);
    for (string, counts) in read("perft")["perft"].as_object().unwrap() {
        let Some(game) = supported_game(string) else { continue };
        for (k, count) in counts.as_array().unwrap().iter().enumerate() {
            let count = count.as_u64().unwrap();
            if count <= most {
                assert_eq!(histories(&*game.start(), k + 1), count, "{string} at depth {}", k + 1);
            }
        }
    }
}

#[test]
fn game_trees_equal_openspiel() {
    for (string, stats) in read("tree_stats").as_object().unwrap() {
        let Some(game) = supported_game(string) else { continue };
        let tree = GameTree::build(&game, 1 << 20).unwrap();
        let number = |field: &str| stats[field].as_u64().unwrap_or(0) as usize;
        let [chance, decisions, together, ends] =
            ["chance_nodes", "decision_nodes", "simultaneous_nodes", "terminal_histories"].map(number);
        assert_eq!(tree.counts(), NodeCounts { chance, decisions, together, ends }, "{string}");
        let near = |ours: f64, theirs: &Value| (ours - theirs.as_f64().unwrap()).abs() < 1e-9;
        let values = tree.values(&tree.uniform());
        let all = values.iter().zip(stats["uniform_policy_value"].as_array().unwrap()).all(|(v, t)| near(*v, t));
        assert!(all, "{string}: uniform play is worth {values:?}");
        if let Some(theirs) = stats.get("infosets_per_player") {
            let sets = |seat| tree.sets().iter().filter(|set| set.seat == seat).count() as u32;
            let ours: Vec<u32> = (0..tree.players()).map(sets).collect();
            assert_eq!(ours, ids(theirs), "{string}: information sets");
        }
        if let Some(theirs) = stats.get("uniform_nash_conv") {
            let ours = tree.nash_conv(&tree.uniform());
            assert!(near(ours, theirs), "{string}: uniform play has a nash_conv of {ours}, not {theirs}");
        }
    }
}
