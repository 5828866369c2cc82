//! Throughput of encoding and decoding messages, as MessagePack and JSON.
//!
//! `cargo bench -p ludex-protocol` reports frame bytes per second. Decoding includes all checks of received messages.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ludex_protocol::message::{Act, Batch, Legal, Mask, SeatView, StepEnvs, TurnFrame};
use ludex_protocol::spec::Dtype;
use ludex_protocol::{ClientMessage, Column, Encoding, ServerMessage, Tensor, Tensors};
use serde_json::json;

const ENCODINGS: [(&str, Encoding); 2] = [("msgpack", Encoding::MsgPack), ("json", Encoding::Json)];
const DEPTH: u32 = 64;
/// Number of connect_four environments in the batch.
const ROWS: usize = 1_024;
const ACTIONS: usize = 7;
const BOARD: [u32; 3] = [2, 6, 7];

fn batch() -> ServerMessage {
    let cells = BOARD.iter().product::<u32>() as usize;
    // A mix of zeros and ones, as in real boards and masks.
    let bits = |len: usize| (0..len).map(|k| u8::from(k % 3 == 0)).collect::<Vec<u8>>();
    let s = std::iter::once(ROWS as u32).chain(BOARD).collect();
    ServerMessage::Batch(Box::new(Batch {
        env: 1,
        to_move: Column::from_slice(&(0..ROWS).map(|row| (row % 2) as i8).collect::<Vec<_>>()),
        obs: Some(Tensors::from([("board".into(), Tensor { d: Dtype::U1, s, b: bits(ROWS * cells) })])),
        mask: Some(Mask::Dense(Column::from_slice(&bits(ROWS * ACTIONS)))),
        reward: Column::zeros(ROWS * 2),
        terminated: Column::zeros(ROWS),
        truncated: Column::zeros(ROWS),
        length: Column::from_slice(&(0..ROWS as u32).map(|row| row % 42).collect::<Vec<_>>()),
        episode: Column::from_slice(&(0..ROWS as u32).collect::<Vec<_>>()),
        ..Batch::default()
    }))
}

fn turn() -> ServerMessage {
    let names = (0..9).map(|cell| format!("x({},{})", cell / 3, cell % 3));
    ServerMessage::Turn(Box::new(TurnFrame {
        seq: 1,
        match_id: "m_7c".into(),
        budget_ms: Some(10_000),
        bank_ms: vec![0, 0],
        legal: Legal::Ids((0..9).collect()),
        names: Some(names.collect()),
        view: SeatView {
            structure: Some(json!({ "board": ["...", "...", "..."], "to_move": "x" })),
            ..SeatView::default()
        },
        ..TurnFrame::default()
    }))
}

fn step(rows: usize) -> ClientMessage {
    let actions: Vec<i32> = (0..rows).map(|row| (row % ACTIONS) as i32).collect();
    ClientMessage::Step(StepEnvs { env: 1, actions: Some(Column::from_slice(&actions)), ..StepEnvs::default() })
}

fn act() -> ClientMessage {
    ClientMessage::Act(Box::new(Act { match_id: "m_7c".into(), turn: 3, action: Some(4), ..Act::default() }))
}

fn codec(c: &mut Criterion) {
    let mut group = c.benchmark_group("codec");
    for (encoding, e) in ENCODINGS {
        for (name, message) in [("act", act()), ("step of 1", step(1)), ("step of 1024", step(ROWS))] {
            let frame = e.encode_client(Some(7), &message).expect("finite numbers");
            group.throughput(Throughput::Bytes(frame.len() as u64));
            group.bench_function(BenchmarkId::new(format!("{name}, write"), encoding), |b| {
                b.iter(|| e.encode_client(Some(7), black_box(&message)));
            });
            group.bench_function(BenchmarkId::new(format!("{name}, read"), encoding), |b| {
                b.iter(|| e.decode_client(black_box(&frame), DEPTH).expect("encoded frames decode"));
            });
        }
        for (name, re, message) in [("turn", None, turn()), ("batch of 1024 connect_four", Some(7), batch())] {
            let frame = e.encode_server(re, &message).expect("finite numbers");
            group.throughput(Throughput::Bytes(frame.len() as u64));
            group.bench_function(BenchmarkId::new(format!("{name}, write"), encoding), |b| {
                b.iter(|| e.encode_server(re, black_box(&message)));
            });
            group.bench_function(BenchmarkId::new(format!("{name}, read"), encoding), |b| {
                b.iter(|| e.decode_server(black_box(&frame), DEPTH).expect("encoded frames decode"));
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(30).measurement_time(std::time::Duration::from_secs(1)).warm_up_time(std::time::Duration::from_millis(300));
    targets = codec
}
criterion_main!(benches);
