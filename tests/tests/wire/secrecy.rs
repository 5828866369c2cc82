//! Secrecy of hidden information. Two matches ("worlds") whose states a seat cannot distinguish get the same inputs,
//! clocks, ids and salt. As long as the game keeps the secret, all frames sent to the seat and to spectators must be
//! equal byte for byte, in both encodings. Refusals of the other seats must be equal too.

use std::collections::BTreeMap;
use std::sync::Arc;

use ludex_env::check::scaled;
use ludex_env::game::GameInfo;
use ludex_env::{
    BatchConfig, Draw, DynBatch, DynGame, DynState, DynView, GameRef, Outcomes, ParamError, Stream, ToMove, Viewer,
};
use ludex_games::{games, load};
use ludex_play::machine::MatchMachine;
use ludex_play::machine::Watcher;
use ludex_play::machine::interface::{Input, MatchSetup, Output, SeatSetup};
use ludex_protocol::error::Issue;
use ludex_protocol::message::{Act, MatchFrame, MatchView};
use ludex_protocol::record::{Clock, Header, RecordSeat};
use ludex_protocol::spec::{Dynamics, Information, Params, Spec};
use ludex_protocol::{Encoding, ServerMessage};
use serde_json::Value;

const SALT: [u8; 16] = [3; 16];

/// Game whose initial state is the current state of another episode.
struct Continued {
    game: GameRef,
    start: Box<dyn DynState>,
}

impl DynGame for Continued {
    fn spec(&self) -> &Spec {
        self.game.spec()
    }

    fn info(&self) -> &'static GameInfo {
        self.game.info()
    }

    fn start(&self) -> Box<dyn DynState> {
        self.start.boxed()
    }

    fn read_view(&self, value: &Value) -> Result<Box<dyn DynView>, String> {
        self.game.read_view(value)
    }

    fn reload(&self, params: &Params) -> Result<GameRef, ParamError> {
        self.game.reload(params)
    }

    fn analyze(&self, question: &Value) -> Result<Value, Issue> {
        self.game.analyze(question)
    }

    fn batch(&self, config: BatchConfig) -> Result<Box<dyn DynBatch>, ludex_protocol::Refusal> {
        self.game.batch(config)
    }
}

/// Returns the state of the episode with this seed after the initial chance outcomes, before the first decision.
fn opening(game: &GameRef, seed: u64) -> Box<dyn DynState> {
    let (mut state, mut draw, mut outcomes) = (game.start(), Draw::new(game.id(), seed, 0), Outcomes::new());
    while state.turn() == ToMove::Chance {
        state.chance(&mut outcomes);
        state.play_unchecked(draw.pick(&outcomes).expect("an outcome"));
    }
    state
}

fn machine(game: &GameRef, seed: u64) -> MatchMachine {
    let spec = game.spec();
    let views =
        [MatchView::Struct, MatchView::Text, MatchView::Texts, MatchView::Tensor, MatchView::Info, MatchView::Prompt];
    let views: Vec<MatchView> = views
        .into_iter()
        .filter(|v| match v {
            MatchView::Tensor => spec.views.tensor.is_some(),
            MatchView::Info => spec.views.info.is_some(),
            _ => true,
        })
        .collect();
    let header = Header {
        ludex: 1,
        episode: "m_1".into(),
        game: spec.game.clone(),
        params: spec.params.clone(),
        rules: spec.rules,
        hash: spec.hash.clone(),
        seats: (0..spec.players).map(|k| RecordSeat { name: format!("a{k}"), ..RecordSeat::default() }).collect(),
        rated: true,
        clock: Clock::per_move(1_000),
        // The commitments of the two worlds differ by design and reveal nothing, so they are omitted.
        ..Header::default()
    };
    let seat = SeatSetup { remote: true, views, ..SeatSetup::default() };
    let setup = MatchSetup {
        seats: vec![seat; spec.players as usize],
        skip_forced: true,
        seed,
        salt: SALT,
        release: true,
        grace_ms: Some(60_000),
        follows: false,
        forfeit: None,
        run: None,
        pair: None,
        mirror: Vec::new(),
        excerpt: Default::default(),
        restarts: 0,
        header,
        game: game.clone(),
    };
    let mut machine = MatchMachine::new(setup, 0);
    machine.add_watcher(Watcher::Public);
    machine.add_watcher(Watcher::Full);
    machine
}

/// Returns the legal actions of `seat`; `None` if the seat is not to move.
fn open(m: &MatchMachine, seat: usize) -> Option<Vec<u32>> {
    let ServerMessage::Resync(resync) = m.resync(Watcher::Seat(seat)) else { panic!("a resync was due") };
    resync.turn.map(|t| t.legal.iter().collect())
}

/// Returns the frames of one watcher, encoded in JSON and in MessagePack.
fn bytes(outputs: &[Output], watcher: Watcher) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for output in outputs {
        let (re, message): (_, ServerMessage) = match output {
            // The end of the match releases everything.
            Output::Frame { frame, .. } if matches!(**frame, MatchFrame::MatchEnd(_)) => continue,
            Output::Frame { to, frame } if *to == watcher => (None, (**frame).clone().into()),
            Output::Reply { seat, re, message } if watcher == Watcher::Seat(*seat) => (Some(*re), (**message).clone()),
            _ => continue,
        };
        for encoding in [Encoding::Json, Encoding::MsgPack] {
            all.push(encoding.encode_server(re, &message).expect("a message is written"));
        }
    }
    all
}

/// Returns a document that the seat could send, in games that accept documents. The document is legal in a sampled
/// state that the seat cannot distinguish from the true state.
fn document(game: &GameRef, m: &MatchMachine, seat: usize, rng: &mut Stream) -> Option<Value> {
    let view = m.spectator_view(Watcher::Seat(seat), &[MatchView::Struct]).structure?;
    game.read_view(&view).ok()?.world(rng).sample(seat, rng)
}

fn is_refusal(output: &Output) -> bool {
    matches!(output, Output::Reply { message, .. } if matches!(**message, ServerMessage::Refused(_)))
}

/// Outputs of the match machine for one input, in two states that a seat cannot distinguish.
struct Step {
    /// For each of the two states: the encoded frames and replies by recipient. Keys: the seat numbers, then one key
    /// for public spectators and one for full spectators. The end of the match is omitted.
    told: [BTreeMap<usize, Vec<Vec<u8>>>; 2],
    /// True for each watcher whose game view is equal in both states. The rules may reveal a difference.
    alike: Vec<bool>,
}

/// Plays the same inputs in two matches as long as the inputs are legal in both matches.
fn both(game: &GameRef, mut worlds: [MatchMachine; 2], rng: &mut Stream) -> Vec<Step> {
    let players = game.spec().players as usize;
    let watchers: Vec<Watcher> = (0..players).map(Watcher::Seat).chain([Watcher::Public, Watcher::Full]).collect();
    let step = |out: [Vec<Output>; 2], worlds: &[MatchMachine; 2]| {
        let told = [0, 1].map(|w| watchers.iter().enumerate().map(|(k, &to)| (k, bytes(&out[w], to))).collect());
        let alike = watchers.iter().map(|&to| {
            let [a, b] = worlds.each_ref().map(|m| m.spectator_view(to, &[MatchView::Struct]));
            a == b
        });
        Step { told, alike: alike.collect() }
    };
    let started = worlds.each_mut().map(|m| m.handle(0, Input::Start));
    let mut steps = vec![step(started, &worlds)];
    let (mut turns, mut now) = (vec![(0u32, 0u32); players], 0);
    while !worlds[0].is_over() && !worlds[1].is_over() {
        let Some((seat, first)) = (0..players).find_map(|s| Some((s, open(&worlds[0], s)?))) else { break };
        let Some(second) = open(&worlds[1], seat) else { break };
        let legal = [first, second];
        let (turn, attempt) = turns[seat];
        let act = Act { match_id: "m_1".into(), turn, attempt, ..Act::default() };
        let said = if rng.below(2) == 0 { document(game, &worlds[0], seat, rng) } else { None };
        // Some moves are illegal, since the text of a refusal must not distinguish the worlds either.
        let refused = said.is_none() && attempt == 0 && rng.below(4) == 0;
        let action = match &said {
            Some(_) => None,
            None if refused => Some(i64::from(game.spec().actions) + 5),
            None => Some(i64::from(legal[0][rng.below(legal[0].len())])),
        };
        if !refused && action.is_some_and(|a| !legal[1].iter().any(|&b| i64::from(b) == a)) {
            break;
        }
        let act = Act { action, document: said, ..act };
        now += 5;
        let input = || Input::Act { seat, re: 1, act: Box::new(act.clone()) };
        let played = worlds.each_mut().map(|m| m.handle(now, input()));
        // If a document is legal in one world only, its sender can distinguish the worlds.
        let [refused, other] = played.each_ref().map(|out| out.iter().any(is_refusal));
        if refused != other {
            break;
        }
        turns[seat] = if refused { (turn, attempt + 1) } else { (turn + 1, 0) };
        steps.push(step(played, &worlds));
        worlds.iter_mut().for_each(|m| m.start_client_clocks(now));
    }
    steps
}

/// Returns true if the game's views do not let `viewer` distinguish the episodes of the two seeds.
fn secret_kept(game: &GameRef, seeds: [u64; 2], viewer: Viewer) -> bool {
    let views = seeds.map(|seed| opening(game, seed).view(viewer).value());
    views[0] == views[1]
}

#[test]
fn indistinguishable_states_give_equal_frames() {
    let hidden = games().iter().flat_map(|e| [e.info.id.to_owned(), format!("{}(players=3)", e.info.id)]);
    let hidden = hidden.chain(["bargaining(talk=true)".to_owned()]);
    let (mut compared, mut different) = (0, 0);
    for game in hidden.filter_map(|text| load(&text).ok()).filter(|g| g.spec().information == Information::Imperfect) {
        let players = game.spec().players as usize;
        let mut rng = Stream::from_text(&format!("secrecy:{}", game.spec().string));
        for _ in 0..scaled(400) {
            let seeds = [rng.bits(), rng.bits()];
            let mut play = rng.clone();
            let steps = both(&game, seeds.map(|seed| machine(&game, seed)), &mut play);
            for watcher in 0..players + 1 {
                let viewer = if watcher < players { Viewer::Seat(watcher) } else { Viewer::Public };
                if !secret_kept(&game, seeds, viewer) {
                    continue;
                }
                for (n, step) in steps.iter().take_while(|step| step.alike[watcher]).enumerate() {
                    let [a, b] = step.told.each_ref().map(|told| &told[&watcher]);
                    assert_eq!(a, b, "{} seeds {seeds:?} step {n} {viewer:?}", game.spec().string);
                    compared += a.len();
                }
            }
            // Full spectators see the cards, so the comparison can fail.
            let [a, b] = steps[0].told.each_ref().map(|told| &told[&(players + 1)]);
            different += usize::from(a != b);
        }
    }
    assert!(compared > 1_000 && different > 100, "{compared} frames compared, {different} worlds differ");
}

/// Returns a position with a seat to move, after some random moves; `None` if the episode ended earlier.
fn position(game: &GameRef, rng: &mut Stream) -> Option<Box<dyn DynState>> {
    let mut state = game.start();
    let mut left = rng.below(12);
    let mut outcomes = Outcomes::new();
    loop {
        match state.turn() {
            ToMove::Over => return None,
            ToMove::Chance => {
                state.chance(&mut outcomes);
                state.play_chance(rng.pick(&outcomes)?).ok()?;
            }
            ToMove::Seat(_) | ToMove::Simultaneous(_) if left == 0 => return Some(state),
            ToMove::Seat(seat) => {
                let a = state.random_action(seat, rng);
                state.play(seat, a).ok()?;
                left -= 1;
            }
            ToMove::Simultaneous(set) => {
                let mut joint = vec![None; state.spec().players as usize];
                set.iter().for_each(|seat| joint[seat] = Some(state.random_action(seat, rng)));
                state.play_together(&joint).ok()?;
                left -= 1;
            }
        }
    }
}

/// Checks positions in the middle of an episode, and games with hands so large that no two seeds deal a seat the same
/// hand. The second state is sampled from the view of a seat in the first state.
#[test]
fn sampled_state_gives_equal_frames_to_viewer() {
    let hidden = games().iter().filter_map(|e| load(e.info.id).ok());
    for game in hidden.filter(|g| g.spec().information == Information::Imperfect) {
        let players = game.spec().players as usize;
        let mut rng = Stream::from_text(&format!("worlds:{}", game.spec().string));
        let (mut compared, mut different) = (0, 0);
        for _ in 0..scaled(300).max(150) {
            let Some(state) = position(&game, &mut rng) else { continue };
            let watcher = rng.below(players + 1);
            let viewer = if watcher < players { Viewer::Seat(watcher) } else { Viewer::Public };
            let other = state.view(viewer).world(&mut rng);
            // Other seats can distinguish the worlds, so the comparison can fail.
            let told_apart = |p| state.view(Viewer::Seat(p)).value() != other.view(Viewer::Seat(p)).value();
            different += usize::from((0..players).any(told_apart));
            let worlds = [state, other].map(|start| {
                let game: GameRef = Arc::new(Continued { game: game.clone(), start });
                machine(&game, 7)
            });
            let steps = both(&game, worlds, &mut rng.clone());
            for (n, step) in steps.iter().take_while(|step| step.alike[watcher]).enumerate() {
                let [a, b] = step.told.each_ref().map(|told| &told[&watcher]);
                assert_eq!(a, b, "{} step {n} {viewer:?}", game.spec().string);
                compared += a.len();
            }
        }
        let name = &game.spec().string;
        assert!(compared > 20 && different > 3, "{name}: {compared} frames compared, {different} worlds differ");
    }
}

/// Checks that frames do not reveal the choice of a seat in a joint turn, its form (id or document), or its number of
/// refusals.
#[test]
fn joint_turn_is_secret_until_all_have_moved() {
    let (own, _) = own_game::registries();
    let names: Vec<&str> = games().iter().map(|e| e.info.id).chain(["naming"]).collect();
    let mut checked = BTreeMap::new();
    let loaded = names.iter().filter_map(|name| own.load(name).ok());
    for game in loaded.filter(|game| game.spec().dynamics != Dynamics::Sequential) {
        let mut rng = Stream::from_text(&format!("joint:{}", game.spec().string));
        for _ in 0..scaled(100).max(20) {
            let by = joint_turn_kept(&game, &mut rng);
            by.into_iter().for_each(|by| *checked.entry((game.id(), by)).or_insert(0) += 1);
        }
    }
    let ids = checked.keys().filter(|(_, by)| *by == "id").count();
    assert!(ids >= 2 && checked[&("naming", "document")] > 5, "{checked:?}");
}

/// Plays two equal matches to a joint turn. In the first, a seat answers with an id. In the second, the seat is refused
/// and then answers differently. Returns the kind of the second answer; `None` if no joint turn occurs.
fn joint_turn_kept(game: &GameRef, rng: &mut Stream) -> Option<&'static str> {
    let players = game.spec().players as usize;
    let seed = rng.bits();
    let mut worlds = [machine(game, seed), machine(game, seed)];
    worlds.iter_mut().for_each(|m| drop(m.handle(0, Input::Start)));
    let mut turns = vec![0u32; players];
    loop {
        let asked: Vec<(usize, Vec<u32>)> = (0..players).filter_map(|s| Some((s, open(&worlds[0], s)?))).collect();
        let act = |turn, attempt, action| Act { match_id: "m_1".into(), turn, attempt, action, ..Act::default() };
        if asked.len() < 2 || rng.below(2) == 0 {
            let (seat, legal) = asked.first()?;
            let mv = act(turns[*seat], 0, Some(i64::from(legal[rng.below(legal.len())])));
            turns[*seat] += 1;
            for m in &mut worlds {
                m.handle(1, Input::Act { seat: *seat, re: 1, act: Box::new(mv.clone()) });
                m.start_client_clocks(1);
            }
            continue;
        }
        let (seat, legal) = &asked[rng.below(asked.len())];
        let (turn, any) = (turns[*seat], |rng: &mut Stream| Some(i64::from(legal[rng.below(legal.len())])));
        let said = if rng.below(2) == 0 { document(game, &worlds[1], *seat, rng) } else { None };
        let by = if said.is_some() { "document" } else { "id" };
        let other = if said.is_some() { None } else { any(rng) };
        let first = vec![act(turn, 0, any(rng))];
        let bad = Some(i64::from(game.spec().actions) + 5);
        let second = vec![act(turn, 0, bad), Act { document: said, ..act(turn, 1, other) }];
        let mut play = |w: usize, acts: Vec<Act>| -> Vec<Output> {
            let input = |act| Input::Act { seat: *seat, re: 1, act: Box::new(act) };
            acts.into_iter().flat_map(|act| worlds[w].handle(1, input(act))).collect()
        };
        let told = [play(0, first), play(1, second)];
        let all = (0..players).map(Watcher::Seat).chain([Watcher::Public, Watcher::Full]);
        for watcher in all {
            let [a, b] = told.each_ref().map(|out| bytes(out, watcher));
            if watcher == Watcher::Seat(*seat) {
                assert_eq!((a.len(), b.len()), (2, 4), "{}: the seat hears an answer to each", game.spec().string);
            } else {
                assert_eq!(a, b, "{} seed {seed} {watcher:?}", game.spec().string);
            }
        }
        return Some(by);
    }
}

#[test]
fn frames_before_end_hide_seed() {
    let game = load("kuhn_poker").unwrap();
    for seed in [7u64, 1_844_674_407_370_955] {
        let mut m = machine(&game, seed);
        let mut out = m.handle(0, Input::Start);
        let mut turns = [0u32; 2];
        while !m.is_over() {
            let seat = (0..2).find(|&s| open(&m, s).is_some()).unwrap();
            let act = Act { match_id: "m_1".into(), turn: turns[seat], action: Some(1), ..Act::default() };
            turns[seat] += 1;
            out.extend(m.handle(1, Input::Act { seat, re: 1, act: Box::new(act) }));
        }
        let secrets = [hex::encode(SALT), m.record().unwrap().footer.digest.clone().unwrap()];
        for watcher in [Watcher::Seat(0), Watcher::Seat(1), Watcher::Public, Watcher::Full] {
            for frame in bytes(&out, watcher) {
                let text = String::from_utf8_lossy(&frame);
                assert!(!secrets.iter().any(|s| text.contains(s)), "{text}");
                assert!(
                    !text.contains("\"seed\"") && !text.contains("\"salt\"") && !text.contains("\"digest\""),
                    "{text}"
                );
                assert!(seed < 1_000 || !text.contains(&seed.to_string()), "{text}");
            }
        }
    }
}
