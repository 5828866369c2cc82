use ludex_referee::read::Source;
use ludex_referee::result::GameResult;
use ludex_referee::rows::{MetricMatch, ResultTable, RowAgent, RowPart};
use ludex_referee::testing::{parts, play, seal};
use ludex_referee::verify::Verifier;

use super::*;

const NAMES: [&str; 4] = ["one", "one / cot", "two", "rival"];

/// Returns the results of matches in two parts (0 is tic-tac-toe, 1 is Kuhn poker). In each match, one of three
/// candidates plays `rival`.
fn results() -> Vec<(usize, Vec<usize>, GameResult)> {
    let verifier = Verifier::new(ludex_games::builtin());
    let mut out = Vec::new();
    for (part, game) in ["tic_tac_toe", "kuhn_poker"].into_iter().enumerate() {
        for seed in 0..4 {
            for agent in 0..3 {
                // The third candidate did not play the second part.
                if (part, agent) == (1, 2) {
                    continue;
                }
                let seats = if seed % 2 == 0 { [agent, 3] } else { [3, agent] };
                let record = play(game, &seats.map(|who| NAMES[who]), seed);
                let verified = verifier.verify(&parts(&seal(record)), Source::default()).unwrap();
                out.push((part, seats.to_vec(), verified.into_result()));
            }
        }
    }
    out
}

fn with_rows(of: impl FnOnce(&Rows)) {
    let results = results();
    let game = |text: &str| ludex_games::load(text).unwrap();
    let agent = |name: &&str| RowAgent { name: (*name).to_owned(), candidate: *name != "rival" };
    let matches = results.iter().enumerate().map(|(order, (part, players, result))| MetricMatch {
        order,
        level: Some(order as u32 % 2),
        ..MetricMatch::of(result, *part, players.clone())
    });
    of(&Rows::new(ResultTable {
        agents: NAMES.iter().map(agent).collect(),
        parts: vec![RowPart::of_game("ttt", &game("tic_tac_toe")), RowPart::of_game("kuhn", &game("kuhn_poker"))],
        matches: matches.collect(),
        ..ResultTable::default()
    }));
}

fn pages(rows: &Rows, text: &str) -> Vec<FigurePage> {
    let figure: Figure = toml::from_str(&format!("id = \"f\"\ntitle = \"F\"\n{text}")).unwrap();
    let groups =
        [("board".to_owned(), vec!["ttt".to_owned()]), ("all".to_owned(), vec!["ttt".to_owned(), "kuhn".to_owned()])];
    resolve(
        &figure,
        &FigureSource {
            rows,
            groups: &groups,
            pictures: &|part| {
                let strip = |name: &str| Strip {
                    name: name.to_owned(),
                    pictures: vec![super::super::data::StripPicture {
                        svg: "<svg></svg>".into(),
                        caption: part.to_owned(),
                    }],
                };
                vec![strip("one 1 \u{2013} two 0"), strip("")]
            },
        },
    )
}

fn grid(rows: &Rows, text: &str) -> Grid {
    match pages(rows, text).remove(0).data {
        Data::Grid(grid) => grid,
        other => panic!("{other:?}"),
    }
}

fn heads(grid: &Grid) -> Vec<String> {
    grid.columns.iter().map(GridColumn::full).collect()
}

/// Returns the value that the metric itself computes, for comparison with a figure.
fn number(rows: &Rows, metric: &str, agent: usize, part: usize) -> Option<Measurement> {
    MetricQuery::parse(metric).unwrap().number(&rows.of_part(part).of_agent(agent))
}

#[test]
fn table_has_rows_of_agents_columns_of_parts_and_means() {
    with_rows(|rows| {
        let grid = grid(rows, "kind = \"table\"\ncolumns = \"part\"\ncell = \"length\"\nmargins = [\"mean\"]");
        assert_eq!(grid.rows, ["one", "one / cot", "two", "mean"]);
        assert_eq!(heads(&grid), ["ttt", "kuhn", "mean"]);
        for agent in 0..3 {
            for part in 0..2 {
                assert_eq!(grid.at(agent, part), number(rows, "length", agent, part), "{agent} {part}");
            }
        }
        assert_eq!(grid.at(2, 1), None, "the agent did not play this part");
        let [ttt, kuhn] = [0, 1].map(|part| grid.at(0, part).unwrap().value);
        assert_eq!(grid.at(0, 2).unwrap().value, (ttt + kuhn) / 2.0);
        assert_eq!(grid.at(2, 2).unwrap().value, grid.at(2, 0).unwrap().value, "the mean ignores missing numbers");
        let column: f64 = (0..3).map(|agent| grid.at(agent, 0).unwrap().value).sum();
        assert_eq!(grid.at(3, 0).unwrap().value, column / 3.0);
        assert_eq!((grid.margin_rows, grid.margin_columns, grid.corner.as_str()), (1, 1, "Agent"));
    });
}

#[test]
fn each_metric_has_a_column() {
    with_rows(|rows| {
        let text =
            "kind = \"table\"\npart = \"ttt\"\ncell = [\"score_rate\", { metric = \"length\", title = \"Moves\" }]";
        let grid = grid(rows, text);
        assert_eq!(heads(&grid), ["Score", "Moves"]);
        assert_eq!(grid.at(0, 0), number(rows, "score_rate", 0, 0));
        assert!(grid.at(0, 0).unwrap().low.is_some());
    });
}

#[test]
fn figure_axes_may_list_variants_opponents_levels_or_groups() {
    with_rows(|rows| {
        let variants = grid(rows, "kind = \"matrix\"\npart = \"ttt\"\ncolumns = \"variant\"\ncell = \"length\"");
        assert_eq!(
            (variants.rows.as_slice(), heads(&variants)),
            (&["one".to_owned(), "two".to_owned()][..], vec!["plain".to_owned(), "cot".to_owned()])
        );
        assert_eq!(variants.at(0, 1), number(rows, "length", 1, 0));
        assert_eq!(variants.at(1, 1), None, "the agent has no such variant");
        assert_eq!(split_variant(rows, "a (b) / cot (kuhn: hint)"), ("a (b)".to_owned(), "cot, hint".to_owned()));
        assert_eq!(
            split_variant(rows, "a (chess: b)"),
            ("a (chess: b)".to_owned(), String::new()),
            "the suite has no such part"
        );
        let opponents = grid(rows, "kind = \"matrix\"\npart = \"ttt\"\ncolumns = \"opponent\"\ncell = \"score_rate\"");
        assert_eq!(heads(&opponents), ["rival"]);
        assert_eq!(opponents.at(0, 0), number(rows, "score_rate", 0, 0), "the agent met one opponent only");
        let levels =
            grid(rows, "kind = \"table\"\npart = \"ttt\"\nrows = \"level\"\ncolumns = \"agent\"\ncell = \"length\"");
        assert_eq!(levels.rows, ["level 0", "level 1"]);
        let level = rows.of_part(0).filtered(|game| game.level == Some(1)).of_agent(0);
        assert_eq!(levels.at(1, 0), MetricQuery::parse("length").unwrap().number(&level));
        let groups = grid(rows, "kind = \"table\"\ncolumns = \"group\"\ncell = \"length\"");
        assert_eq!(heads(&groups), ["board", "all"]);
        let both = [0, 1].map(|part| number(rows, "length", 0, part).unwrap().value);
        assert_eq!(groups.at(0, 1).unwrap().value, (both[0] + both[1]) / 2.0);
    });
}

#[test]
fn empty_pages_are_omitted() {
    with_rows(|rows| {
        let all = pages(rows, "kind = \"bars\"\npages = \"part\"\ncell = \"length\"");
        assert_eq!(all.iter().map(|page| page.name.as_str()).collect::<Vec<_>>(), ["ttt", "kuhn"]);
        let Data::Grid(kuhn) = &all[1].data else { panic!() };
        assert_eq!(kuhn.rows, ["one", "one / cot"], "agents without a number have no row");
        let each =
            pages(rows, "kind = \"table\"\nrows = \"opponent\"\npages = [\"part\", \"agent\"]\ncell = \"length\"");
        assert_eq!(each.len(), 5, "the third agent did not play kuhn");
        assert_eq!(each[1].name, "ttt, one / cot");
    });
}

#[test]
fn scatter_plots_and_strips_resolve_to_data() {
    with_rows(|rows| {
        let scatter =
            pages(rows, "kind = \"scatter\"\npart = \"ttt\"\nx = \"length\"\ny = \"score_rate\"").remove(0).data;
        let Data::Points(points) = scatter else { panic!() };
        assert_eq!(points.groups[0].points.len(), 3);
        let first = &points.groups[0].points[0];
        assert_eq!((first.label.as_str(), Some(first.x)), ("one", number(rows, "length", 0, 0).map(|m| m.value)));
        let pairs: Vec<(f64, f64)> = points.groups[0].points.iter().map(|p| (p.x, p.y)).collect();
        let r = ludex_referee::relation::pearson(&pairs);
        assert_eq!(points.fit.map(|fit| (fit.n, fit.r)), r.map(|r| (3, r)), "correlation of both metrics");
        let strips = pages(rows, "kind = \"strip\"\npages = \"part\"");
        let names: Vec<&str> = strips.iter().map(|page| page.name.as_str()).collect();
        assert_eq!(
            names,
            ["ttt, one 1 \u{2013} two 0", "ttt", "kuhn, one 1 \u{2013} two 0", "kuhn"],
            "one for each match"
        );
        let Data::Strip(strip) = &strips[2].data else { panic!() };
        assert_eq!(strip.pictures[0].caption, "kuhn");
    });
}

#[test]
fn figure_may_show_complement_of_metric_limited_to_parts() {
    with_rows(|rows| {
        let left = grid(rows, "kind = \"table\"\npart = \"ttt\"\ncell = { metric = \"score_rate\", from = 1 }");
        let (own, got) = (number(rows, "score_rate", 0, 0).unwrap(), left.at(0, 0).unwrap());
        assert_eq!(got.value, 1.0 - own.value);
        assert_eq!([got.low, got.high], [own.high, own.low].map(|end| end.map(|end| 1.0 - end)));
        // Two metrics under one heading are one kind of number, with one mean.
        let text = "kind = \"table\"\ncolumns = \"part\"\nmargins = [\"mean_column\"]\ncell = [\
            { metric = \"length\", title = \"score\", parts = [\"ttt\"] }, \
            { metric = \"score_rate\", title = \"score\", parts = [\"kuhn\"] }]";
        let both = grid(rows, text);
        assert_eq!(heads(&both), ["ttt", "kuhn", "mean"]);
        let want = [number(rows, "length", 0, 0), number(rows, "score_rate", 0, 1)].map(|m| m.unwrap().value);
        assert_eq!([both.at(0, 0), both.at(0, 1)].map(|m| m.unwrap().value), want);
        assert_eq!(both.at(0, 2).unwrap().value, (want[0] + want[1]) / 2.0);
    });
}

#[test]
fn pooled_margin_counts_all_matches() {
    with_rows(|rows| {
        let table = |more: &str| {
            let text = format!("{{ metric = \"length\"{more} }}");
            grid(rows, &format!("kind = \"table\"\ncolumns = \"part\"\nmargins = [\"mean_column\"]\ncell = {text}"))
        };
        let pooled = table(", pool = true");
        assert_eq!(heads(&pooled), ["ttt", "kuhn", "pooled"]);
        let whole = MetricQuery::parse("length").unwrap().number(&rows.of_agent(0));
        assert_eq!(pooled.at(0, 2), whole);
        let each = [0, 1].map(|part| number(rows, "length", 0, part).unwrap().value);
        assert_eq!(table("").at(0, 2).unwrap().value, (each[0] + each[1]) / 2.0);
        let alone = grid(rows, "kind = \"bars\"\ncell = { metric = \"length\", pool = true }");
        assert_eq!(alone.at(0, 0), whole);
    });
}

#[test]
fn rows_are_compared_to_the_baseline() {
    with_rows(|rows| {
        let table = grid(rows, "kind = \"table\"\npart = \"ttt\"\nbaseline = \"one\"\ncell = \"length\"");
        assert_eq!(table.columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["Length", "Length, difference"]);
        let own = [0, 1].map(|agent| number(rows, "length", agent, 0).unwrap().value);
        assert_eq!([table.at(0, 1), table.at(1, 1)].map(|m| m.map(|m| m.value)), [None, Some(own[1] - own[0])]);
    });
}

#[test]
fn series_with_equal_names_share_an_index_across_pages() {
    let page = |names: &[&str]| {
        let lines = names.iter().map(|name| ChartLine { name: (*name).to_owned(), ..ChartLine::default() });
        FigurePage {
            name: String::new(),
            data: Data::Lines(LineChart { lines: lines.collect(), ..LineChart::default() }),
            matches: MatchConditions::default(),
        }
    };
    let mut drawn = [page(&["one", "two"]), page(&["two", "three"]), page(&["one"])];
    number_series(&mut drawn);
    let places = drawn.map(|page| match page.data {
        Data::Lines(data) => data.lines.iter().map(|line| line.series).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    });
    assert_eq!(places, [vec![0, 1], vec![1, 2], vec![0]]);
    with_rows(|rows| {
        let all =
            pages(rows, "kind = \"bars\"\nrows = \"agent\"\ncolumns = \"part\"\npages = \"level\"\ncell = \"length\"");
        for page in &all {
            let Data::Grid(grid) = &page.data else { panic!() };
            let series: Vec<_> = grid.columns.iter().map(|column| (column.name.as_str(), column.series)).collect();
            assert!(series.iter().all(|own| [("ttt", Some(0)), ("kuhn", Some(1))].contains(own)), "{series:?}");
        }
    });
}

#[test]
fn figure_covers_only_the_selected_matches() {
    with_rows(|rows| {
        let table = |more: &str| grid(rows, &format!("kind = \"table\"\npart = \"ttt\"\ncell = \"length\"\n{more}"));
        let n =
            |grid: &Grid| -> Vec<Option<u64>> { (0..grid.rows.len()).map(|row| Some(grid.at(row, 0)?.n)).collect() };
        let counted = |keep: &dyn Fn(&MetricMatch, usize) -> bool, agent: usize| {
            let own = rows.of_part(0).filtered(|game| keep(game, agent));
            number(&own, "length", agent, 0).map(|measure| measure.n)
        };
        let against = table("where = { opponent = \"rival\" }");
        let rival = NAMES.iter().position(|name| *name == "rival").unwrap();
        let expected: Vec<_> = (0..3).map(|agent| counted(&|game, _| game.players.contains(&rival), agent)).collect();
        assert_eq!(n(&against), expected.iter().filter(|n| n.is_some()).copied().collect::<Vec<_>>());
        let level = table("where = { level = [1] }");
        assert!(n(&level).iter().flatten().sum::<u64>() < n(&table("")).iter().flatten().sum(), "one of two levels");
        let cot = table("where = { variant = \"cot\", seat = [0, 1] }");
        assert!(
            cot.rows.contains(&"one / cot".to_owned()) && n(&cot).iter().flatten().sum::<u64>() > 0,
            "{:?}",
            cot.rows
        );
        assert!(
            pages(rows, "kind = \"table\"\ncell = \"length\"\nwhere = { opponent = \"nobody\" }")[0].data.is_empty()
        );
    });
}
