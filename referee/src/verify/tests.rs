use ludex_protocol::error::ErrorCode;
use ludex_protocol::record::{IllegalPolicy, MoveRecord, RecordEvent, Refusals, RefusedMove};
use serde_json::{Value, json};

use super::*;
use crate::testing::{altered, break_off, parts, play, refused_move, seal};

fn verify(parts: &RecordParts) -> Result<VerifiedRecord, RecordFault> {
    Verifier::new(ludex_games::builtin()).verify(parts, Source::default())
}

#[track_caller]
fn refuse(parts: &RecordParts, kind: FaultKind, event: Option<usize>) -> String {
    let fault = verify(parts).map(|_| ()).unwrap_err();
    assert_eq!((fault.kind, fault.event), (kind, event), "{fault}");
    fault.to_string()
}

fn index(record: &Record, wanted: impl Fn(&MoveRecord) -> bool) -> usize {
    record.events.iter().position(|e| matches!(e, RecordEvent::Move(m) if wanted(m))).unwrap()
}

fn move_at(record: &mut Record, at: usize) -> &mut MoveRecord {
    match &mut record.events[at] {
        RecordEvent::Move(m) => m,
        RecordEvent::Chance(_) => panic!("{at} is chance"),
    }
}

#[test]
fn valid_records_of_every_game_verify() {
    for entry in ludex_games::games() {
        let game = ludex_games::load(entry.info.id).unwrap();
        let names: Vec<String> = (0..game.spec().players).map(|k| format!("p{k}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for seed in 0..5 {
            let record = play(entry.info.id, &names, seed);
            let good = verify(&parts(&record)).unwrap_or_else(|e| panic!("{}: {e}", entry.info.id));
            assert_eq!(good.seed(), Some(seed));
            assert_eq!(good.record(), &record);
            assert!(good.moves() > 0 && good.moves() <= good.spec().max_length, "{}", entry.info.id);
        }
    }
}

#[test]
fn changed_field_is_detected() {
    // The digest is not recomputed, so it detects any change.
    let line: Value = serde_json::from_str(&play("kuhn_poker", &["a", "b"], 3).to_line().unwrap()).unwrap();
    let mut paths = Vec::new();
    collect(&line, String::new(), &mut paths);
    assert!(paths.len() > 20);
    for path in paths {
        let mut changed = line.clone();
        let leaf = changed.pointer_mut(&path).unwrap();
        *leaf = match leaf {
            Value::Number(n) => json!(n.as_f64().unwrap() + 1.0),
            Value::Bool(b) => json!(!*b),
            Value::String(s) => json!(format!("{s}0")),
            _ => json!("changed"),
        };
        let parts = RecordParts::from_map(changed.as_object().unwrap().clone()).unwrap();
        assert!(verify(&parts).is_err(), "{path}");
    }
}

fn collect(value: &Value, path: String, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(k, v)| collect(v, format!("{path}/{k}"), out)),
        Value::Array(list) => list.iter().enumerate().for_each(|(k, v)| collect(v, format!("{path}/{k}"), out)),
        _ => out.push(path),
    }
}

#[test]
fn error_for_an_illegal_move_states_the_event_index() {
    let record = play("tic_tac_toe", &["a", "b"], 1);
    let first = record.events.iter().map(|e| serde_json::to_value(e).unwrap()["action"].clone()).next().unwrap();
    let message = refuse(&altered(&record, |v| v["events"][2]["action"] = first), FaultKind::Move, Some(2));
    assert!(message.starts_with("events[2]: seat 0"), "{message}");
    refuse(&altered(&record, |v| v["events"][1]["seat"] = json!(0)), FaultKind::Move, Some(1));
    refuse(&altered(&record, |v| v["events"][3]["turn"] = json!(2)), FaultKind::Move, Some(3));
    refuse(&altered(&record, |v| v["events"][3]["more"] = json!(true)), FaultKind::Move, Some(3));
    refuse(
        &altered(&record, |v| drop(v["events"][3].as_object_mut().unwrap().remove("action"))),
        FaultKind::Move,
        Some(3),
    );
    let last = record.events.len();
    refuse(&altered(&record, |v| push(v, json!({"kind": "chance", "action": 0}))), FaultKind::Move, Some(last));
    refuse(&altered(&record, |v| v["events"][0] = json!({"kind": "chance", "action": 0})), FaultKind::Chance, Some(0));
}

fn push(record: &mut Value, event: Value) {
    record["events"].as_array_mut().unwrap().push(event);
}

#[test]
fn chance_outcomes_must_follow_from_the_seed() {
    let record = play("kuhn_poker", &["a", "b"], 42);
    // Golden cards of the protocol for seed 42.
    let cards: Vec<Value> =
        record.events[..2].iter().map(|e| serde_json::to_value(e).unwrap()["action"].clone()).collect();
    assert_eq!(cards, [json!(1), json!(0)]);
    let message = refuse(&altered(&record, |v| v["events"][0]["action"] = json!(2)), FaultKind::Chance, Some(0));
    assert!(message.contains("from the seed"), "{message}");
    // Without the seed, any possible card is accepted, and an impossible one is not.
    let unseeded = |v: &mut Value| drop(v.as_object_mut().unwrap().remove("seed"));
    assert!(verify(&altered(&record, unseeded)).unwrap().seed().is_none());
    let twice = |v: &mut Value| {
        unseeded(v);
        v["events"][1]["action"] = json!(1);
    };
    refuse(&altered(&record, twice), FaultKind::Chance, Some(1));
    refuse(&altered(&record, |v| v["events"][1] = json!({"kind": "chance"})), FaultKind::Chance, Some(1));
}

#[test]
fn seed_must_agree_with_its_commitment() {
    let record = play("tic_tac_toe", &["a", "b"], 1);
    refuse(&altered(&record, |v| v["seed"] = json!("2")), FaultKind::Seed, None);
    refuse(&altered(&record, |v| v["seed"] = json!("-1")), FaultKind::Seed, None);
    refuse(&altered(&record, |v| v["salt"] = json!("00")), FaultKind::Seed, None);
    refuse(&altered(&record, |v| drop(v.as_object_mut().unwrap().remove("salt"))), FaultKind::Seed, None);
}

#[test]
fn unknown_game_or_different_rules_are_rejected() {
    let record = play("connect_four", &["a", "b"], 1);
    let message = refuse(&altered(&record, |v| v["game"] = json!("conect_four")), FaultKind::Game, None);
    assert!(message.contains("connect_four"), "{message}");
    refuse(&altered(&record, |v| v["game"] = json!("connect_four()")), FaultKind::Game, None);
    refuse(&altered(&record, |v| v["params"]["rows"] = json!("many")), FaultKind::Game, None);
    refuse(&altered(&record, |v| v["params"]["rows"] = json!(7)), FaultKind::Rules, None);
    refuse(&altered(&record, |v| v["hash"] = json!("00")), FaultKind::Rules, None);
    refuse(&altered(&record, |v| v["rules"] = json!(99)), FaultKind::Rules, None);
    refuse(&altered(&record, |v| drop(v["seats"].as_array_mut().unwrap().pop())), FaultKind::Game, None);
    refuse(&altered(&record, |v| v["ludex"] = json!(3)), FaultKind::Damaged, None);
    refuse(&altered(&record, |v| v["events"][0]["kind"] = json!("dance")), FaultKind::Damaged, None);
}

#[test]
fn result_that_contradicts_events_is_rejected() {
    let record = play("tic_tac_toe", &["a", "b"], 2);
    refuse(&altered(&record, |v| v["returns"] = json!([0.5, -0.5])), FaultKind::Result, None);
    refuse(&altered(&record, |v| v["returns"] = json!([])), FaultKind::Result, None);
    refuse(&altered(&record, |v| v["outcome"] = json!(["none", "none"])), FaultKind::Result, None);
    refuse(&altered(&record, |v| v["reason"] = json!("truncated")), FaultKind::Result, None);
    refuse(&altered(&record, |v| drop(v["events"].as_array_mut().unwrap().pop())), FaultKind::Result, None);
    refuse(&altered(&record, |v| drop(v.as_object_mut().unwrap().remove("reason"))), FaultKind::Result, None);
    let mut bare = parts(&record);
    bare.footer.remove("digest");
    refuse(&bare, FaultKind::Digest, None);
}

#[test]
fn forfeit_gives_the_minimum_return() {
    for (reason, text) in
        [(EndReason::Timeout, "timeout"), (EndReason::Resign, "resign"), (EndReason::Disconnect, "disconnect")]
    {
        let mut record = play("tic_tac_toe", &["a", "b"], 1);
        break_off(&mut record, 3, reason, Some(0));
        let record = seal(record);
        assert_eq!(record.footer.returns, [-1.0, 1.0]);
        let good = verify(&parts(&record)).unwrap();
        assert_eq!((good.at_fault(), good.reason()), (Some(0), reason));
        refuse(&altered(&record, |v| v["returns"] = json!([0, 0])), FaultKind::Result, None);
        let swapped = altered(&record, |v| v["outcome"] = json!(["win", "loss"]));
        let message = refuse(&swapped, FaultKind::Result, None);
        assert!(message.contains("seat 1's forfeit"), "{text}: {message}");
    }
    // A truncated episode is decided by the rewards so far.
    let mut record = play("tic_tac_toe", &["a", "b"], 1);
    break_off(&mut record, 3, EndReason::Truncated, None);
    assert_eq!(verify(&parts(&seal(record))).unwrap().record().footer.outcome, [Outcome::Draw; 2]);
}

#[test]
fn forfeiting_seat_is_identified_among_more_than_two_seats() {
    let mut record = play("kuhn_poker(players=3)", &["a", "b", "c"], 5);
    let at = index(&record, |m| m.seat == 1);
    break_off(&mut record, at, EndReason::Timeout, Some(1));
    assert_eq!(record.footer.outcome, [Outcome::None; 3]);
    let good = verify(&parts(&seal(record.clone()))).unwrap();
    assert_eq!(good.at_fault(), Some(1));
    let wrong = altered(&record, |v| v["at_fault"] = json!(2));
    refuse(&wrong, FaultKind::Result, None);
    refuse(&altered(&record, |v| v["at_fault"] = json!(3)), FaultKind::Result, None);
    refuse(&altered(&record, |v| v["at_fault"] = json!("b")), FaultKind::Damaged, None);
}

#[test]
fn refused_attempts_must_be_illegal() {
    let mut record = play("tic_tac_toe", &["a", "b"], 4);
    let RecordEvent::Move(first) = record.events[0].clone() else { panic!() };
    let taken = i64::from(first.action.unwrap());
    move_at(&mut record, 1).tries = vec![refused_move(taken), refused_move(99)];
    assert!(verify(&parts(&seal(record.clone()))).is_ok());
    // One more attempt would exceed the limit.
    move_at(&mut record, 1).tries.push(refused_move(-5));
    refuse(&parts(&seal(record.clone())), FaultKind::Move, Some(1));
    // A legal move must not be refused.
    let legal = i64::from(move_at(&mut record, 1).action.unwrap());
    move_at(&mut record, 1).tries = vec![refused_move(legal)];
    let message = refuse(&parts(&seal(record)), FaultKind::Move, Some(1));
    assert!(message.contains("expected an illegal attempt"), "{message}");
}

#[test]
fn forced_move_requires_the_attempt_limit() {
    let mut record = play("tic_tac_toe", &["a", "b"], 4);
    let RecordEvent::Move(first) = record.events[0].clone() else { panic!() };
    let taken = i64::from(first.action.unwrap());
    let m = move_at(&mut record, 1);
    (m.forced, m.tries) = (true, vec![refused_move(taken); 3]);
    // Under the policy `forfeit` no move is ever forced.
    refuse(&parts(&seal(record.clone())), FaultKind::Move, Some(1));
    record.header.illegal.policy = IllegalPolicy::Random;
    assert!(verify(&parts(&seal(record.clone()))).is_ok());
    move_at(&mut record, 1).tries.pop();
    refuse(&parts(&seal(record)), FaultKind::Move, Some(1));
}

#[test]
fn unparsed_replies_have_a_separate_attempt_limit() {
    let mut record = play("tic_tac_toe", &["a", "b"], 4);
    let RecordEvent::Move(first) = record.events[0].clone() else { panic!() };
    let taken = refused_move(i64::from(first.action.unwrap()));
    let unread =
        RefusedMove { action: None, text: Some("the moon".into()), code: ErrorCode::Unparsed, ..refused_move(0) };
    // Policy: a random move after two unparsed texts; a loss after three illegal moves.
    record.header.illegal.unparsed = Some(Refusals { policy: IllegalPolicy::Random, tries: 2 });
    let with = |forced: bool, tries: &[&RefusedMove]| {
        let mut record = record.clone();
        let m = move_at(&mut record, 1);
        (m.forced, m.tries) = (forced, tries.iter().map(|&attempt| attempt.clone()).collect());
        parts(&seal(record))
    };
    for (forced, tries) in [
        (true, &[&unread, &unread][..]),
        (true, &[&unread, &taken, &taken, &unread]),
        (false, &[&unread, &taken, &taken]),
    ] {
        assert!(verify(&with(forced, tries)).is_ok(), "{tries:?}");
    }
    let mislabelled = RefusedMove { code: ErrorCode::Unparsed, ..taken.clone() };
    for (forced, tries, why) in [
        (true, &[&unread][..], "expected the attempt limit or"),
        (true, &[&unread, &taken, &taken], "expected the attempt limit or"),
        // The third illegal move already loses the match, so no later reply is possible.
        (true, &[&taken, &taken, &taken, &unread, &unread], "expected the attempt limit or"),
        (true, &[&unread, &unread, &taken], "expected the attempt limit or"),
        (false, &[&unread, &unread], "expected at most 2 attempts"),
        (false, &[&taken, &taken, &taken], "expected at most 3 attempts"),
        (true, &[&unread, &mislabelled], "expected refusal code IllegalAction"),
    ] {
        let message = refuse(&with(forced, tries), FaultKind::Move, Some(1));
        assert!(message.contains(why), "{tries:?}: {message}");
    }
}

#[test]
fn sole_legal_move_may_be_forced_without_attempts() {
    // Nine moves fill the board: the last had no alternative.
    let mut record = (0..).map(|seed| play("tic_tac_toe", &["a", "b"], seed)).find(|r| r.events.len() == 9).unwrap();
    move_at(&mut record, 8).forced = true;
    assert!(verify(&parts(&seal(record.clone()))).is_ok());
    move_at(&mut record, 7).forced = true;
    refuse(&parts(&seal(record)), FaultKind::Move, Some(7));
}

#[test]
fn forced_move_must_equal_the_default() {
    let default = ludex_games::load("tic_tac_toe").unwrap().start().legal_list(0)[0];
    let forced = |seed| {
        let mut record = play("tic_tac_toe", &["a", "b"], seed);
        record.header.illegal.policy = IllegalPolicy::Default;
        let m = move_at(&mut record, 0);
        (m.forced, m.tries) = (true, vec![refused_move(99); 3]);
        (m.action == Some(default), parts(&seal(record)))
    };
    let (good, bad): (Vec<_>, Vec<_>) = (0..40).map(forced).partition(|(default, _)| *default);
    assert!(verify(&good[0].1).is_ok());
    refuse(&bad[0].1, FaultKind::Move, Some(0));
}

#[test]
fn last_turn_may_lack_a_move_after_refusals() {
    let mut record = play("tic_tac_toe", &["a", "b"], 1);
    break_off(&mut record, 2, EndReason::Illegal, Some(0));
    let tries = vec![refused_move(77); 3];
    record.events.push(RecordEvent::Move(MoveRecord { seat: 0, turn: 1, tries, ..MoveRecord::default() }));
    assert_eq!(verify(&parts(&seal(record.clone()))).unwrap().at_fault(), Some(0));
    // The turn must belong to the seat to move, and no turn may follow.
    refuse(&altered(&record, |v| v["events"][2]["seat"] = json!(1)), FaultKind::Move, Some(2));
    refuse(
        &altered(&record, |v| push(v, json!({"kind": "move", "seat": 0, "turn": 2, "action": 0}))),
        FaultKind::Move,
        Some(2),
    );
}

#[test]
fn joint_moves_must_be_complete() {
    let record = play("iterated_prisoners_dilemma", &["a", "b"], 1);
    refuse(
        &altered(&record, |v| drop(v["events"][0].as_object_mut().unwrap().remove("more"))),
        FaultKind::Move,
        Some(0),
    );
    refuse(&altered(&record, |v| v["events"].as_array_mut().unwrap().swap(0, 1)), FaultKind::Move, Some(0));
    refuse(&altered(&record, |v| drop(v["events"].as_array_mut().unwrap().remove(1))), FaultKind::Move, Some(1));
    refuse(&altered(&record, |v| v["events"][1]["action"] = json!(5)), FaultKind::Move, Some(1));
    // Seat 0 moved before seat 1 timed out: the record has half a joint move, and the sums of the rewards so far.
    let mut half = record.clone();
    break_off(&mut half, 1, EndReason::Timeout, Some(1));
    assert_eq!(verify(&parts(&seal(half.clone()))).unwrap().at_fault(), Some(1));
    half.footer.reason = Some(EndReason::Finished);
    refuse(&parts(&seal(half)), FaultKind::Move, Some(0));
    // The turn of the seat at fault, with its refused attempts, precedes the other seat's move.
    let mut half = record.clone();
    break_off(&mut half, 0, EndReason::Illegal, Some(0));
    let first = MoveRecord { seat: 0, tries: vec![refused_move(77); 3], more: true, ..MoveRecord::default() };
    half.events = vec![RecordEvent::Move(first), record.events[1].clone()];
    assert_eq!(verify(&parts(&seal(half.clone()))).unwrap().at_fault(), Some(0));
    half.events.extend_from_slice(&record.events[2..4]);
    refuse(&parts(&seal(half)), FaultKind::Move, Some(0));
}

#[test]
fn returns_of_uncounted_matches_are_not_checked() {
    let mut record = play("tic_tac_toe", &["a", "b"], 1);
    break_off(&mut record, 2, EndReason::InfraError, None);
    assert!(verify(&parts(&seal(record.clone()))).is_ok());
    refuse(&altered(&record, |v| v["events"][1]["seat"] = json!(0)), FaultKind::Move, Some(1));
}

#[test]
fn batch_preserves_order_and_rejects_duplicates() {
    let found: Vec<SourcedRecord> = (0..20)
        .map(|k| {
            let record = play("tic_tac_toe", &["a", "b"], k % 15);
            let mut parts = parts(&record);
            if k == 7 {
                parts.footer.insert("digest".into(), json!("00"));
            }
            SourcedRecord { source: Source { file: "f".into(), line: k as usize + 1 }, parts }
        })
        .collect();
    let (good, refused) = Verifier::new(ludex_games::builtin()).verify_all(&found);
    let lines: Vec<usize> = good.iter().map(|g| g.source().line).collect();
    assert_eq!(lines, [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15]);
    let messages: Vec<String> = refused.iter().map(RejectedRecord::to_string).collect();
    assert_eq!(messages.len(), 6);
    assert!(messages[0].starts_with("f:8: m_7_a_b: expected digest"), "{messages:?}");
    assert!(messages[1].starts_with("f:16: m_0_a_b: duplicate of the record at f:1"), "{messages:?}");
}

#[test]
fn stream_and_batch_have_equal_verdicts() {
    let mut lines: Vec<String> =
        (0..2500).map(|k| play("tic_tac_toe", &["a", "b"], k % 2400).to_line().unwrap()).collect();
    // 100 records occur twice, but one record is damaged in its first copy.
    lines[7] = lines[7].replace("\"ms\":", "\"ms\":1");
    lines[1500].truncate(40);
    lines.insert(3, play("kuhn_poker", &["a", "b"], 1).to_line().unwrap());
    lines.insert(9, String::new());
    let text = lines.join("\n");
    let whole = crate::read::read_lines("f", text.as_bytes());
    let (good, untrue) = Verifier::new(ludex_games::builtin()).verify_all(&whole.found);
    let mut expected = [whole.refused, untrue].concat();
    expected.sort_by_key(|r| r.source.line);
    let (mut results, mut refused) = (Vec::new(), Vec::new());
    let lines = || crate::read::raw_lines("f", text.as_bytes());
    Verifier::new(ludex_games::builtin()).verify_stream(
        lines(),
        |_, _| true,
        |judged| match judged {
            Ok(result) => results.push(result),
            Err(why) => refused.push(why),
        },
    );
    assert_eq!(refused, expected);
    assert!(refused.len() == 101 && refused.iter().any(|r| r.message.starts_with("duplicate of the record at f:")));
    let digests = |of: &mut dyn Iterator<Item = &str>| of.map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(digests(&mut results.iter().map(|r| &*r.digest)), digests(&mut good.iter().map(VerifiedRecord::digest)));
    // Skipped records are neither counted nor rejected; lines that are not records are always rejected.
    let mut counts = [0, 0];
    Verifier::new(ludex_games::builtin()).verify_stream(
        lines(),
        |game, _| game == "kuhn_poker",
        |judged| counts[usize::from(judged.is_err())] += 1,
    );
    assert_eq!(counts, [1, 1]);
}
