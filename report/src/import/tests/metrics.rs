//! Metrics computed by hand from tables.

use ludex_referee::metric::{Measurement, MetricQuery, Value};

use super::super::{Import, ImportFormat};

/// Returns a metric's value for an agent of a table, or for the whole table if `agent` is "all".
#[track_caller]
fn value(table: &str, ask: &str, agent: &str) -> Option<Value> {
    let import = Import::read(table, ImportFormat::Csv, false).unwrap();
    let asked = MetricQuery::parse(ask).unwrap();
    import.feeds(&asked).unwrap();
    let rows = import.rows();
    match rows.agent_index(agent) {
        Some(agent) => asked.of(&rows.of_agent(agent)),
        None => asked.of(&rows),
    }
}

#[track_caller]
fn near(table: &str, ask: &str, agent: &str, want: f64) {
    let got = value(table, ask, agent).and_then(|value| value.number()).map(|m| m.value);
    assert!(got.is_some_and(|got| (got - want).abs() < 1e-9), "{ask} of {agent:?}: {got:?} is not {want}");
}

#[track_caller]
fn shares(table: &str, ask: &str, agent: &str, want: &[(&str, f64)]) {
    let Some(Value::Shares(got)) = value(table, ask, agent) else { panic!("{ask}: no shares") };
    let got: Vec<(&str, f64)> = got.iter().map(|(name, m)| (name.as_str(), m.value)).collect();
    let alike = got.len() == want.len() && got.iter().zip(want).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-9);
    assert!(alike, "{ask} of {agent}: {got:?} is not {want:?}");
}

const RESULTS: &str = "part,agent,opponent,wins,draws,losses,level,planned
gomoku,A,anchor 0,16,0,0,0,16
gomoku,A,anchor 1,20,0,12,1,40
gomoku,A,anchor 2,5,2,25,2,32
gomoku,B,anchor 0,8,0,8,0,16
gomoku,B,anchor 1,0,32,0,1,32
";

#[test]
fn metrics_of_result_tables_equal_hand_computed_values() {
    // Level 2 is not passed: progress is 200 * 5 / 30 or, with `form=corrected`, 200 * (5 + 1) / 32.
    shares(RESULTS, "level", "A", &[("level", 2.0), ("progress", 100.0 / 3.0)]);
    shares(RESULTS, "level form=corrected", "A", &[("level", 2.0), ("progress", 37.5)]);
    near(RESULTS, "level of=total", "A", 2.0 + 1.0 / 3.0);
    // Half of the decided matches passes a level; a level without decided matches is not passed.
    shares(RESULTS, "level", "B", &[("level", 1.0)]);
    // (41 - 37) / 78.
    near(RESULTS, "nra", "A", 4.0 / 78.0);
    // 80 of 88 planned matches were played.
    near(RESULTS, "completion", "A", 80.0 / 88.0);
    near(RESULTS, "score_rate", "B", 24.0 / 48.0);
    shares(RESULTS, "wdl", "A", &[("wins", 41.0), ("draws", 2.0), ("losses", 37.0)]);
}

/// Tic-tac-toe at its top level, whose bot cannot be beaten: 19 draws in 32 matches are 59.4 % (BotzoneBench, table 2).
#[test]
fn level_with_draws_needs_their_meaning() {
    let rows = "ttt,A,anchor 0,16,0,0,0\nttt,A,anchor 1,0,19,13,1\n";
    let plain = format!("part,agent,opponent,wins,draws,losses,level\n{rows}");
    let asked = MetricQuery::parse("level").unwrap();
    let import = Import::read(&plain, ImportFormat::Csv, false).unwrap();
    let why = import.feeds(&asked).unwrap_err().to_string();
    assert!(why.contains("A drew 19 and won none") && why.contains("expected a column drawn"), "{why}");
    shares(&plain, "level drawn=yes", "A", &[("level", 1.0), ("progress", 59.375)]);
    shares(&plain, "level drawn=no", "A", &[("level", 1.0), ("progress", 0.0)]);
    let told = format!("part,agent,opponent,wins,draws,losses,level,drawn\n{}", rows.replace('\n', ",yes\n"));
    shares(&told, "level", "A", &[("level", 1.0), ("progress", 59.375)]);
    let mixed = Import::read(&told.replacen("yes", "no", 1), ImportFormat::Csv, false).unwrap_err().to_string();
    assert!(mixed.contains("row 3, column drawn: expected no as in the part's other rows"), "{mixed}");
}

#[test]
fn means_and_correlations_of_scores_cover_several_parts() {
    let table = "agent,part,value\nA,orr,0.5\nA,csr,1\nB,orr,0.25\nC,orr,1\nC,csr,0.5\n";
    shares(table, "mean_over_parts", "all", &[("A", 0.75), ("B", 0.25), ("C", 0.75)]);
    near(table, "correlation x_part=orr y_part=csr", "all", -1.0);
    let same = MetricQuery::parse("correlation").err().unwrap();
    assert!(same.contains("expected different x and y"), "{same}");
}

/// Three players in two cycles. In the first, A beats B, B beats C and C beats A. In the second, A wins both its
/// matches and B beats C.
const MATCHES: &str = "part,cycle,order,a,b,score_a,return_a,return_b,first
duel,0,1,A,B,1,5,1,a
duel,0,2,B,C,1,2,2,b
duel,0,3,C,A,1,3,0,a
duel,1,1,A,B,1,4,0,b
duel,1,2,B,C,1,1,0,a
duel,1,3,C,A,0,0,6,b
";

#[test]
fn metrics_of_match_tables_equal_hand_computed_values() {
    // First cycle: A (1516 after its win against B), then B (1484) beats C (1500), then C beats A.
    let expected = |a: f64, b: f64| 1.0 / (1.0 + 10f64.powf((b - a) / 400.0));
    let b = 1484.0 + 32.0 * (1.0 - expected(1484.0, 1500.0));
    let c = 1500.0 - 32.0 * (1.0 - expected(1484.0, 1500.0));
    let first = 1516.0 - 32.0 * (1.0 - expected(c, 1516.0));
    // Ratings restart in the second cycle, whose results differ only in the last match.
    let second = 1516.0 + 32.0 * (1.0 - expected(1516.0, c));
    near(MATCHES, "elo_cycles", "A", (first + second) / 2.0);
    near(MATCHES, "elo_cycles", "B", b);
    let once = "part,cycle,order,a,b,score_a\np,0,2,B,A,1\np,0,1,A,B,1\n";
    near(once, "elo", "A", 1516.0 - 32.0 * (1.0 - expected(1484.0, 1516.0)));
    near(once, "elo k=10 start=0", "A", 5.0 - 10.0 * (1.0 - expected(-5.0, 5.0)));
    // Matches count in plan order, not in row order. After one win, the skills equal those of the Python package.
    let win = "part,cycle,order,a,b,score_a\np,0,1,A,B,1\n";
    let skill = value(win, "trueskill", "A").unwrap().number().unwrap().value;
    assert!((skill - 29.395_83).abs() < 1e-4, "{skill}");
    let change = value(win, "trueskill of=change", "B").unwrap().number().unwrap().value;
    assert!((change - 4.395_83).abs() < 1e-4, "{change}");
    near(win, "trueskill of=sigma", "A", 7.171_475_587_326_186);
    near(win, "trueskill of=conservative", "A", 29.395_832_019_999_16 - 3.0 * 7.171_475_587_326_186);
    // A won 3 of 4; rewards 5 + 0 + 4 + 6 against 1 + 3 + 0 + 0.
    near(MATCHES, "nra", "A", 0.5);
    near(MATCHES, "nra form=reward", "A", 11.0 / 19.0);
    near(MATCHES, "mean_return", "A", 15.0 / 4.0);
    shares(MATCHES, "wdl_cycles", "A", &[("wins", 1.5), ("draws", 0.0), ("losses", 0.5)]);
    // The first seat won matches 1, 3, 5 and 6; b moved first in match 6.
    near(MATCHES, "first_seat", "all", 4.0 / 6.0);
    // A won matches 1 and 6, in which it moved first, and one of the matches 3 and 4.
    near(MATCHES, "fma of=score_rate", "A", 0.5);
}

#[test]
fn metrics_of_pair_tables_equal_hand_computed_values() {
    let Some(Value::Matrix(all)) = value(MATCHES, "crosstable", "all") else { panic!("no matrix") };
    assert_eq!((&all.rows, &all.columns), (&["A", "B", "C"].map(str::to_owned).to_vec(), &all.rows));
    let score = |a: usize, b: usize| all.cells[a][b].map(|m| (m.value, m.n));
    let want = [
        [None, Some((1.0, 2)), Some((0.5, 2))],
        [Some((0.0, 2)), None, Some((1.0, 2))],
        [Some((0.5, 2)), Some((0.0, 2)), None],
    ];
    assert_eq!([0, 1, 2].map(|a| [0, 1, 2].map(|b| score(a, b))), want, "each beat the next twice, A and C one each");
    // Wilson for 1 of 2: 1/2 +- (z sqrt(1/8 + z^2/16)) / (1 + z^2/2), for 2 of 2 the lower end is 2 / (2 + z^2).
    let z = 1.959_963_984_540_054_f64;
    let half = z * (0.125 + z * z / 16.0).sqrt() / (1.0 + z * z / 2.0);
    let ends = |a: usize, b: usize| all.cells[a][b].map(|m| [m.low.unwrap(), m.high.unwrap()]).unwrap();
    for (got, want) in [(ends(0, 2), [0.5 - half, 0.5 + half]), (ends(0, 1), [2.0 / (2.0 + z * z), 1.0])] {
        assert!(got.iter().zip(want).all(|(got, want)| (got - want).abs() < 1e-9), "{got:?} is not {want:?}");
    }
}

#[test]
fn win_graphs_equal_hand_computed_values() {
    let Some(Value::Graph(best)) = value(MATCHES, "plg", "all") else { panic!("no graph") };
    let edges: Vec<(usize, usize, f64)> = best.edges.iter().map(|e| (e.from, e.to, e.weight)).collect();
    // A and C are equal over both cycles: no edge.
    assert_eq!((best.nodes.concat(), edges), ("ABC".to_owned(), vec![(0, 1, 2.0), (1, 2, 2.0)]));
    near(MATCHES, "degree", "A", 1.0);
    near(MATCHES, "degree side=in", "A", 0.0);
    // One loop in the first cycle, none in the second.
    near(MATCHES, "loops of=triangles rule=cycles", "all", 0.5);
    near(MATCHES, "loops of=dfs", "all", 0.0);
    near(MATCHES, "degree rule=cycles", "A", 1.5);
    let circle = "part,cycle,order,a,b,score_a\np,0,1,A,B,1\np,0,2,B,C,1\np,0,3,C,A,1\n";
    near(circle, "alpha_rank", "B", 1.0 / 3.0);
    near(circle, "nash_averaging", "C", 1.0 / 3.0);
    near(circle, "nash_averaging of=payoff", "C", 0.0);
    shares(
        circle,
        "loops length=3",
        "all",
        &[
            ("dfs", 1.0),
            ("dfs_longest", 3.0),
            ("triangles", 1.0),
            ("triangle_share", 1.0),
            ("components", 1.0),
            ("largest", 3.0),
            ("feedback", 1.0),
            ("simple", 1.0),
            ("longest", 3.0),
        ],
    );
    // Alpha-rank and Nash averaging are absent if a pair never met.
    let apart = "part,cycle,order,a,b,score_a\np,0,1,A,B,1\np,0,2,C,D,1\n";
    assert_eq!((value(apart, "alpha_rank", "A"), value(apart, "nash_averaging", "A")), (None, None));
}

#[test]
fn glicko_uses_cycles_as_rating_periods() {
    use ludex_referee::rating::glicko::GlickoSkill;
    let start = GlickoSkill { rating: 1500.0, deviation: 350.0, volatility: 0.06 };
    let once = "part,cycle,order,a,b,score_a\np,0,1,A,B,1\np,0,2,C,A,1\np,1,1,A,B,1\n";
    // Within a period, opponents have the skill that they had before the period.
    let first = start.after_games(&[(start, 1.0), (start, 0.0)]);
    let b = start.after_games(&[(start, 0.0)]);
    let second = first.after_games(&[(b, 1.0)]);
    near(once, "glicko2", "A", second.rating);
    near(once, "glicko2 of=deviation", "A", second.deviation);
    // With `period=match`, B's loss is rated before B's next match.
    let a = start.after_games(&[(start, 1.0)]);
    let c = start.after_games(&[]);
    let after = a.after_games(&[(c, 0.0)]).after_games(&[(b.after_games(&[]), 1.0)]);
    near(once, "glicko2 period=match", "A", after.rating);
    // 30 wins and 10 losses against random = 0: docs/ratings.md has 185.2.
    let table = "part,agent,opponent,wins,draws,losses\np,A,random,30,0,10\n";
    let rating = value(table, "anchored fixed=random=0 resamples=0", "A").unwrap().number().unwrap().value;
    assert_eq!(format!("{rating:.1}"), "185.2");
}

const SCORES: &str = "agent,part,value
m1,skill,29.02
m2,skill,18.85
m3,skill,-4
m1,bid,0.1
m2,bid,0.3
m3,bid,0.4
";

#[test]
fn metrics_of_score_tables_equal_hand_computed_values() {
    let skill = |ask: &str, agent: &str| {
        let import = Import::read(SCORES, ImportFormat::Csv, false).unwrap();
        let rows = import.rows().of_part(0);
        MetricQuery::parse(ask).unwrap().number(&rows.of_agent(rows.agent_index(agent).unwrap())).map(|m| m.value)
    };
    // LLMArena, table 1: 18.85 of 29.02.
    assert_eq!(format!("{:.2}", skill("normalised", "m2").unwrap()), "64.96");
    assert_eq!((skill("normalised", "m1"), skill("normalised", "m3")), (Some(100.0), Some(0.0)));
    assert_eq!(skill("normalised", "m2"), skill("normalised of=value", "m2"));
    near(SCORES, "correlation x_part=skill y_part=bid form=spearman", "all", -1.0);
}

/// Emotions of two cycles; B's letters do not affect A's values.
const DECISIONS: &str = "agent,part,cycle,match,ply,result,name,value
A,gomoku,0,1,1,win,emotion,A
A,gomoku,0,1,2,win,emotion,E
A,gomoku,0,2,1,draw,emotion,D
A,gomoku,1,3,1,loss,emotion,C
B,gomoku,0,1,1,loss,emotion,A
A,poker,0,1,1,win,action,fold
A,poker,0,1,1,win,equity,0.2
A,poker,0,1,1,win,could,0
A,poker,0,1,2,win,action,raise
A,poker,0,1,2,win,equity,0.7
A,poker,0,1,2,win,could,1
A,poker,0,2,1,loss,action,fold
A,poker,0,2,1,loss,equity,0.4
A,poker,0,2,1,loss,could,1
";

#[test]
fn emotion_metrics_equal_hand_computed_values() {
    // First cycle (-2 + 2 + 1) / 3, second 0.
    near(DECISIONS, "pss", "A", 1.0 / 6.0);
    near(DECISIONS, "pss form=pooled", "A", 0.25);
    shares(DECISIONS, "pss form=result", "A", &[("win", 0.0), ("draw", 1.0), ("loss", 0.0)]);
    let Some(Value::Series(plies)) = value(DECISIONS, "pss form=ply", "A") else { panic!("no series") };
    let plies: Vec<(f64, f64, u64)> = plies.iter().map(|(ply, m)| (*ply, m.value, m.n)).collect();
    assert_eq!(plies, [(1.0, -1.0 / 3.0, 3), (2.0, 2.0, 1)]);
    near(DECISIONS, "pss", "B", -2.0);
    shares(DECISIONS, "share of=emotion", "A", &[("A", 0.25), ("C", 0.25), ("D", 0.25), ("E", 0.25)]);
}

#[test]
fn mark_metrics_equal_hand_computed_values() {
    shares(DECISIONS, "mean of=equity by=action", "A", &[("fold", 0.3), ("raise", 0.7)]);
    near(DECISIONS, "mean of=equity", "A", 1.3 / 3.0);
    // 0.9 in the first match, 0.4 in the second.
    near(DECISIONS, "mean of=equity per=match", "A", 0.65);
    near(DECISIONS, "share of=action is=fold", "A", 2.0 / 3.0);
    near(DECISIONS, "share of=action is=fold where=could", "A", 0.5);
    near(DECISIONS, "share of=equity is=>=0.5", "A", 1.0 / 3.0);
    near(DECISIONS, "share of=action is=fold where=equity when=>=0.3", "A", 0.5);
    near(DECISIONS, "distinct of=action where=equity when=0.3..0.5", "A", 1.0);
    shares(DECISIONS, "share of=action by=action", "A", &[("fold", 2.0 / 3.0), ("raise", 1.0 / 3.0)]);
    near(DECISIONS, "distinct of=action", "A", 2.0);
    shares(DECISIONS, "share of=action is=fold by=could", "A", &[("0", 1.0), ("1", 0.5)]);
    let Some(Value::Points(points)) = value(DECISIONS, "points y=equity", "A") else { panic!("no points") };
    assert_eq!(points.iter().map(|p| (p.x, p.y)).collect::<Vec<_>>(), [(1.0, 0.2), (2.0, 0.7), (1.0, 0.4)]);
    let Some(Value::Quantiles(spread)) = value(DECISIONS, "quantiles of=equity", "A") else { panic!("no quantiles") };
    assert_eq!((spread.n, spread.min, spread.median, spread.max), (3, 0.2, 0.4, 0.7));
    assert_eq!(value(DECISIONS, "mean of=regret", "A"), None);
}

/// Rounds of two matches. In the first match, A revises first, before rounds 2, 4 and 6; the second match has one
/// round.
const ROUNDS: &str = "game,agent,opponent,side,first,match,round,won,cost,budget,violations,changed,kept,value
td,A,O,human,1,1,1,0,90,100,0,0,0,-0.5
td,A,O,human,1,1,2,0,120,100,1,1,0,-1
td,A,O,human,1,1,3,0,120,100,1,0,0,-1
td,A,O,human,1,1,4,1,95,100,0,1,0,0.4
td,A,O,human,1,1,5,1,95,100,0,0,0,0.3
td,A,O,human,1,1,6,1,95,100,0,0,1,0.5
td,A,O,demon,0,2,1,1,80,100,0,0,0,1
";

#[test]
fn round_metrics_equal_hand_computed_values() {
    near(ROUNDS, "wr", "A", 4.0 / 7.0);
    near(ROUNDS, "wr scope=decided", "A", 2.0 / 3.0);
    let Some(Value::Series(steps)) = value(ROUNDS, "wr scope=decided by=step", "A") else { panic!("no series") };
    assert_eq!(steps.iter().map(|(k, m)| (*k, m.value)).collect::<Vec<_>>(), [(1.0, 0.0), (2.0, 1.0), (3.0, 1.0)]);
    near(ROUNDS, "init_win", "A", 0.5);
    // After the lost rounds 1 and 3, A changed its strategy; round 5 was won, so it does not count.
    near(ROUNDS, "orr", "A", 1.0);
    // The costs at the agent's own steps are 90, 120, 95 and 95: two of three steps change the cost.
    near(ROUNDS, "orr form=repo", "A", 2.0 / 3.0);
    near(ROUNDS, "csr", "A", 0.5);
    // Wins 0, 1, 1; all rounds of the first match 0, 0, 0, 1, 1, 1: slope 4.5 / 17.5.
    near(ROUNDS, "slope", "A", 0.5);
    near(ROUNDS, "slope scope=all", "A", 4.5 / 17.5);
    near(ROUNDS, "obr", "A", 0.5);
    near(ROUNDS, "obr form=rounds", "A", 2.0 / 7.0);
    near(ROUNDS, "rvr", "A", 0.0);
    // The two revisions change the value from -0.5 to -1, and from -1 to 0.4.
    near(ROUNDS, "cnstr", "A", 0.5);
    near(ROUNDS, "fma of=wr", "A", 0.5 - 1.0);
    let mended = ROUNDS.replace("td,A,O,human,1,1,4,1,", "td,A,O,human,1,1,4,0,");
    near(&mended, "csr", "A", 0.5);
    near(&mended, "csr form=repo", "A", 0.0);
}

#[test]
fn similarity_equals_hand_computed_values() {
    // Marks of a record in the format of a decisions table.
    let mut table = "agent,part,cycle,match,ply,result,name,value\n".to_owned();
    for (name, value) in [("round", 2.0), ("revised", 1.0), ("structural", 0.5), ("semantic", 0.9), ("functional", 0.7)]
    {
        table += &format!("A,td,0,1,2,win,{name},{value}\n");
    }
    let import = Import::read(&table, ImportFormat::Csv, false).unwrap();
    let rows = import.rows();
    let of = |ask: &str| MetricQuery::parse(ask).unwrap().number(&rows.of_agent(0)).map(|m: Measurement| m.value);
    assert!((of("mssr").unwrap() - 0.7).abs() < 1e-12);
    assert_eq!(of("mssr of=semantic"), Some(0.9));
}
