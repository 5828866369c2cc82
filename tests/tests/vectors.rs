//! Games against OpenSpiel 2.0.2: recorded games replayed step by step, move histories counted by depth, and whole trees.
//!
//! `data/openspiel/<name>.json.gz` holds trajectories of random play. Every field of a file is either compared or named in
//! [`CASES`] with the reason why it is not; a field that is neither fails the test. Rewards are compared where they are
//! earned: OpenSpiel repeats the last ones at chance steps, ours are zero there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ludex_agents::tree::{Counts, Tree};
use ludex_env::erased::legal_list;
use ludex_env::{DynState, GameRef, Given, Heard, Outcomes, Turn, Viewer, check, load};
use ludex_protocol::spec::Dtype;
use serde_json::Value;

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
    pig("pig"),
    pig("pig_w20"),
    pig("pig_piglet_3p"),
    leduc("leduc_poker"),
    leduc("leduc_poker_3p"),
    leduc("leduc_poker_mapped"),
    liars("liars_dice_1d6"),
    liars("liars_dice_2d6"),
    liars("liars_dice_5d6"),
    liars("liars_dice_quantity"),
    auction("first_sealed_auction"),
    auction("first_sealed_auction_4p"),
    holdem("universal_poker_default"),
    holdem("universal_poker_hunl_fcpa"),
    holdem("universal_poker_hunl_fchpa"),
    holdem("universal_poker_hunl_fullgame"),
    holdem("universal_poker_limit_holdem"),
    holdem("universal_poker_3p_sidepots_fcpa"),
    holdem("universal_poker_6p_fullgame"),
    Case {
        name: "dou_dizhu",
        observation: Some(dou_dizhu_observation),
        information: None,
        state: None,
        not_compared: &[
            (
                "state_string",
                "hands and moves, which are compared one by one; at the end the hands are in wrong columns",
            ),
            ("min_utility", "-24576 there; a landlord can lose twice that"),
        ],
    },
    holdem("universal_poker_10p_fcpa"),
    go("go_3x3_superko"),
    go("go_5x5"),
    go("go_5x5_komi3_draws"),
    go("go_9x9"),
    go("go_19x19"),
    go("go_19x19_handicap3"),
];

const fn pig(name: &'static str) -> Case {
    Case { name, observation: Some(pig_state), information: None, state: Some(pig_state), not_compared: &[] }
}

const fn leduc(name: &'static str) -> Case {
    let (observation, information) = (Some(leduc_observation as Text), Some(leduc_information as Text));
    Case { name, observation, information, state: Some(leduc_state), not_compared: &[] }
}

const fn liars(name: &'static str) -> Case {
    Case { name, observation: None, information: Some(liars_information), state: Some(liars_state), not_compared: &[] }
}

const fn auction(name: &'static str) -> Case {
    let (observation, information) = (Some(auction_observation as Text), Some(auction_information as Text));
    Case { name, observation, information, state: Some(auction_state), not_compared: &[] }
}

const fn go(name: &'static str) -> Case {
    Case { name, observation: Some(go_state), information: None, state: Some(go_state), not_compared: &[HISTORY] }
}

const fn holdem(name: &'static str) -> Case {
    Case {
        name,
        observation: Some(holdem_observation),
        information: Some(holdem_information),
        state: None,
        not_compared: &[("state_string", "the dealer's notes of all that the other fields show")],
    }
}

const IPD_TRANSCRIPT: (&str, &str) =
    ("state_string", "a transcript of moves and payoffs; moves, rewards and returns are compared one by one");

/// Games of the counts and trees that are not in the registry yet.
const LATER: &[&str] =
    &["checkers", "dark_chess", "goofspiel", "hex", "matrix_pd", "matrix_rps", "phantom_ttt", "tiny_hanabi"];

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

/// Our text without its last line.
fn pig_state(s: &dyn DynState, seat: usize) -> String {
    let text = text(s, seat);
    text.rsplit_once('\n').map(|(theirs, _)| format!("{theirs}\n")).unwrap_or_default()
}

/// Who is to move in Leduc poker, or moved last: -1 is chance.
fn leduc_player(s: &dyn DynState) -> i64 {
    let v = view(s, 0);
    if s.turn() != Turn::Over {
        return s.turn().code().into();
    }
    let n = i64::from(s.spec().players);
    let (mut seat, mut folded) = (0, BTreeSet::new());
    for moves in v["moves"].as_array().unwrap() {
        let mut next = s.spec().params["starting_player"].as_i64().unwrap();
        for c in moves.as_str().unwrap().chars() {
            seat = (next..).map(|p| p % n).find(|p| !folded.contains(p)).unwrap();
            if c == 'f' {
                folded.insert(seat);
            }
            next = seat + 1;
        }
    }
    seat
}

/// Moves of Leduc poker by round, each under its name in `names`.
fn leduc_moves(s: &dyn DynState, names: [&str; 3], between: &str) -> [String; 2] {
    let v = view(s, 0);
    [0, 1].map(|round| {
        let name = |c: char| names["fcr".find(c).unwrap()];
        v["moves"][round].as_str().unwrap().chars().map(name).collect::<Vec<_>>().join(between)
    })
}

fn list(v: &Value) -> String {
    v.as_array().into_iter().flatten().map(Value::to_string).collect::<Vec<_>>().join(" ")
}

/// The round, who is to move, the pot and what everybody has: 100 at first.
fn leduc_money(s: &dyn DynState) -> (u8, i64, u64, String) {
    let v = view(s, 0);
    let chips: Vec<u64> = v["chips"].as_array().unwrap().iter().map(|c| c.as_u64().unwrap()).collect();
    let over = s.turn() == Turn::Over;
    let own = |(&put, won): (&u64, f64)| if over { 100.0 + won } else { 100.0 - put as f64 };
    let money: Vec<String> = chips.iter().zip(s.returns()).map(own).map(|m| m.to_string()).collect();
    let dealt = v["dealt"].as_u64() == Some(s.spec().players.into());
    let second = v["board"].is_u64() || (dealt && s.turn() == Turn::Chance);
    let pot = if over { 0 } else { chips.iter().sum() };
    (1 + u8::from(second), leduc_player(s), pot, money.join(" "))
}

fn leduc_head(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    let (round, player, pot, money) = leduc_money(s);
    let card = v["card"].as_i64().unwrap_or(-10_000);
    let board = v["board"].as_i64().map(|c| format!("[Public: {c}]")).unwrap_or_default();
    format!("[Observer: {seat}][Private: {card}][Round {round}][Player: {player}][Pot: {pot}][Money: {money}]{board}")
}

fn leduc_observation(s: &dyn DynState, seat: usize) -> String {
    format!("{}[Ante: {}]", leduc_head(s, seat), list(&view(s, seat)["chips"]))
}

fn leduc_information(s: &dyn DynState, seat: usize) -> String {
    let [first, second] = leduc_moves(s, ["0", "1", "2"], " ");
    format!("{}[Round1: {first}][Round2: {second}]", leduc_head(s, seat))
}

fn leduc_state(s: &dyn DynState, _seat: usize) -> String {
    let (round, player, pot, money) = leduc_money(s);
    let seats = if s.spec().players > 2 { "player_0 player_1 [...]" } else { "player_0 player_1" };
    let card = |v: &Value| v.as_i64().unwrap_or(-10_000).to_string();
    let cards = std::iter::once(card(&view(s, 0)["board"]));
    let cards: Vec<String> = cards.chain((0..s.spec().players as usize).map(|p| card(&view(s, p)["card"]))).collect();
    let [first, second] = leduc_moves(s, ["Fold", "Call", "Raise"], ", ");
    format!(
        "Round: {round}\nPlayer: {player}\nPot: {pot}\nMoney ({seats}): {money}\nCards (public {seats}): {} \n\
         Round 1 sequence: {first}\nRound 2 sequence: {second}\n",
        cards.join(" ")
    )
}

/// A seat's dice in OpenSpiel's form: those that are not rolled yet are -1.
fn liars_dice(s: &dyn DynState, seat: usize) -> String {
    let dice = view(s, seat)["dice"].as_array().unwrap().clone();
    let each = s.spec().params["numdice"].as_u64().unwrap() as usize;
    (0..each).map(|k| dice.get(k).map_or("-1".to_owned(), Value::to_string)).collect()
}

fn liars_bids(s: &dyn DynState) -> String {
    let v = view(s, 0);
    let bids = v["bids"].as_array().unwrap().iter().map(|b| format!(" {}-{}", b[0], b[1]));
    bids.chain((v["called"] == true).then(|| " Liar".to_owned())).collect()
}

fn liars_information(s: &dyn DynState, seat: usize) -> String {
    liars_dice(s, seat) + &liars_bids(s)
}

fn liars_state(s: &dyn DynState, _seat: usize) -> String {
    let dice: Vec<String> = (0..s.spec().players as usize).map(|p| liars_dice(s, p)).collect();
    let roller = view(s, 0)["rolled"].as_u64().unwrap() / s.spec().params["numdice"].as_u64().unwrap();
    let chance = if s.turn() == Turn::Chance {
        format!(" - chance node, current roller is player {roller}")
    } else {
        String::new()
    };
    dice.join(" ") + &liars_bids(s) + &chance
}

fn auction_observation(s: &dyn DynState, seat: usize) -> String {
    view(s, seat)["value"].as_u64().map(|v| v.to_string()).unwrap_or_default()
}

fn auction_information(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    let part = |word: &str, v: &Value| v.as_u64().map(|k| format!(" {word} {k}")).unwrap_or_default();
    format!("p{seat}{}{}", part("val", &v["value"]), part("bid", &v["bid"]))
}

fn auction_state(s: &dyn DynState, _seat: usize) -> String {
    let all = |field: &str| {
        let known = (0..s.spec().players as usize).filter_map(|p| view(s, p)[field].as_u64());
        known.map(|k| k.to_string()).collect::<Vec<_>>().join(",")
    };
    let winner = view(s, 0)["winner"]["seat"].as_u64().map(|p| format!(";{p}")).unwrap_or_default();
    format!("{};{}{winner}", all("value"), all("bid"))
}

/// Cards as OpenSpiel lists them: the highest first, of equals the higher suit.
fn holdem_cards(list: &Value) -> String {
    let order = |c: &&str| c.chars().map(|c| "cdhs23456789TJQKA".find(c)).collect::<Vec<_>>();
    let mut cards: Vec<&str> = list.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    cards.sort_by_key(order);
    cards.into_iter().rev().collect()
}

/// What OpenSpiel's two strings begin with: the pot there is the highest bet times the players who are in.
fn holdem_head(s: &dyn DynState, v: &Value) -> String {
    let spent: Vec<u64> = v["spent"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
    let players = spent.len() as u64 - v["folded"].as_array().map_or(0, Vec::len) as u64;
    let pot = spent.iter().max().copied().unwrap_or(0) * players;
    let money: Vec<String> = match v["left"].as_array() {
        Some(left) => left.iter().map(Value::to_string).collect(),
        None => spent.iter().map(|s| (i32::MAX as u64 - s).to_string()).collect(),
    };
    format!(
        "[Round {}][Player: {}][Pot: {pot}][Money: {}][Private: {}]",
        v["round"],
        s.turn().code(),
        money.join(" "),
        holdem_cards(&v["hole"])
    )
}

fn holdem_observation(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    let spent: Vec<String> = v["spent"].as_array().into_iter().flatten().map(Value::to_string).collect();
    format!("{}[PlayerContribution: {}]", holdem_head(s, &v), spent.join(" "))
}

fn holdem_information(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    let limit = s.spec().params["betting"] == "limit";
    let (mut moves, mut round) = (String::new(), 0);
    for m in v["moves"].as_array().into_iter().flatten() {
        while round < m["round"].as_u64().unwrap() {
            round += 1;
            moves.push('|');
        }
        match m["name"].as_str().unwrap() {
            "Fold" => moves.push('f'),
            "Call" => moves.push('c'),
            _ if limit => moves.push('r'),
            _ => moves += &format!("r{}", m["to"]),
        }
    }
    (round..v["round"].as_u64().unwrap()).for_each(|_| moves.push('|'));
    format!("{}[Public: {}][Sequences: {moves}]", holdem_head(s, &v), holdem_cards(&v["board"]))
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

/// The ranks of card numbers in OpenSpiel's names, low to high.
fn ranks(cards: impl Iterator<Item = u64>) -> String {
    let mut ranks: Vec<u64> = cards.map(|c| c / 4 + c / 53).collect();
    ranks.sort_unstable();
    let name = |r: u64| match r {
        13 => "(BWJ)",
        14 => "(CJ)",
        r => &"3456789TJQKA2"[r as usize..=r as usize],
    };
    ranks.into_iter().map(name).collect()
}

fn dou_dizhu_observation(s: &dyn DynState, seat: usize) -> String {
    let v = view(s, seat);
    let numbers = |list: &Value| list.as_array().cloned().unwrap_or_default();
    let cards = |list: &Value| numbers(list).into_iter().filter_map(|c| c.as_u64()).collect::<Vec<_>>();
    let played = numbers(&v["plays"]).into_iter().flat_map(|p| cards(&p["cards"]));
    let face_up = v["face_up"]["card"].as_i64();
    let first = face_up.and_then(|_| v["face_up"]["position"].as_i64()).map(|p| p % 3);
    // Who bid last counts as the landlord; nobody is seat -3.
    let bids = cards(&v["bids"]);
    let last = (0..).zip(&bids).filter(|(_, b)| **b > 0).last();
    let landlord = first.zip(last).map_or(-3, |(first, (k, _)): (i64, (i64, _))| (first + k) % 3);
    format!(
        "My hand {}\nPlayed cards {}\nface up card rank: {}start player: {}My position from Dizhu: {}",
        ranks(cards(&v["hand"]).into_iter()),
        ranks(played),
        face_up.map_or(-1, |c| c / 4 + c / 53),
        first.unwrap_or(-3),
        (seat as i64 - landlord + 3) % 3,
    )
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

/// The name of an action; hold'em's are `player=1 move=Call`.
fn bare(name: &str) -> &str {
    name.split_once(" move=").map_or(name, |(_, name)| name)
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
        meta(case, &game, &data["meta"]);
        let at = format!("seed {}", t["seed"]);
        let mut r = Replay { case, s: game.start(), at: at.clone(), compared, seen };
        for (k, step) in t["steps"].as_array().unwrap().iter().enumerate() {
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
        assert!(seen.contains(*field) || !data["meta"][field].is_null(), "{}: {field} does not occur", case.name);
    }
}

/// The facts of the game.
fn meta(case: &Case, game: &GameRef, meta: &Value) {
    let spec = game.spec();
    let ours = [
        ("num_players", f64::from(spec.players)),
        ("num_distinct_actions", f64::from(spec.actions)),
        ("max_chance_outcomes", f64::from(spec.max_chance)),
        ("max_game_length", f64::from(spec.max_length)),
        ("min_utility", spec.min_return),
        ("max_utility", spec.max_return),
    ];
    for (field, ours) in ours {
        let differs = case.not_compared.iter().any(|n| n.0 == field);
        assert_eq!(
            Some(ours) != meta[field].as_f64(),
            differs,
            "{}: {field} is {ours}, not {}",
            case.name,
            meta[field]
        );
    }
    let words = |v: Value| v.as_str().unwrap_or_default().to_uppercase();
    let kinds = [
        ("dynamics", serde_json::to_value(spec.dynamics)),
        ("utility", serde_json::to_value(spec.utility)),
        ("information", serde_json::to_value(spec.information)),
        ("chance_mode", serde_json::to_value(spec.chance)),
    ];
    for (field, ours) in kinds {
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

#[test]
fn whole_trees() {
    for (string, stats) in read("tree_stats").as_object().unwrap() {
        let Some(game) = known(string) else { continue };
        let tree = Tree::build(&game, 1 << 20).unwrap();
        let number = |field: &str| stats[field].as_u64().unwrap_or(0) as usize;
        let [chance, decisions, together, ends] =
            ["chance_nodes", "decision_nodes", "simultaneous_nodes", "terminal_histories"].map(number);
        assert_eq!(tree.counts(), Counts { chance, decisions, together, ends }, "{string}");
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
