//! Games against OpenSpiel 2.0.2: recorded games replayed step by step, move histories counted by depth, and whole trees.
//!
//! `data/openspiel/<name>.json.gz` holds trajectories of random play. Every field of a file is either compared or named in
//! [`CASES`] with the reason why it is not; a field that is neither fails the test. Rewards are compared where they are
//! earned: OpenSpiel repeats the last ones at chance steps, ours are zero there.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use ludex_env::erased::legal_list;
use ludex_env::{DynState, GameRef, Given, Heard, Outcomes, Turn, Viewer, check, load, load_with};
use serde_json::{Map, Value};

/// A string of OpenSpiel's made from what our views show.
type Text = fn(&dyn DynState, usize) -> String;

/// What a file can be compared with.
struct Case {
    name: &'static str,
    /// `observation_strings`, by seat.
    observation: Option<Text>,
    /// `information_state_strings`, by seat.
    information: Option<Text>,
    /// `state_string`, for any seat.
    state: Option<Text>,
    /// Fields that are not compared, and why.
    not_compared: &'static [(&'static str, &'static str)],
}

const HISTORY: (&str, &str) = ("information_state_strings", "the list of ids that the harness itself plays");

const CASES: &[Case] = &[
    Case {
        name: "tic_tac_toe",
        observation: Some(text),
        information: None,
        state: Some(text),
        not_compared: &[HISTORY],
    },
    Case {
        name: "connect_four",
        observation: Some(text),
        information: None,
        state: Some(text),
        not_compared: &[HISTORY],
    },
    Case { name: "othello", observation: Some(text), information: None, state: Some(text), not_compared: &[HISTORY] },
    Case { name: "gomoku_15", observation: Some(text), information: None, state: Some(text), not_compared: &[HISTORY] },
    Case {
        name: "mnk_15_15_5",
        observation: Some(mnk_board),
        information: None,
        state: Some(mnk_board),
        not_compared: &[
            HISTORY,
            ("action_string", "x(7,11) there; ours is 7,11, as in gomoku"),
            ("observation_tensors", "empty, o, x there; ours is gomoku's array"),
        ],
    },
    Case { name: "breakthrough_3x8", observation: Some(text), information: None, state: Some(text), not_compared: &[] },
    Case { name: "breakthrough_8x8", observation: Some(text), information: None, state: Some(text), not_compared: &[] },
    Case {
        name: "nim_1357_misere",
        observation: Some(text),
        information: None,
        state: Some(text),
        not_compared: &[HISTORY],
    },
    Case {
        name: "nim_1357_normal",
        observation: Some(text),
        information: None,
        state: Some(text),
        not_compared: &[HISTORY],
    },
    Case { name: "chess", observation: Some(fen), information: None, state: Some(fen), not_compared: &[HISTORY] },
    Case {
        name: "kuhn_poker",
        observation: Some(kuhn_observation),
        information: Some(kuhn_information),
        state: Some(kuhn_state),
        not_compared: &[],
    },
    Case {
        name: "kuhn_poker_3p",
        observation: Some(kuhn_observation),
        information: Some(kuhn_information),
        state: Some(kuhn_state),
        not_compared: &[],
    },
    Case { name: "ipd_python", observation: None, information: None, state: Some(ipd_state), not_compared: &[] },
    Case {
        name: "ipd_repeated_10",
        observation: Some(ipd_observation),
        information: None,
        state: None,
        not_compared: &[IPD_TRANSCRIPT],
    },
    Case {
        name: "ipd_repeated_10_fullrecall",
        observation: Some(ipd_observation),
        information: None,
        state: None,
        not_compared: &[IPD_TRANSCRIPT],
    },
    go("go_3x3_superko"),
    go("go_5x5"),
    go("go_5x5_komi3_draws"),
    go("go_9x9"),
    go("go_19x19"),
    go("go_19x19_handicap3"),
    hanabi("hanabi_2p"),
    hanabi("hanabi_4p"),
    hanabi("hanabi_small"),
    hanabi("hanabi_3p_minimal"),
    Case {
        not_compared: &[("information", "imperfect there; nothing is hidden from a seer")],
        ..hanabi("hanabi_seer")
    },
    negotiation("negotiation"),
    negotiation("negotiation_noutter"),
    negotiation("negotiation_2_items"),
    bargaining("bargaining"),
    bargaining("bargaining_probend"),
    bargaining("bargaining_5_turns"),
];

const fn hanabi(name: &'static str) -> Case {
    let (observation, state): (Text, Text) = (hanabi_observation, hanabi_state);
    Case { name, observation: Some(observation), information: None, state: Some(state), not_compared: &[] }
}

const fn negotiation(name: &'static str) -> Case {
    Case {
        name,
        observation: Some(negotiation_observation),
        information: None,
        state: Some(negotiation_state),
        not_compared: &[
            ("chance_mode", "the draw cannot be listed there; ours is explicit"),
            ("max_chance_outcomes", "one there, which stands for the whole draw"),
            ("min_utility", "below 0 there; no share is worth less than nothing"),
            ("chance_outcomes", INSTANCE),
            ("state_string_after", INSTANCE),
        ],
    }
}

const fn bargaining(name: &'static str) -> Case {
    Case {
        name,
        observation: Some(bargaining_observation),
        information: Some(bargaining_information),
        state: Some(bargaining_state),
        not_compared: &[("num_chance_outcomes", INSTANCE), ("chance_uniform", INSTANCE)],
    }
}

const INSTANCE: &str = "the draw of the instance, which is a parameter in the replay";

const fn go(name: &'static str) -> Case {
    Case { name, observation: Some(go_state), information: None, state: Some(go_state), not_compared: &[HISTORY] }
}

const IPD_TRANSCRIPT: (&str, &str) =
    ("state_string", "a transcript of moves and payoffs; moves, rewards and returns are compared one by one");

/// Games of the counts and trees that are not in the registry yet.
const LATER: &[&str] = &[
    "checkers",
    "dark_chess",
    "first_sealed_auction",
    "goofspiel",
    "hex",
    "leduc_poker",
    "liars_dice",
    "matrix_pd",
    "matrix_rps",
    "phantom_ttt",
    "pig",
    "tiny_hanabi",
];

fn view(s: &dyn DynState, seat: usize) -> Value {
    s.view(Viewer::Seat(seat)).value()
}

fn text(s: &dyn DynState, seat: usize) -> String {
    s.view(Viewer::Seat(seat)).text()
}

/// The board as OpenSpiel's mnk draws it.
fn mnk_board(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    let rows: Vec<&str> = v["board"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    rows.join("\n").replace('b', "x").replace('w', "o")
}

fn fen(s: &dyn DynState, seat: usize) -> String {
    view(s, seat)["fen"].as_str().unwrap_or_default().to_owned()
}

/// Our text up to the letters below the board; a line on the ko or the end may follow.
fn go_state(s: &dyn DynState, seat: usize) -> String {
    let text = text(s, seat);
    let rest = text.match_indices("\n\n").nth(1);
    rest.map_or(text.as_str(), |(at, _)| &text[..=at]).to_owned()
}

fn card(v: &Value) -> Option<String> {
    v["card"].as_u64().map(|c| c.to_string())
}

fn kuhn_observation(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    let chips: String = v["chips"].as_array().into_iter().flatten().map(Value::to_string).collect();
    card(&v).map(|card| card + &chips).unwrap_or_default()
}

fn kuhn_information(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    card(&v).unwrap_or_default() + v["bets"].as_str().unwrap_or_default()
}

fn kuhn_state(s: &dyn DynState, _seat: usize) -> String {
    let mut parts: Vec<String> = (0..s.spec().players as usize).filter_map(|p| card(&view(s, p))).collect();
    parts.extend(view(s, 0)["bets"].as_str().filter(|b| !b.is_empty()).map(str::to_owned));
    parts.join(" ")
}

fn ipd_state(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    let moves = |p: usize| v["moves"][p].as_str().unwrap_or_default().to_owned();
    format!("p0:{} p1:{}", moves(0), moves(1))
}

fn ipd_observation(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    let letters = |p: usize| v["moves"][p].as_str().unwrap_or_default().chars().rev().collect::<Vec<_>>();
    let recall = s.spec().params["recall"].as_u64().unwrap_or(0) as usize;
    let name = |c: char| if c == 'C' { "Cooperate " } else { "Defect " };
    letters(0).into_iter().zip(letters(1)).take(recall).map(|(a, b)| [name(a), name(b)].concat()).collect()
}

/// A position as the Hanabi Learning Environment writes it: hands from `seat` on, the first one hidden or not.
fn hanabi_text(s: &dyn DynState, seat: usize, hidden: bool) -> String {
    let v = view(s, seat);
    let all = |v: &Value| v.as_array().cloned().unwrap_or_default();
    let word = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
    let n = s.spec().players as usize;
    let minimal = hidden && s.spec().params["observation_type"] == "minimal";
    // Somebody is to move there after the end as well, unless a card had to be dealt.
    let after_end = (s.turn() == Turn::Over && v["deck"] == 0).then(|| all(&v["moves"]).len() % n);
    let next = v["to_move"].as_u64().map(|p| p as usize).or(after_end);
    let fireworks: String = "RYGWB".chars().zip(all(&v["fireworks"])).map(|(c, h)| format!("{c}{h} ")).collect();
    let mut lines = vec![
        format!("Life tokens: {}", v["lives"]),
        format!("Info tokens: {}", v["information"]),
        format!("Fireworks: {fireworks}"),
        "Hands:".to_owned(),
    ];
    for k in 0..n {
        let p = (seat + k) % n;
        lines.extend((k > 0).then(|| "-----".to_owned()));
        lines.extend((next == Some(p)).then(|| "Cur player".to_owned()));
        for card in all(&view(s, (p + 1) % n)["hands"][p]) {
            let field = |name: &str| card.get(name).map_or("X".to_owned(), word);
            let seer = s.spec().params["observation_type"] == "seer";
            let shown = if hidden && k == 0 && !seer { "XX".to_owned() } else { field("card") };
            let told = format!("{}{}|{}{}", field("color"), field("rank"), field("colors"), field("ranks"));
            let told = if minimal { "XX|RYGWB12345".to_owned() } else { told };
            lines.push(format!("{shown} || {told}"));
        }
    }
    let discards: String = all(&v["discards"]).iter().map(|card| format!(" {}", word(card))).collect();
    lines.extend([format!("Deck size: {}", v["deck"]), format!("Discards:{discards}")]);
    lines.join("\n")
}

fn hanabi_observation(s: &dyn DynState, seat: usize) -> String {
    hanabi_text(s, seat, true)
}

fn hanabi_state(s: &dyn DynState, _seat: usize) -> String {
    hanabi_text(s, 0, false)
}

/// Numbers as OpenSpiel lists them, with a separator.
fn numbers(v: &Value, separator: &str) -> String {
    v.as_array().into_iter().flatten().map(Value::to_string).collect::<Vec<_>>().join(separator)
}

fn negotiation_head(s: &dyn DynState, seats: &[usize], player: i64) -> String {
    let v = view(s, 0);
    let count = |field: &str| v[field].as_array().map_or(0, Vec::len);
    let speaks = s.spec().params["enable_utterances"] == true;
    let utters = speaks && (count("proposals") > count("utterances") || v["agreed"] == true);
    let mut text = format!("Max steps: {}\nItem pool: {}\n", v["limit"], numbers(&v["pool"], " "));
    for &p in seats {
        text += &format!("Agent {p} util vec: {}\n", numbers(&view(s, p)["values"], " "));
    }
    text + &format!("Current player: {player}\nTurn Type: {}\n", if utters { "Utterance" } else { "Proposal" })
}

fn negotiation_observation(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    let mut text = negotiation_head(s, &[seat], s.turn().code().into());
    for (name, field) in [("proposal", "proposals"), ("utterance", "utterances")] {
        let last = v[field].as_array().and_then(|list| list.last());
        text += &last.map(|last| format!("Most recent {name}: [{}]\n", numbers(last, ", "))).unwrap_or_default();
    }
    text
}

fn negotiation_state(s: &dyn DynState, _seat: usize) -> String {
    let v = view(s, 0);
    let list = |field: &str| v[field].as_array().cloned().unwrap_or_default();
    let (proposals, utterances, agreed) = (list("proposals"), list("utterances"), v["agreed"] == true);
    // After the end: who would be next; an agreement counts as a move where nothing follows it.
    let silent = s.spec().params["enable_utterances"] == false;
    let next = (proposals.len() + usize::from(agreed && silent)) % 2;
    let mut text = negotiation_head(s, &[0, 1], v["to_move"].as_i64().unwrap_or(next as i64));
    for (k, proposal) in proposals.iter().enumerate() {
        text += &format!("Player {} proposes: [{}]", k % 2, numbers(proposal, ", "));
        text += &utterances.get(k).map(|u| format!(" utters: [{}]", numbers(u, ", "))).unwrap_or_default();
        text += "\n";
    }
    text + if agreed { "Agreement reached!\n" } else { "" }
}

fn bargaining_items(v: &Value) -> String {
    format!("Book: {}, Hat: {}, Basketball: {}", v[0], v[1], v[2])
}

/// Offers from the one with number `from` on, after what there is to say before them.
fn bargaining_text(s: &dyn DynState, head: String, number: bool, from: usize) -> String {
    if s.turn() == Turn::Chance {
        return "Initial chance node".to_owned();
    }
    let v = view(s, 0);
    let offers = v["offers"].as_array().cloned().unwrap_or_default();
    let mut text = head + &format!("Agreement reached? {}\n", u8::from(v["phase"] == "agreed"));
    if number {
        text += &format!("Number of offers: {}\n", offers.len());
    }
    for (k, offer) in offers.iter().enumerate().skip(from) {
        text += &format!("P{} offers: Offer: {}\n", k % 2, bargaining_items(offer));
    }
    text
}

fn bargaining_own(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    format!("Pool: {}\nMy values: {}\n", bargaining_items(&v["pool"]), bargaining_items(&v["values"]))
}

fn bargaining_observation(s: &dyn DynState, seat: usize) -> String {
    let made = view(s, seat)["offers"].as_array().map_or(0, Vec::len);
    bargaining_text(s, bargaining_own(s, seat), true, made.saturating_sub(1))
}

fn bargaining_information(s: &dyn DynState, seat: usize) -> String {
    bargaining_text(s, bargaining_own(s, seat), false, 0)
}

fn bargaining_state(s: &dyn DynState, _seat: usize) -> String {
    let values = |p: usize| format!("P{p} vals: {}\n", bargaining_items(&view(s, p)["values"]));
    let pool = format!("Pool:    {}\n", bargaining_items(&view(s, 0)["pool"]));
    bargaining_text(s, pool + &values(0) + &values(1), false, 0)
}

/// The game of a trajectory, and how many of its steps it has behind it. What is shared out is drawn there in one step,
/// from a table or a generator of its own: where the game takes an `instance`, it is made of the text of that step.
fn begun(game: &GameRef, t: &Value) -> (GameRef, usize) {
    if game.spec().params_schema["properties"].get("instance").is_none() {
        return (game.clone(), 0);
    }
    let draw = &t["steps"][0];
    let text = draw["state_string_after"].as_str().or(draw["action_string"].as_str()).unwrap();
    let numbers = |line: &str| {
        let words = line.split_once(':').map_or("", |l| l.1).split(|c: char| !c.is_ascii_digit());
        words.filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ")
    };
    // The limit of a negotiation stands first there and last here; bargaining has none.
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
    let file = std::fs::File::open(folder().join(format!("{name}.json.gz"))).unwrap();
    serde_json::from_reader(flate2::read::GzDecoder::new(file)).unwrap()
}

/// A replay: the state, and how often every field was compared.
struct Replay<'a> {
    case: &'a Case,
    s: Box<dyn DynState>,
    /// Where we are, for messages.
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

    /// Strings and arrays of a position.
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
        let info = self.s.spec().views.info.as_ref().and_then(|t| t.values().next()).map(|t| t.bytes());
        for (seat, theirs) in by_seat("information_state_tensors").iter().enumerate() {
            let mut ours = vec![0; info.unwrap_or(0)];
            self.s.info(Viewer::Seat(seat), &mut ours);
            let ours: Vec<f32> = ours.into_iter().map(f32::from).collect();
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
        self.same(field, Some(ours.as_str()), theirs.as_str());
        let read = self.s.read(seat, &Given::Text(ours));
        self.same(field, read, Ok(Heard::Action(a)));
    }

    fn legal(&mut self, field: &str, seat: usize, theirs: Vec<u32>) {
        let ours = legal_list(&*self.s, seat);
        self.same(field, ours, theirs);
    }

    /// One step: what may happen, what it is called, what it pays.
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
                self.same("action_string", Some(ours.as_str()), step["action_string"].as_str());
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

fn ids(list: &Value) -> Vec<u32> {
    list.as_array().unwrap().iter().map(|a| a.as_u64().unwrap() as u32).collect()
}

/// An array that may be written by its cells that are not zero.
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
        // The game under OpenSpiel's own name, which ours must know.
        let game = load(t["game_string"].as_str().unwrap()).unwrap();
        meta(case, &game, &data["meta"], &mut seen);
        let at = format!("seed {}", t["seed"]);
        let (game, skipped) = begun(&game, t);
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
        r.same("terminal", turn, Turn::Over);
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

/// The facts of the game.
fn meta(case: &Case, game: &GameRef, meta: &Value, seen: &mut BTreeSet<String>) {
    let spec = game.spec();
    let mut left_out = |field: &str| {
        let named = case.not_compared.iter().any(|n| n.0 == field);
        seen.extend(named.then(|| field.to_owned()));
        named
    };
    let ours = [
        ("num_players", f64::from(spec.players)),
        ("num_distinct_actions", f64::from(spec.actions)),
        ("max_chance_outcomes", f64::from(spec.max_chance)),
        ("max_game_length", f64::from(spec.max_length)),
        ("min_utility", spec.min_return),
        ("max_utility", spec.max_return),
    ];
    for (field, ours) in ours.into_iter().filter(|f| !left_out(f.0)) {
        assert_eq!(Some(ours), meta[field].as_f64(), "{}: {field} (ours first)", case.name);
    }
    let words = |v: Value| v.as_str().unwrap_or_default().to_uppercase();
    let kinds = [
        ("dynamics", serde_json::to_value(spec.dynamics)),
        ("utility", serde_json::to_value(spec.utility)),
        ("information", serde_json::to_value(spec.information)),
        ("chance_mode", serde_json::to_value(spec.chance)),
    ];
    for (field, ours) in kinds.into_iter().filter(|f| !left_out(f.0)) {
        let (ours, theirs) = (words(ours.unwrap()), words(meta[field].clone()));
        assert!(theirs.starts_with(&ours), "{}: {field} is {ours}, not {theirs}", case.name);
    }
}

#[test]
fn recorded_games() {
    CASES.iter().for_each(replay);
}

#[test]
fn every_file_has_its_line() {
    let files = std::fs::read_dir(folder()).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap());
    let files: BTreeSet<String> = files.map(|f| f.trim_end_matches(".json.gz").to_owned()).collect();
    let lines = CASES.iter().map(|c| c.name).chain(["perft", "tree_stats"]).map(str::to_owned).collect();
    assert_eq!(files, lines);
}

/// The game of a string, or `None` if it is named in [`LATER`] (and then it must be unknown).
fn known(string: &str) -> Option<GameRef> {
    let name = string.split('(').next().unwrap_or_default();
    match load(string) {
        Ok(game) => {
            assert!(!LATER.contains(&name), "{name} is there: take it off the list");
            Some(game)
        }
        Err(e) => {
            assert!(e.unknown_game && LATER.contains(&name), "{string}: {e}");
            None
        }
    }
}

/// How many histories of `depth` moves there are.
fn perft(s: &dyn DynState, depth: usize) -> u64 {
    let Turn::Seat(seat) = s.turn() else { return 0 };
    let legal = legal_list(s, seat);
    if depth == 1 {
        return legal.len() as u64;
    }
    let mut next = s.boxed();
    legal.into_iter().fold(0, |sum, a| {
        next.copy_from(s);
        next.play_unchecked(a);
        sum + perft(&*next, depth - 1)
    })
}

#[test]
fn histories_by_depth() {
    let most = check::scaled(1_000_000);
    for (string, counts) in read("perft")["perft"].as_object().unwrap() {
        let Some(game) = known(string) else { continue };
        for (k, count) in counts.as_array().unwrap().iter().enumerate() {
            let count = count.as_u64().unwrap();
            if count <= most {
                assert_eq!(perft(&*game.start(), k + 1), count, "{string} at depth {}", k + 1);
            }
        }
    }
}

/// A whole tree: nodes by kind, information sets by seat, and the value of uniform play.
#[derive(Default)]
struct Tree {
    chance: u64,
    decisions: u64,
    together: u64,
    ends: u64,
    sets: Option<Vec<HashSet<String>>>,
}

impl Tree {
    fn walk(&mut self, s: &dyn DynState) -> Vec<f64> {
        let mut sum = vec![0.0; s.spec().players as usize];
        let mut add = |values: Vec<f64>, p: f64| sum.iter_mut().zip(values).for_each(|(sum, v)| *sum += p * v);
        let mut next = s.boxed();
        match s.turn() {
            Turn::Over => {
                self.ends += 1;
                add(s.returns(), 1.0);
            }
            Turn::Chance => {
                self.chance += 1;
                let mut outcomes = Outcomes::new();
                s.chance(&mut outcomes);
                for (a, p) in outcomes.probabilities() {
                    next.copy_from(s);
                    next.play_chance(a).unwrap();
                    add(self.walk(&*next), p);
                }
            }
            Turn::Seat(seat) => {
                self.decisions += 1;
                if let Some(sets) = &mut self.sets {
                    sets[seat].insert(view(s, seat).to_string());
                }
                let legal = legal_list(s, seat);
                for &a in &legal {
                    next.copy_from(s);
                    next.play_unchecked(a);
                    add(self.walk(&*next), 1.0 / legal.len() as f64);
                }
            }
            Turn::Together(_) => {
                self.together += 1;
                let (first, second) = (legal_list(s, 0), legal_list(s, 1));
                let p = 1.0 / (first.len() * second.len()) as f64;
                for (&a, &b) in first.iter().flat_map(|a| second.iter().map(move |b| (a, b))) {
                    next.copy_from(s);
                    next.play_together_unchecked(&[a, b]);
                    add(self.walk(&*next), p);
                }
            }
        }
        sum
    }
}

#[test]
fn whole_trees() {
    for (string, stats) in read("tree_stats").as_object().unwrap() {
        let Some(game) = known(string) else { continue };
        let sets = stats.get("infosets_per_player").map(|_| vec![HashSet::new(); game.spec().players as usize]);
        let mut tree = Tree { sets, ..Tree::default() };
        let values = tree.walk(&*game.start());
        let number = |field: &str| stats[field].as_u64().unwrap_or(0);
        let ours = [tree.chance, tree.decisions, tree.together, tree.ends];
        let theirs = ["chance_nodes", "decision_nodes", "simultaneous_nodes", "terminal_histories"].map(number);
        assert_eq!(ours, theirs, "{string}: chance, decision and joint nodes, ends (ours first)");
        for (ours, theirs) in values.iter().zip(stats["uniform_policy_value"].as_array().unwrap()) {
            assert!((ours - theirs.as_f64().unwrap()).abs() < 1e-9, "{string}: uniform play is worth {values:?}");
        }
        if let Some(sets) = tree.sets {
            let ours: Vec<u32> = sets.iter().map(|s| s.len() as u32).collect();
            assert_eq!(ours, ids(&stats["infosets_per_player"]), "{string}: information sets");
        }
    }
}
