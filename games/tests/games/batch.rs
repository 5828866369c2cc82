//! Semantics of batches: one test per guarantee of the protocol.

use std::sync::Arc;

use ludex_env::batch::{Autoreset, ChanceBy, GymView, MaskForm, Observer, OnIllegal, Rotate, SeatPolicy};
use ludex_env::draw::{block, episode_key, scale};
use ludex_env::game::Viewer;
use ludex_env::{Action, Actions, BatchConfig, DynBatch, GameRef, MoveRequest, Policy, ResetSeeds, ToMove};
use ludex_protocol::Move;
use ludex_protocol::message::{Batch, Mask, Ragged};
use ludex_protocol::{Column, ErrorCode, Refusal, Tensors};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::common::offers::offers;

/// A policy that chooses from the legal actions by turn number, and records the seat and turn of each move request.
struct Play {
    choose: fn(&[Action], u32) -> Action,
    asked: Mutex<Vec<(usize, u32)>>,
}

impl Policy for Play {
    fn choose(&self, ask: &MoveRequest<'_>) -> Action {
        self.asked.lock().push((ask.seat, ask.turn));
        (self.choose)(ask.legal, ask.turn)
    }
}

fn play(choose: fn(&[Action], u32) -> Action) -> (SeatPolicy, Arc<Play>) {
    let agent = Arc::new(Play { choose, asked: Mutex::default() });
    (Some(agent.clone()), agent)
}

fn first() -> SeatPolicy {
    play(|legal, _| legal[0]).0
}

fn load(text: &str) -> GameRef {
    ludex_games::load(text).unwrap()
}

/// A reply with its columns as lists. Absent columns are empty lists.
#[derive(Debug)]
struct Answer {
    to_move: Vec<i8>,
    seat: Vec<i8>,
    obs: Vec<u8>,
    structure: Vec<Value>,
    mask: Vec<u8>,
    ids: Ragged,
    /// Columns of chance outcomes: offsets, outcome ids, probabilities.
    chance: Option<(Vec<u32>, Vec<u32>, Vec<f64>)>,
    reward: Vec<f32>,
    terminated: Vec<u8>,
    truncated: Vec<u8>,
    length: Vec<u32>,
    episode: Vec<u32>,
    illegal: Vec<u32>,
    skipped: (Vec<u32>, Vec<f64>),
    last: Last,
}

/// Final data of the episodes that ended in this step and were reset in it.
#[derive(Debug, Default)]
struct Last {
    at: Vec<u32>,
    seat: Vec<i8>,
    obs: Vec<u8>,
    returns: Vec<f64>,
    length: Vec<u32>,
}

fn bytes(tensors: Option<Tensors>) -> Vec<u8> {
    tensors.into_iter().flat_map(|t| t.into_values()).flat_map(|t| t.b).collect()
}

impl From<Batch> for Answer {
    fn from(b: Batch) -> Self {
        let (mask, ids) = match b.mask {
            Some(Mask::Dense(mask)) => (mask.into_bytes(), Ragged::default()),
            Some(Mask::Ids(ids)) => (Vec::new(), ids),
            None => (Vec::new(), Ragged::default()),
        };
        let last = b.ended.map(|e| Last {
            at: e.at.to_vec(),
            seat: e.seat.unwrap_or_default().to_vec(),
            obs: bytes(e.obs),
            returns: e.returns.to_vec(),
            length: e.length.to_vec(),
        });
        Answer {
            to_move: b.to_move.to_vec(),
            seat: b.seat.unwrap_or_default().to_vec(),
            obs: bytes(b.obs),
            structure: b.structure.unwrap_or_default(),
            mask,
            ids,
            chance: b.chance.map(|c| (c.o.to_vec(), c.a.to_vec(), c.p.to_vec())),
            reward: b.reward.to_vec(),
            terminated: b.terminated.to_vec(),
            truncated: b.truncated.to_vec(),
            length: b.length.to_vec(),
            episode: b.episode.to_vec(),
            illegal: b.illegal.unwrap_or_default().to_vec(),
            skipped: b.skipped.map(|s| (s.at.to_vec(), s.returns.to_vec())).unwrap_or_default(),
            last: last.unwrap_or_default(),
        }
    }
}

fn open(game: &GameRef, config: BatchConfig) -> Box<dyn DynBatch> {
    game.batch(config).unwrap()
}

fn reset(b: &mut dyn DynBatch, seed: u64) -> Answer {
    let mut out = Batch::default();
    b.reset(None, &ResetSeeds::Base(seed), &mut out).unwrap();
    out.into()
}

fn step(b: &mut dyn DynBatch, ids: &[i32]) -> Answer {
    let mut out = Batch::default();
    b.step(None, Actions::Ids(ids), &mut out).unwrap();
    out.into()
}

fn step_refusal(b: &mut dyn DynBatch, ids: &[i32]) -> Refusal {
    b.step(None, Actions::Ids(ids), &mut Batch::default()).unwrap_err()
}

fn step_moves(b: &mut dyn DynBatch, moves: &[Option<Move>]) -> Result<Answer, Refusal> {
    let mut out = Batch::default();
    b.step(None, Actions::Moves(moves), &mut out).map(|()| out.into())
}

fn text(t: &str) -> Option<Move> {
    Some(Move::Text(t.into()))
}

/// Plays until x wins in row 0 by filling the left column. In row 1 of the batch, no side wins.
fn until_x_wins(b: &mut dyn DynBatch) -> Answer {
    for pair in [[0, 4], [1, 0], [3, 8], [4, 2]] {
        let out = step(b, &pair);
        assert_eq!(out.terminated, [0, 0]);
    }
    step(b, &[6, 6])
}

#[test]
fn autoreset_in_same_step_returns_final_and_initial_rows() {
    let config = BatchConfig { count: 2, autoreset: Autoreset::SameStep, ..Default::default() };
    let mut b = open(&load("tic_tac_toe"), config);
    reset(&mut *b, 5);
    let out = until_x_wins(&mut *b);
    assert_eq!((&out.reward[..], &out.terminated[..]), (&[1.0, -1.0, 0.0, 0.0][..], &[1, 0][..]));
    assert_eq!((&out.length[..], &out.episode[..], &out.to_move[..]), (&[0, 5][..], &[1, 0][..], &[0, 1][..]));
    assert!(out.obs[..18].iter().all(|&v| v == 0));
    assert_eq!((&out.last.at[..], &out.last.length[..], &out.last.returns[..]), (&[0][..], &[5][..], &[1.0, -1.0][..]));
    assert_eq!(out.last.obs, [1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0]);
    assert!(step(&mut *b, &[0, 7]).last.at.is_empty());
}

#[test]
fn autoreset_set_to_next_step_resets_on_following_step() {
    let config = BatchConfig { count: 2, autoreset: Autoreset::NextStep, ..Default::default() };
    let mut b = open(&load("tic_tac_toe"), config);
    reset(&mut *b, 5);
    let out = until_x_wins(&mut *b);
    assert_eq!((out.reward[0], out.terminated[0], out.to_move[0], out.length[0]), (1.0, 1, -4, 5));
    assert_eq!((out.obs[0], out.mask[..9].iter().sum::<u8>()), (1, 0));
    // Action -1 leaves the environment finished, without a further reward and with the same flags.
    let out = step(&mut *b, &[-1, 1]);
    assert_eq!((out.reward[0], out.terminated[0], out.to_move[0], out.episode[0]), (0.0, 1, -4, 0));
    // Any other action is ignored, and the reply contains the start of the next episode.
    let out = step(&mut *b, &[7777, -1]);
    assert_eq!((out.reward[0], out.terminated[0], out.to_move[0], out.episode[0], out.length[0]), (0.0, 0, 0, 1, 0));
    assert_eq!(out.obs[..18], [0; 18]);
}

#[test]
fn disabled_autoreset_requires_explicit_reset() {
    let config = BatchConfig { count: 2, autoreset: Autoreset::Disabled, ..Default::default() };
    let mut b = open(&load("tic_tac_toe"), config);
    reset(&mut *b, 5);
    until_x_wins(&mut *b);
    let e = step_refusal(&mut *b, &[0, 1]);
    assert_eq!((e.code, e.index), (ErrorCode::EnvOver, Some(0)));
    let mut out = Batch::default();
    b.reset(Some(&[0]), &ResetSeeds::Continue, &mut out).unwrap();
    assert_eq!((out.length, out.episode), (Column::from([0]), Column::from([1])));
    let out = step(&mut *b, &[0, 1]);
    assert_eq!((&out.length[..], &out.episode[..]), (&[1, 6][..], &[1, 0][..]));
    b.reset(Some(&[1]), &ResetSeeds::Each(vec![9]), &mut Batch::default()).unwrap();
    assert_eq!(step(&mut *b, &[1, 1]).episode, [1, 0]);
}

#[test]
fn seats_rotate_by_episode_number() {
    let cycle = |e: u64| (e % 2) as usize;
    let random = |e: u64| scale(block(&episode_key("rotate", "tic_tac_toe", 3, e), 0), 2) as usize;
    for (rotate, shift) in [(Rotate::Cycle, &cycle as &dyn Fn(u64) -> usize), (Rotate::Random, &random)] {
        let config = BatchConfig { count: 1, seats: vec![None, first()], rotate, ..Default::default() };
        let mut b = open(&load("tic_tac_toe"), config);
        let mut out = reset(&mut *b, 3);
        let mut seats = Vec::new();
        for e in 0..12 {
            // In episode e, entry (k + shift) mod 2 plays seat k; entry 0 is the client.
            let seat = (2 - shift(e)) % 2;
            assert_eq!((out.episode[0] as u64, out.seat[0] as usize), (e, seat), "{rotate:?}");
            assert_eq!(out.length[0] as usize, seat, "the server moves first if the client plays o");
            seats.push(seat);
            let mut next = Batch::default();
            b.reset(None, &ResetSeeds::Continue, &mut next).unwrap();
            out = next.into();
        }
        assert!(seats.contains(&0) && seats.contains(&1));
    }
}

#[test]
fn server_seats_move_between_client_actions() {
    let config =
        BatchConfig { count: 1, seats: vec![None, first()], autoreset: Autoreset::SameStep, ..Default::default() };
    let mut b = open(&load("tic_tac_toe"), config);
    let out = reset(&mut *b, 0);
    assert_eq!((&out.seat[..], b.width()), (&[0][..], 1));
    // x plays 8, 7, 3; o always takes the first free square: 0, 1, 2 and wins.
    assert_eq!((step(&mut *b, &[8]).length[0], step(&mut *b, &[7]).length[0]), (2, 4));
    let out = step(&mut *b, &[3]);
    assert_eq!((&out.reward[..], out.terminated[0], out.length[0]), (&[-1.0, 1.0][..], 1, 0));
    assert_eq!(out.last.seat, [0]);
    assert_eq!(out.last.obs[..9], [0, 0, 0, 1, 0, 0, 0, 1, 1], "x's own marks come first");
    assert_eq!(out.last.length, [6]);
}

#[test]
fn rewards_accumulate_since_last_client_action() {
    let (player, agent) = play(|_, turn| turn % 2);
    let config = BatchConfig { count: 1, seats: vec![player, None], ..Default::default() };
    let mut b = open(&load("iterated_prisoners_dilemma(num_repetitions=3)"), config);
    let out = reset(&mut *b, 0);
    assert_eq!((b.width(), out.to_move[0], out.seat[0]), (1, -2, 1));
    let rewards: Vec<Vec<f32>> = [0, 0, 1].map(|a| step(&mut *b, &[a]).reward).to_vec();
    assert_eq!(rewards, [[5.0, 5.0], [10.0, 0.0], [0.0, 10.0]]);
    assert_eq!(*agent.asked.lock(), [(0, 0), (0, 1), (0, 2)]);
}

#[test]
fn episodes_without_client_action_are_skipped_and_counted() {
    // One cell: the seat to move fills it, and the game is a draw.
    let game = load("connect_four(rows=1,columns=1)");
    let seats = vec![first(), None];
    let rotating = BatchConfig { count: 2, seats: seats.clone(), rotate: Rotate::Cycle, ..Default::default() };
    let mut b = open(&game, rotating);
    let out = reset(&mut *b, 0);
    assert_eq!((&out.episode[..], &out.skipped.0[..], &out.skipped.1[..]), (&[1, 1][..], &[0, 1][..], &[0.0; 4][..]));
    assert_eq!(out.length, [0, 0]);
    let mut b = open(&game, BatchConfig { count: 1, seats, ..Default::default() });
    let e = b.reset(None, &ResetSeeds::Base(0), &mut Batch::default()).unwrap_err();
    assert_eq!(e.code, ErrorCode::Limit);
}

#[test]
fn observer_set_to_all_returns_view_of_every_seat() {
    let config = BatchConfig { count: 2, observer: Observer::All, ..Default::default() };
    let mut b = open(&load("kuhn_poker"), config);
    let out = reset(&mut *b, 42);
    assert_eq!((out.obs.len(), out.mask.len()), (2 * 2 * 7, 2 * 2 * 2));
    assert_eq!(out.mask[..4], [1, 1, 0, 0], "only seat 0 may act");
    // Seed 42 deals 1 and 0: each seat sees its own card.
    assert_eq!((&out.obs[..3], &out.obs[7..10]), (&[0, 1, 0][..], &[1, 0, 0][..]));
    let mut shown = Batch::default();
    b.reset(None, &ResetSeeds::Base(42), &mut shown).unwrap();
    assert_eq!(shown.obs.unwrap()["observation"].s, [2, 2, 7]);
}

#[test]
fn client_forfeits_with_illegal_action_if_configured() {
    let config = BatchConfig { count: 2, on_illegal: OnIllegal::Lose, ..Default::default() };
    let mut b = open(&load("tic_tac_toe"), config);
    reset(&mut *b, 0);
    step(&mut *b, &[0, 0]);
    let out = step(&mut *b, &[0, 1]);
    assert_eq!((&out.illegal[..], &out.terminated[..]), (&[0][..], &[1, 0][..]));
    assert_eq!(out.reward, [1.0, -1.0, 0.0, 0.0], "o forfeits, x gets the greatest return");
    let items = b.snapshot(None, &[]).unwrap();
    let mut c = open(&load("tic_tac_toe"), BatchConfig { count: 2, ..Default::default() });
    let mut out = Batch::default();
    c.restore(None, &mut items.iter().cloned().map(Ok), &mut out).unwrap();
    let out = Answer::from(out);
    assert_eq!(
        (&out.terminated[..], &out.to_move[..]),
        (&[1, 0][..], &[-4, 0][..]),
        "a snapshot preserves the forfeit"
    );
    let out = step_moves(&mut *b, &[None, text("z9")]).unwrap();
    assert_eq!(out.illegal, [1]);
}

#[test]
fn server_agent_forfeits_with_illegal_action() {
    let (player, _) = play(|_, _| 99);
    let mut b = open(&load("tic_tac_toe"), BatchConfig { count: 1, seats: vec![None, player], ..Default::default() });
    reset(&mut *b, 0);
    let out = step(&mut *b, &[0]);
    assert_eq!((&out.reward[..], out.terminated[0], out.illegal.len()), (&[1.0, -1.0][..], 1, 0));
}

#[test]
fn client_can_choose_chance_outcomes() {
    let config = BatchConfig { count: 1, chance: ChanceBy::Client, on_illegal: OnIllegal::Lose, ..Default::default() };
    let mut b = open(&load("kuhn_poker"), config);
    let out = reset(&mut *b, 1);
    assert_eq!((out.to_move[0], out.chance), (-1, Some((vec![0, 3], vec![0, 1, 2], vec![1.0 / 3.0; 3]))));
    assert_eq!(step_refusal(&mut *b, &[3]).code, ErrorCode::IllegalAction, "chance is not a seat, so it cannot lose");
    assert_eq!(step(&mut *b, &[2]).chance, Some((vec![0, 2], vec![0, 1], vec![0.5; 2])));
    assert_eq!(step_moves(&mut *b, &[text("Deal:2")]).unwrap_err().code, ErrorCode::IllegalAction);
    let out = step_moves(&mut *b, &[text("Deal:1")]).unwrap();
    assert_eq!((out.to_move[0], out.length[0], out.chance.unwrap().1.len()), (0, 0, 0));
    step(&mut *b, &[1]);
    assert_eq!(step(&mut *b, &[1]).reward, [2.0, -2.0]);
}

#[test]
fn mask_encoding_follows_configuration() {
    let shown = |mask| {
        let mut b = open(&load("tic_tac_toe"), BatchConfig { count: 2, mask: Some(mask), ..Default::default() });
        reset(&mut *b, 0);
        let out = step(&mut *b, &[8, 0]);
        assert_eq!(step_refusal(&mut *b, &[0, 0]).index, Some(1), "{mask:?}");
        out
    };
    assert_eq!(shown(MaskForm::U1).mask, [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(shown(MaskForm::Bits).mask, [0xff, 0, 0xfe, 1]);
    let out = shown(MaskForm::Ids);
    assert_eq!((out.ids.row(0), out.ids.row(1)[..3].to_vec()), ((0..8).collect(), vec![1, 2, 3]));
    assert_eq!((out.ids.o, out.mask.len()), (Column::from([0, 8, 16]), 0));
    let out = shown(MaskForm::None);
    assert!(out.mask.is_empty() && out.ids.a.is_empty());
}

#[test]
fn step_limit_truncates_unless_rules_terminate() {
    let config = BatchConfig { count: 2, max_steps: Some(5), ..Default::default() };
    let mut b = open(&load("tic_tac_toe"), config);
    reset(&mut *b, 0);
    let out = until_x_wins(&mut *b);
    assert_eq!((&out.terminated[..], &out.truncated[..]), (&[1, 0][..], &[0, 1][..]));
    assert_eq!((&out.to_move[..], out.mask.iter().sum::<u8>()), (&[-4, -4][..], 0));
    // Moves of the server count, chance outcomes do not.
    let config = BatchConfig { count: 1, max_steps: Some(2), seats: vec![None, first()], ..Default::default() };
    let mut b = open(&load("kuhn_poker"), config);
    let out = reset(&mut *b, 0);
    assert_eq!((out.length[0], out.truncated[0]), (0, 0));
    let out = step(&mut *b, &[1]);
    assert_eq!((out.length[0], out.terminated[0], out.truncated[0]), (2, 1, 0));
}

#[test]
fn joint_step_skips_empty_rows_and_refuses_incomplete_rows() {
    let mut b =
        open(&load("iterated_prisoners_dilemma(num_repetitions=5)"), BatchConfig { count: 2, ..Default::default() });
    reset(&mut *b, 0);
    assert_eq!(b.width(), 2);
    assert_eq!(step(&mut *b, &[0, 1, -1, -1]).reward, [0.0, 10.0, 0.0, 0.0]);
    let e = step_refusal(&mut *b, &[0, 0, 1, -1]);
    assert_eq!((e.code, e.index), (ErrorCode::IllegalAction, Some(1)));
    assert_eq!(step(&mut *b, &[-1, -1, 0, 0]).length, [1, 1]);
    let out = step_moves(&mut *b, &[text("defect"), text("C"), None, None]).unwrap();
    assert_eq!((&out.reward[..], &out.length[..]), (&[10.0, 0.0, 0.0, 0.0][..], &[2, 1][..]));
}

#[test]
fn documents_and_texts_are_accepted_as_moves() {
    let game = offers("");
    let mut b = open(&game, BatchConfig { count: 2, views: Some(vec![GymView::Struct]), ..Default::default() });
    reset(&mut *b, 7);
    // In a joint move, the game accepts the text of a stake and refuses all other texts.
    let e = step_moves(&mut *b, &[text("stake 1"), text("hello"), None, None]).unwrap_err();
    assert_eq!((e.code, e.index), (ErrorCode::IllegalAction, Some(1)));
    let out = step_moves(&mut *b, &[text("stake 1"), text("stake 2"), Some(Move::Id(0)), Some(Move::Id(0))]).unwrap();
    assert_eq!((&out.reward[..], &out.to_move[..]), (&[-1.0, -2.0, 0.0, 0.0][..], &[0, 0][..]));
    let proposal = |n: u64| Some(Move::Document(json!({ "offer": n })));
    // An invalid document is reported by path, and no row changes.
    let e = step_moves(&mut *b, &[proposal(4), None, proposal(10), None]).unwrap_err();
    assert_eq!((e.code, e.index), (ErrorCode::IllegalAction, Some(2)));
    let issue = &e.issues[0];
    assert_eq!((&*issue.path, &issue.got), ("/offer", &Some(Value::from(10))));
    // Only one seat moves, so the entry of the other seat must be empty.
    assert!(step_moves(&mut *b, &[proposal(4), Some(Move::Id(0)), None, None]).is_err());
    let out = step_moves(&mut *b, &[proposal(4), None, proposal(0), None]).unwrap();
    assert_eq!((&out.to_move[..], &out.terminated[..], &out.length[..]), (&[1, -4][..], &[0, 1][..], &[2, 2][..]));
    let items = b.snapshot(None, &[]).unwrap();
    assert_eq!(items[0].h[3], (0, json!({ "document": { "offer": 4 } })));
    let out = step_moves(&mut *b, &[None, text("  too little "), None, None]).unwrap();
    assert_eq!((out.terminated[0], &out.structure[0]["answer"]), (1, &json!({ "words": "too little" })));
    // The snapshot restores the position before the text.
    let mut out = Batch::default();
    b.restore(None, &mut items.iter().cloned().map(Ok), &mut out).unwrap();
    let out = Answer::from(out);
    assert_eq!((&out.to_move[..], &out.length[..]), (&[1, -4][..], &[2, 2][..]));
    assert_eq!(step(&mut *b, &[-1, 0, -1, -1]).reward, [5.0, 4.0, 0.0, 0.0]);
    // A snapshot with a forged document is refused.
    let mut forged = items;
    forged[0].h[3] = (0, json!({ "document": { "offer": 99 } }));
    let e = b.restore(None, &mut forged.iter().cloned().map(Ok), &mut Batch::default()).unwrap_err();
    assert_eq!((e.code, e.index), (ErrorCode::BadSnapshot, Some(0)));
}

#[test]
fn restored_snapshot_advances_to_client_turn() {
    let game = load("kuhn_poker");
    let mut open_chance = open(&game, BatchConfig { count: 1, chance: ChanceBy::Client, ..Default::default() });
    reset(&mut *open_chance, 3);
    step(&mut *open_chance, &[2]);
    let items = open_chance.snapshot(None, &[]).unwrap();
    let mut b = open(&game, BatchConfig { count: 1, seats: vec![first(), None], ..Default::default() });
    let mut out = Batch::default();
    b.restore(None, &mut items.iter().cloned().map(Ok), &mut out).unwrap();
    let out = Answer::from(out);
    assert_eq!((out.to_move[0], out.seat[0], out.length[0]), (1, 1, 1), "a card was dealt and seat 0 passed");
}

#[test]
fn changed_seats_apply_from_next_episode() {
    let mut b = open(
        &load("tic_tac_toe"),
        BatchConfig { count: 1, seats: vec![None, first()], autoreset: Autoreset::SameStep, ..Default::default() },
    );
    reset(&mut *b, 0);
    step(&mut *b, &[8]);
    b.set_seats(vec![play(|legal, _| legal[legal.len() - 1]).0, None]).unwrap();
    let board = |b: &dyn DynBatch| b.state(0).unwrap().view(Viewer::Public).text();
    assert_eq!(step(&mut *b, &[7]).seat, [0], "the running episode keeps its players");
    assert_eq!(board(&*b), "oo.\n...\n.xx");
    let out = step(&mut *b, &[6]);
    assert_eq!((&out.seat[..], out.last.seat.as_slice(), &out.reward[..]), (&[1][..], &[0][..], &[1.0, -1.0][..]));
    assert_eq!(board(&*b), "...\n...\n..x");
    let e = b.set_seats(Vec::new()).unwrap_err();
    assert_eq!((e.code, e.path.as_deref()), (ErrorCode::BadField, Some("seats")));
}

#[test]
fn fork_copies_or_reseeds_random_stream() {
    let mut b = open(&load("iterated_prisoners_dilemma"), BatchConfig { count: 8, ..Default::default() });
    reset(&mut *b, 0);
    let lengths = |b: &mut dyn DynBatch| {
        let mut out = Batch::default();
        for _ in 0..200 {
            b.step(None, Actions::Ids(&[0; 16]), &mut out).unwrap();
            if out.terminated.iter().all(|t| t == 1) {
                break;
            }
            // Finished rows stay finished.
            let over: Vec<usize> = (0..8).filter(|&i| out.terminated.get(i) == Some(1)).collect();
            let ids: Vec<i32> = (0..16).map(|k| if over.contains(&(k / 2)) { -1 } else { 0 }).collect();
            b.step(None, Actions::Ids(&ids), &mut out).unwrap();
        }
        out.length
    };
    let mut same = b.fork(None, None).unwrap();
    let mut fresh = b.fork(None, Some(1_000)).unwrap();
    let mut again = b.fork(None, Some(1_000)).unwrap();
    let wanted = lengths(&mut *b);
    assert_eq!(lengths(&mut *same), wanted);
    let other = lengths(&mut *fresh);
    assert_ne!(other, wanted);
    assert_eq!(lengths(&mut *again), other);
}

#[test]
fn invalid_settings_are_refused_with_path() {
    let game = load("iterated_prisoners_dilemma");
    let path = |config: BatchConfig| game.batch(config).err().and_then(|e| e.path);
    assert_eq!(path(BatchConfig::default()), Some("count".into()));
    assert_eq!(path(BatchConfig { count: 1, max_steps: Some(0), ..Default::default() }), Some("max_steps".into()));
    assert_eq!(path(BatchConfig { count: 1, seats: vec![None], ..Default::default() }), Some("seats".into()));
    assert_eq!(
        path(BatchConfig { count: 1, seats: vec![first(), first()], ..Default::default() }),
        Some("seats".into())
    );
    let views = Some(vec![GymView::Info]);
    assert_eq!(path(BatchConfig { count: 1, views, ..Default::default() }), Some("views".into()));
    let layout = ludex_env::batch::Layout::OpenSpiel;
    assert_eq!(path(BatchConfig { count: 1, layout, ..Default::default() }), Some("layout".into()));
    assert_eq!(game.start().turn(), ToMove::Simultaneous(ludex_env::SeatSet::first(2)));
}
