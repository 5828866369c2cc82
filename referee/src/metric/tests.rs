use ludex_protocol::error::ErrorCode;
use ludex_protocol::record::{IllegalPolicy, MoveRecord, Reason, Record, RecordEvent, Try};

use super::*;
use crate::read::Source;
use crate::result::GameResult;
use crate::rows::{Match, RowAgent, RowPart, Table};
use crate::testing::{break_off, parts, play, seal};
use crate::verify::Verifier;

fn verified(record: Record) -> GameResult {
    Verifier::new().verify(&parts(&seal(record)), Source::default()).unwrap().into_result()
}

/// The match as its only row; agent k sat on seat k.
fn rows(game: &GameResult) -> Rows<'_> {
    let agent = |name: &str| RowAgent { name: name.to_owned(), candidate: true };
    Rows::new(Table {
        agents: game.seats.iter().map(|seat| agent(&seat.name)).collect(),
        parts: vec![RowPart::of_game("part", game.game())],
        matches: vec![Match::of(game, 0, (0..game.seats.len()).collect())],
        ..Table::default()
    })
}

fn moves(record: &mut Record) -> Vec<&mut MoveRecord> {
    let own = record.events.iter_mut().filter_map(|e| match e {
        RecordEvent::Move(m) => Some(m),
        RecordEvent::Chance(_) => None,
    });
    own.collect()
}

fn refused(action: i64) -> Try {
    Try {
        action: Some(action),
        text: None,
        proposal: None,
        code: ErrorCode::IllegalAction,
        issues: Vec::new(),
        ms: 1,
        notes: None,
    }
}

#[test]
fn every_metric_by_hand() {
    // Three moves, then seat 1 gives up.
    let mut record = play("tic_tac_toe", &["a", "b"], 1);
    break_off(&mut record, 3, Reason::Resign, Some(1));
    for (m, ms) in moves(&mut record).into_iter().zip([10, 500, 30]) {
        m.ms = ms;
    }
    moves(&mut record)[2].tries = vec![refused(99), refused(-1)];
    let game = verified(record);
    let of = |seat: usize, metric: Metric| metric.usual(&rows(&game).of_agent(seat)).map(|m| (m.value, m.n));
    assert_eq!(of(0, SCORE_RATE), Some((1.0, 1)));
    assert_eq!(of(1, SCORE_RATE), Some((0.0, 1)));
    assert_eq!(of(0, MEAN_RETURN), Some((1.0, 1)));
    assert_eq!(of(1, MEAN_RETURN), Some((-1.0, 1)));
    assert_eq!(of(0, LENGTH), Some((3.0, 1)));
    assert_eq!(of(0, ILLEGAL_RATE), Some((0.5, 4)));
    assert_eq!(of(1, ILLEGAL_RATE), Some((0.0, 1)));
    assert_eq!(of(0, TIME_PER_MOVE), Some((20.0, 2)));
    assert_eq!(of(1, TIME_PER_MOVE), Some((500.0, 1)));
}

#[test]
fn nothing_to_measure_is_absent() {
    let empty = Rows::new(Table { agents: vec![RowAgent { name: "a".into(), candidate: true }], ..Table::default() });
    for metric in METRICS {
        let missing = metric.params.iter().filter(|p| p.default.is_empty());
        let given = missing.map(|p| (p.name.to_owned(), toml::Value::String("score_rate".into()))).collect();
        let args = Args::new(metric.params, &given).unwrap_or_else(|why| panic!("{}: {why}", metric.id));
        assert_eq!((metric.of)(&empty.of_agent(0), &args), None, "{}", metric.id);
        assert_eq!((metric.of)(&empty, &args), None, "{}", metric.id);
    }
    // A seat that never moved has no time and no attempts, but a score.
    let mut record = play("tic_tac_toe", &["a", "b"], 1);
    break_off(&mut record, 1, Reason::Timeout, Some(1));
    let game = verified(record);
    let own = rows(&game).of_agent(1);
    assert!(TIME_PER_MOVE.usual(&own).is_none() && ILLEGAL_RATE.usual(&own).is_none());
    assert!(SCORE_RATE.usual(&own).is_some());
}

#[test]
fn forced_moves_are_neither_attempts_nor_thought() {
    let mut record = play("tic_tac_toe", &["a", "b"], 1);
    record.header.illegal.policy = IllegalPolicy::Random;
    let m = moves(&mut record).remove(0);
    (m.forced, m.ms, m.tries) = (true, 9000, vec![refused(50), refused(51), refused(52)]);
    let count = moves(&mut record).iter().filter(|m| m.seat == 0).count() as u64;
    let game = verified(record);
    let own = rows(&game).of_agent(0);
    let illegal = ILLEGAL_RATE.usual(&own).unwrap();
    assert_eq!((illegal.n, illegal.value), (count + 2, 3.0 / (count + 2) as f64));
    assert_eq!(TIME_PER_MOVE.usual(&own).unwrap().n, count - 1);
}

#[test]
fn a_mean_has_an_interval_from_two_on() {
    let mean = |values: &[f64]| mean(&values.iter().copied().collect(), [0.0, 10.0]);
    assert_eq!(mean(&[]), None);
    assert_eq!(mean(&[4.0]).unwrap(), Measure { value: 4.0, low: None, high: None, n: 1 });
    let two = mean(&[1.0, 3.0]).unwrap();
    // s = sqrt(2), so that the half width is 1.96.
    assert!((two.high.unwrap() - 3.96).abs() < 1e-4 && (two.low.unwrap() - 0.04).abs() < 1e-4);
    // No interval reaches beyond what is possible.
    let wide = mean(&[0.0, 10.0]).unwrap();
    assert_eq!((wide.low, wide.high), (Some(0.0), Some(10.0)));
}
