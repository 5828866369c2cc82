mod values;

use ludex_protocol::record::{EndReason, IllegalPolicy, MoveRecord, Notes, Record, RecordEvent, RefusedMove, Tokens};

use ludex_env::MarkValue;

use super::*;
use crate::read::Source;
use crate::result::GameResult;
use crate::rows::{MetricMatch, ResultTable, RowAgent, RowPart};
use crate::testing::{break_off, parts, play, refused_move, seal, verify};
use crate::verify::Verifier;

fn verified(record: Record) -> GameResult {
    verify(record).into_result()
}

/// Builds rows with a single match, in which agent k is on seat k.
fn rows(game: &GameResult) -> Rows<'_> {
    let agent = |name: &str| RowAgent { name: name.to_owned(), candidate: true };
    Rows::new(ResultTable {
        agents: game.seats.iter().map(|seat| agent(&seat.name)).collect(),
        parts: vec![RowPart::of_game("part", game.game())],
        matches: vec![MetricMatch::of(game, 0, (0..game.seats.len()).collect())],
        ..ResultTable::default()
    })
}

fn moves(record: &mut Record) -> Vec<&mut MoveRecord> {
    let own = record.events.iter_mut().filter_map(|e| match e {
        RecordEvent::Move(m) => Some(m),
        RecordEvent::Chance(_) => None,
    });
    own.collect()
}

#[test]
fn metrics_equal_hand_computed_values() {
    // Three moves, then seat 1 resigns.
    let mut record = play("tic_tac_toe", &["a", "b"], 1);
    break_off(&mut record, 3, EndReason::Resign, Some(1));
    for (m, ms) in moves(&mut record).into_iter().zip([10, 500, 30]) {
        m.ms = ms;
    }
    moves(&mut record)[2].tries = vec![refused_move(99), refused_move(-1)];
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
fn metrics_without_data_are_absent() {
    let empty = Rows::new(ResultTable {
        agents: vec![RowAgent { name: "a".into(), candidate: true }],
        ..ResultTable::default()
    });
    for metric in METRICS {
        let missing = metric.params.iter().filter(|p| p.default.is_empty());
        let given = missing.map(|p| (p.name.to_owned(), toml::Value::String("score_rate".into()))).collect();
        let args = Args::new(metric.params, &given).unwrap_or_else(|why| panic!("{}: {why}", metric.id));
        assert_eq!((metric.of)(&empty.of_agent(0), &args), None, "{}", metric.id);
        assert_eq!((metric.of)(&empty, &args), None, "{}", metric.id);
    }
    // A seat that never moved has no time and no attempts, but a score.
    let mut record = play("tic_tac_toe", &["a", "b"], 1);
    break_off(&mut record, 1, EndReason::Timeout, Some(1));
    let game = verified(record);
    let own = rows(&game).of_agent(1);
    assert!(TIME_PER_MOVE.usual(&own).is_none() && ILLEGAL_RATE.usual(&own).is_none());
    assert!(SCORE_RATE.usual(&own).is_some());
}

#[test]
fn forced_moves_are_excluded_from_attempts_and_time() {
    let mut record = play("tic_tac_toe", &["a", "b"], 1);
    record.header.illegal.policy = IllegalPolicy::Random;
    let m = moves(&mut record).remove(0);
    (m.forced, m.ms, m.tries) = (true, 9000, vec![refused_move(50), refused_move(51), refused_move(52)]);
    let count = moves(&mut record).iter().filter(|m| m.seat == 0).count() as u64;
    let game = verified(record);
    let own = rows(&game).of_agent(0);
    let illegal = ILLEGAL_RATE.usual(&own).unwrap();
    assert_eq!((illegal.n, illegal.value), (count + 2, 3.0 / (count + 2) as f64));
    assert_eq!(TIME_PER_MOVE.usual(&own).unwrap().n, count - 1);
}

/// Checks that a match against a candidate counts only for the first entrant, `a`, and that all matches against other
/// opponents count.
#[test]
fn match_between_candidates_counts_only_for_the_first_entrant() {
    let games = [1, 2, 3].map(|seed| {
        let mut record = play("tic_tac_toe", &["a", "b"], seed);
        break_off(&mut record, 3, EndReason::Resign, Some(1));
        verified(record)
    });
    let agent = |(name, candidate): (&str, bool)| RowAgent { name: name.to_owned(), candidate };
    let counted = |only_a: bool| {
        // `a` beats `b` as the first entrant, and again as the second; `c`, which is not a candidate, loses to `b`.
        let pairs = [(vec![0, 1], vec![0, 1]), (vec![0, 1], vec![1, 0]), (vec![1, 2], vec![0, 1])];
        let own = |(game, (players, sides)): (_, (Vec<usize>, Vec<usize>))| MetricMatch {
            sides,
            ..MetricMatch::of(game, 0, players)
        };
        let rows = Rows::new(ResultTable {
            agents: [("a", true), ("b", true), ("c", false)].map(agent).into(),
            parts: vec![RowPart { only_a, ..RowPart::of_game("part", games[0].game()) }],
            matches: games.iter().zip(pairs).map(own).collect(),
            ..ResultTable::default()
        });
        [0, 1, 2].map(|agent| SCORE_RATE.usual(&rows.of_agent(agent)).map(|m| (m.value, m.n)))
    };
    assert_eq!(counted(false), [Some((1.0, 2)), Some((1.0 / 3.0, 3)), Some((0.0, 1))]);
    assert_eq!(counted(true), [Some((1.0, 1)), Some((0.5, 2)), Some((0.0, 1))]);
}

/// Uses 2 and 4 moves in the first cycle, and 3 in the second. The cycle sums 6 and 3 have the mean 4.5 and s = 3 /
/// sqrt(2), so the interval is 4.5 +- 1.96 * 1.5.
#[test]
fn number_of_moves_is_averaged_over_cycles() {
    let games = [2, 4, 3].map(|count| {
        let mut record = play("tic_tac_toe", &["a", "b"], 1);
        break_off(&mut record, count, EndReason::Resign, Some(count % 2));
        verified(record)
    });
    let agent = |name: &str| RowAgent { name: name.to_owned(), candidate: true };
    let others = [1, 2, 1];
    let matches = games.iter().enumerate().map(|(k, game)| MetricMatch {
        cycle: k as u64 / 2,
        order: k,
        ..MetricMatch::of(game, 0, vec![0, others[k]])
    });
    let rows = Rows::new(ResultTable {
        agents: ["a", "b", "c"].map(agent).into(),
        parts: vec![RowPart::of_game("part", games[0].game())],
        matches: matches.collect(),
        ..ResultTable::default()
    });
    let all = super::moves::MOVES.usual(&rows).unwrap();
    assert_eq!((all.value, all.n), (4.5, 2));
    assert!((all.low.unwrap() - 1.56).abs() < 1e-3 && (all.high.unwrap() - 7.44).abs() < 1e-3, "{all:?}");
    assert_eq!(super::moves::MOVES.usual(&rows.of_agent(1)).map(|m| m.value), Some(2.5), "2 moves and 3");
    let length =
        |form: &str| MetricQuery::parse(&format!("length form={form}")).unwrap().number(&rows).map(|m| m.value);
    assert_eq!(["shortest", "longest", "mean"].map(length), [Some(2.0), Some(4.0), Some(3.0)]);
}

#[test]
fn interval_of_a_mean_requires_several_values() {
    let mean = |values: &[f64]| mean(&values.iter().copied().collect(), [0.0, 10.0]);
    assert_eq!(mean(&[]), None);
    assert_eq!(mean(&[4.0]).unwrap(), Measurement { value: 4.0, low: None, high: None, n: 1 });
    let two = mean(&[1.0, 3.0]).unwrap();
    // s = sqrt(2), so that the half width is 1.96.
    assert!((two.high.unwrap() - 3.96).abs() < 1e-4 && (two.low.unwrap() - 0.04).abs() < 1e-4);
    // Intervals are clipped to the possible range.
    let wide = mean(&[0.0, 10.0]).unwrap();
    assert_eq!((wide.low, wide.high), (Some(0.0), Some(10.0)));
}

#[test]
fn interval_of_a_mark_stays_within_its_range() {
    let record = play("texas_holdem(preset=llmarena)", &["a", "b"], 1);
    let verifier = Verifier::new(ludex_games::builtin()).with_marks(["equity"]);
    let game = verifier.verify(&parts(&seal(record)), Source::default()).unwrap().into_result();
    let own = rows(&game).of_agent(0);
    assert_eq!(own.mark_range("equity"), Some([0.0, 1.0]));
    assert_eq!(own.mark_range("hand"), None);
    let mut wide = game.clone();
    wide.seats[0].marks.retain(|mark| &*mark.name == "equity");
    assert!(wide.seats[0].marks.len() > 1, "{:?}", wide.seats[0].marks);
    wide.seats[0].marks.iter_mut().enumerate().for_each(|(k, mark)| mark.value = MarkValue::Number([0.0, 0.9][k % 2]));
    let mean = MetricQuery::parse("mean of=equity").unwrap().number(&rows(&wide).of_agent(0)).unwrap();
    assert!(mean.low.unwrap() >= 0.0 && mean.high.unwrap() <= 1.0, "{mean:?}");
}

/// Creates notes with tokens and an emotion.
fn noted(input: u64, out: u64, felt: &str) -> Option<Notes> {
    Some(Notes { tokens: Some(Tokens { input, out }), emotion: Some(felt.to_owned()), ..Notes::default() })
}

#[test]
fn tokens_and_emotions_are_read_from_notes() {
    let mut record = play("tic_tac_toe", &["a", "b"], 1);
    break_off(&mut record, 3, EndReason::Resign, Some(1));
    let own = moves(&mut record);
    for (m, notes) in own.into_iter().zip([noted(100, 10, "A"), noted(1, 1, "E"), noted(200, 20, "D")]) {
        m.notes = notes;
    }
    moves(&mut record)[2].tries = vec![RefusedMove { notes: noted(50, 5, "A"), ..refused_move(99) }];
    let parts = parts(&seal(record));
    let game = Verifier::new(ludex_games::builtin())
        .with_marks(["emotion"])
        .verify(&parts, Source::default())
        .unwrap()
        .into_result();
    let of =
        |ask: &str, seat: usize| MetricQuery::parse(ask).unwrap().number(&rows(&game).of_agent(seat)).map(|m| m.value);
    assert_eq!(of("tokens", 0), Some(385.0));
    assert_eq!((of("tokens per=query", 0), of("tokens per=move", 0)), (Some(385.0 / 3.0), Some(192.5)));
    assert_eq!((of("tokens of=in", 0), of("tokens of=out", 1)), (Some(350.0), Some(1.0)));
    // The emotion of a refused attempt does not count.
    assert_eq!((of("pss", 0), of("pss", 1)), (Some(-0.5), Some(2.0)));
    assert_eq!((of("moves", 0), of("illegal_end", 0)), (Some(3.0), Some(0.0)));
    // The verifier does not store marks that were not requested.
    let plain = Verifier::new(ludex_games::builtin()).verify(&parts, Source::default()).unwrap().into_result();
    assert!(plain.seats.iter().all(|seat| seat.marks.is_empty()));
    assert_eq!(MetricQuery::parse("normalised of=pss").unwrap().marks(), BTreeSet::from(["emotion".to_owned()]));
}

/// Checks that a match of an agent against itself counts for the first side only, and that invalid matches count only
/// for the completion rate.
#[test]
fn result_of_self_play_counts_for_the_first_side_only() {
    let mut record = play("tic_tac_toe", &["a", "a"], 1);
    break_off(&mut record, 3, EndReason::Illegal, Some(1));
    let game = verified(record);
    let table = |sides: Vec<usize>, valid: bool| {
        let mut one = MetricMatch::of(&game, 0, vec![0, 0]);
        (one.sides, one.valid) = (sides, valid);
        Rows::new(ResultTable {
            agents: vec![RowAgent { name: "a".into(), candidate: true }],
            parts: vec![RowPart::of_game("part", game.game())],
            matches: vec![one],
            ..ResultTable::default()
        })
        .of_agent(0)
    };
    let of = |ask: &str, rows: &Rows| MetricQuery::parse(ask).unwrap().number(rows).map(|m| (m.value, m.n));
    let (first, second) = (table(vec![0, 1], true), table(vec![1, 0], true));
    assert_eq!((of("score_rate", &first), of("score_rate", &second)), (Some((1.0, 1)), Some((0.0, 1))));
    assert_eq!((of("illegal_end", &first), of("first_seat", &first)), (Some((1.0, 1)), Some((0.0, 1))));
    // Without sides in the plan, both seats count.
    assert_eq!(of("score_rate", &table(Vec::new(), true)), Some((0.5, 2)));
    let invalid = table(vec![0, 1], false);
    assert_eq!((of("score_rate", &invalid), of("completion", &invalid)), (None, Some((0.0, 1))));
}

#[test]
fn invalid_metric_specs_are_refused() {
    let wrong = |ask: &str| MetricQuery::parse(ask).map(|_| ()).unwrap_err();
    assert!(wrong("scorerate").starts_with("unknown metric \"scorerate\"; did you mean score_rate?"));
    assert_eq!(wrong("nra shape=win"), "metric nra: unknown argument \"shape\"; allowed: form, mode");
    assert_eq!(wrong("wdl by=x"), "metric wdl: unknown argument \"by\"; allowed: none");
    assert_eq!(wrong("nra form=won"), "metric nra: form: expected one of win, reward, got \"won\"");
    assert_eq!(wrong("elo k=many"), "metric elo: k: expected a number, got \"many\"");
    assert!(wrong("mean").starts_with("metric mean: missing argument of"));
    assert!(wrong("normalised of=nothing").contains("unknown metric \"nothing\""));
    assert_eq!(wrong("nra form"), "\"nra form\": expected name=value, got \"form\"");
    assert_eq!(wrong("nra form=win form=reward"), "\"nra form=win form=reward\": duplicate argument form");
    // Metric specs as text or table in a suite.
    #[derive(serde::Deserialize, serde::Serialize, PartialEq, Debug)]
    struct Suite {
        metrics: Vec<MetricSpec>,
    }
    let text = "metrics = [\"score_rate\", \"nra form=reward\", { id = \"elo\", k = 24 }]";
    let suite: Suite = toml::from_str(text).unwrap();
    assert_eq!(
        suite.metrics.iter().map(MetricSpec::to_string).collect::<Vec<_>>(),
        ["score_rate", "nra form=reward", "elo k=24"]
    );
    assert_eq!(toml::from_str::<Suite>(&toml::to_string(&suite).unwrap()).unwrap(), suite);
    assert!(suite.metrics.iter().all(|ask| MetricQuery::new(ask).is_ok()));
}

/// Checks that defaults fit their parameters, and that ids are unique words.
#[test]
fn metric_definitions_are_consistent() {
    let mut ids = BTreeSet::new();
    for metric in METRICS {
        assert!(ids.insert(metric.id), "{}", metric.id);
        assert!(!metric.formula.is_empty() && !metric.source.is_empty() && !metric.title.is_empty(), "{}", metric.id);
        for param in metric.params.iter().filter(|param| !param.default.is_empty()) {
            let given = [(param.name.to_owned(), toml::Value::String(param.default.to_owned()))].into();
            let others = metric.params.iter().filter(|p| p.default.is_empty());
            let mut given: std::collections::BTreeMap<_, _> = given;
            given.extend(others.map(|p| (p.name.to_owned(), toml::Value::String("length".into()))));
            Args::new(metric.params, &given).unwrap_or_else(|why| panic!("{}: {why}", metric.id));
            if param.takes == Takes::Metric && param.default != spec::NONE {
                MetricQuery::parse(param.default).unwrap();
            }
        }
    }
    assert!(USUAL.iter().all(|metric| ids.contains(metric.id)));
}
