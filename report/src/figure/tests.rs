//! Tests that draw each kind from fixed numbers; the expected drawings are in `tests/data/figures`.

use std::path::PathBuf;

use ludex_referee::metric::Measurement;
use ludex_referee::metric::{Edge, Graph, Point, Quantiles};
use ludex_referee::suite::figure::Highlight;
use strum::VariantNames as _;

use super::data::*;
use super::*;

const HOSTILE: &str = "<script>alert(1)</script>\u{202e}\"&'";

fn m(value: f64) -> Option<Measurement> {
    Some(Measurement { value, low: Some(value - 0.08), high: Some(value + 0.06), n: 40 })
}

fn bare(value: f64) -> Option<Measurement> {
    Some(Measurement { value, low: None, high: None, n: 12 })
}

fn axis(title: &str, unit: &str, digits: usize) -> Axis {
    Axis { title: title.into(), unit: unit.into(), digits }
}

fn columns(names: &[&str], of: &Axis) -> Vec<GridColumn> {
    names.iter().map(|n| GridColumn { name: (*n).into(), axis: of.clone(), ..GridColumn::default() }).collect()
}

fn names(of: &[&str]) -> Vec<String> {
    of.iter().map(|n| (*n).to_owned()).collect()
}

fn agents(count: usize) -> Vec<String> {
    let known = ["mcts sims=1000", "random", "gpt-4.1-mini / cot", "claude-haiku / tree of thoughts", HOSTILE];
    (0..count).map(|k| known.get(k).map_or(format!("agent {k}"), |n| (*n).to_owned())).collect()
}

/// Returns pseudorandom numbers that are equal on every platform.
fn some(k: usize) -> f64 {
    ((k * 7919 + 104_729) % 997) as f64 / 997.0
}

fn grid(rows: usize) -> Grid {
    let score = axis("Score", "share of points", 3);
    let cells = (0..rows).map(|r| (0..3).map(|c| if r == 1 && c == 2 { None } else { m(some(r * 3 + c)) }).collect());
    Grid {
        corner: "Agent".into(),
        rows: agents(rows),
        columns: columns(&["connect_four", "breakthrough", "kuhn_poker"], &score),
        cells: cells.collect(),
        highlight: Some(Highlight::Best),
        ..Grid::default()
    }
}

fn with_margins() -> Grid {
    let mut grid = grid(5);
    for (k, column) in grid.columns.iter_mut().enumerate() {
        column.under = if k < 2 { "board".into() } else { "cards".into() };
    }
    grid.rows.push("mean".into());
    grid.cells.push(vec![bare(0.5), bare(0.25), bare(-0.0001)]);
    grid.margin_rows = 1;
    grid
}

fn shares() -> Grid {
    let mut grid = grid(5);
    grid.columns = columns(&["fold", "check", "call", "raise", "all_in"], &axis("Actions", "share", 3));
    let share = |r: usize, c: usize| bare(((r + c) % 5) as f64 / 10.0);
    grid.cells = (0..5).map(|r| (0..5).map(|c| if r == 1 { None } else { share(r, c) }).collect()).collect();
    grid
}

fn signed() -> Grid {
    let names = agents(5);
    let cells = |r: usize| (0..5).map(|c| if r == c { None } else { m(some(r + c) * 2.0 - 1.0) }).collect();
    Grid {
        corner: "Agent".into(),
        columns: names
            .iter()
            .map(|n| GridColumn { name: n.clone(), axis: axis("NRA", "", 2), ..GridColumn::default() })
            .collect(),
        rows: names,
        cells: (0..5).map(cells).collect(),
        ..Grid::default()
    }
}

fn signed_rows(rows: usize) -> Grid {
    let value = |r: usize, c: usize| bare(some(r * 7 + c * 3) * 1.5 - 0.75);
    let names = ["board", "bid", "bluff", "math", "collaboration", "complete", "incomplete"];
    Grid {
        corner: "Agent".into(),
        columns: columns(&names, &axis("NRA", "", 2)),
        rows: agents(rows),
        cells: (0..rows).map(|r| (0..names.len()).map(|c| value(r, c)).collect()).collect(),
        ..Grid::default()
    }
}

fn rounds(lines: usize, points: usize) -> LineChart {
    let line = |k: usize| ChartLine {
        series: k,
        name: agents(lines)[k].clone(),
        points: (0..points).map(|x| (x as f64 + 1.0, m(some(k * 31 + x) * 0.5 + 0.2).unwrap())).collect(),
    };
    LineChart { x: axis("Round", "", 0), y: axis("Win rate", "share", 2), lines: (0..lines).map(line).collect() }
}

fn boxes(rows: usize) -> Boxes {
    let of = |k: usize| {
        let mut v = [some(k), some(k + 9), some(k + 23), some(k + 40), some(k + 71)].map(|v| v * 30.0 - 12.0);
        v.sort_by(f64::total_cmp);
        Quantiles { n: 50, min: v[0], q1: v[1], median: v[2], q3: v[3], max: v[4], mean: v.iter().sum::<f64>() / 5.0 }
    };
    let one = |k: usize| NamedBox { name: agents(rows)[k].clone(), quantiles: (k != 1 || rows == 1).then(|| of(k)) };
    Boxes { value: axis("Deviation of bids", "chips", 1), boxes: (0..rows).map(one).collect() }
}

fn points(count: usize, groups: usize) -> Points {
    let names = agents(count);
    let point = |k: usize| Point { x: 900.0 + some(k) * 700.0, y: some(k + 3) * 3.0 - 1.5, label: names[k].clone() };
    let group = |g: usize| PointGroup {
        series: g,
        name: if groups == 1 { String::new() } else { format!("group {g}") },
        points: (0..count).filter(|k| k % groups == g).map(point).collect(),
    };
    Points {
        x: axis("Elo", "", 0),
        y: axis("Positive sentiment", "\u{2212}2 to 2", 2),
        groups: (0..groups).map(group).collect(),
        fit: (count > 2).then_some(Fit { n: count as u64, r: -0.213, p: Some(0.42) }),
        frontier: false,
    }
}

/// Scores against costs of several magnitudes.
fn costs() -> Points {
    let mut data = points(12, 3);
    for (k, point) in data.groups.iter_mut().flat_map(|group| &mut group.points).enumerate() {
        (point.x, point.y) = (0.0003 * 2.7f64.powf(some(k) * 9.0), some(k + 3));
    }
    Points { x: axis("Dollars per match", "USD", 4), y: axis("Score", "share", 2), fit: None, frontier: true, ..data }
}

fn moods() -> Points {
    let point = |k: usize| Point {
        x: (some(k) * some(k + 5) * 40.0).floor(),
        y: (some(k * 3) * 5.0).floor() - 2.0,
        label: String::new(),
    };
    let points = (0..500).map(point).collect();
    Points {
        x: axis("Round", "", 0),
        y: axis("Sentiment", "", 0),
        groups: vec![PointGroup { name: String::new(), points, series: 0 }],
        fit: None,
        frontier: false,
    }
}

fn arrows(count: usize, highlight: Option<usize>) -> Arrows {
    let mut edges = Vec::new();
    for a in 0..count {
        for b in a + 1..count {
            match some(a * 40 + b) {
                s if s < 0.45 => edges.push(Edge { from: a, to: b, weight: 1.0 }),
                s if s < 0.85 => edges.push(Edge { from: b, to: a, weight: 2.0 }),
                _ => {}
            }
        }
    }
    Arrows { graph: Graph { nodes: agents(count), edges }, highlight }
}

fn strip() -> Strip {
    let board =
        "<svg viewBox=\"0 0 30 30\"><rect width=\"30\" height=\"30\" fill=\"none\" stroke=\"currentColor\"/></svg>";
    let picture = |k: usize| StripPicture { svg: board.into(), caption: format!("Move {k}") };
    let mut pictures: Vec<StripPicture> = (1..6).map(picture).collect();
    pictures[4].caption = HOSTILE.into();
    Strip { name: String::new(), pictures }
}

/// Returns every drawing that is compared with a stored file: file name, kind and data.
fn gallery() -> Vec<(&'static str, &'static str, Data)> {
    vec![
        ("table", "table", Data::Grid(with_margins())),
        ("table_one", "table", Data::Grid(grid(1))),
        ("matrix", "matrix", Data::Grid(signed())),
        ("bars", "bars", Data::Grid(grid(5))),
        ("bars_one", "bars", Data::Grid(grid(1))),
        (
            "bars_forty",
            "bars",
            Data::Grid(Grid {
                rows: (0..40).map(|k| format!("agent {k}")).collect(),
                columns: grid(1).columns[..1].to_vec(),
                ..grid(40)
            }),
        ),
        ("stacked", "stacked", Data::Grid(shares())),
        ("lines", "lines", Data::Lines(rounds(3, 5))),
        ("lines_many", "lines", Data::Lines(rounds(12, 8))),
        ("lines_one", "lines", Data::Lines(rounds(1, 1))),
        ("box", "box", Data::Boxes(boxes(5))),
        ("box_one", "box", Data::Boxes(boxes(1))),
        ("scatter", "scatter", Data::Points(points(12, 1))),
        ("scatter_groups", "scatter", Data::Points(points(40, 3))),
        ("scatter_one", "scatter", Data::Points(points(1, 1))),
        ("scatter_frontier", "scatter", Data::Points(costs())),
        ("hexbin", "hexbin", Data::Points(moods())),
        ("radar", "radar", Data::Grid(Grid { rows: names(&["one", "two", HOSTILE]), ..shares() })),
        ("radar_many", "radar", Data::Grid(signed_rows(7))),
        ("graph", "graph", Data::Arrows(arrows(20, Some(3)))),
        ("graph_small", "graph", Data::Arrows(arrows(5, None))),
        ("strip", "strip", Data::Strip(strip())),
        ("empty", "bars", Data::Grid(Grid::default())),
    ]
}

fn drawing(kind: &str, data: &Data, title: &str) -> String {
    draw(kind.parse().unwrap(), data, title)
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/data/figures")
}

#[test]
fn drawings_equal_the_stored_files() {
    let mut kinds: Vec<&str> = Vec::new();
    for (name, kind, data) in gallery() {
        let drawn = drawing(kind, &data, "A title of <b>");
        assert_eq!(drawn, drawing(kind, &data, "A title of <b>"), "equal numbers give equal drawings");
        let file = folder().join(format!("{name}.{}", if drawn.starts_with("<svg") { "svg" } else { "html" }));
        if std::env::var_os("LUDEX_REGENERATE").is_some() {
            std::fs::write(&file, &drawn).unwrap();
        }
        assert_eq!(drawn, std::fs::read_to_string(&file).unwrap(), "{name}; LUDEX_REGENERATE=1 writes it again");
        kinds.push(kind);
    }
    assert!(FigureKind::VARIANTS.iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
}

#[test]
fn drawings_are_escaped_and_have_titles() {
    for (name, kind, data) in gallery() {
        let drawn = drawing(kind, &data, "A title of <b>");
        assert!(!drawn.contains("<script") && !drawn.contains("<b>"), "{name}");
        assert!(drawn.chars().all(|c| c != '\u{202e}' && (!c.is_control() || c == '\n')), "{name}");
        for outside in ["http", "href", "src=", "url(", "@import", "NaN", "inf"] {
            assert!(!drawn.contains(outside), "{name}: {outside}");
        }
        if drawn.starts_with("<svg") {
            assert!(drawn.contains("<title>A title of &lt;b&gt;</title>") && drawn.contains("<desc>"), "{name}");
            let opened =
                |tag: &str| drawn.matches(&format!("<{tag} ")).count() + drawn.matches(&format!("<{tag}>")).count();
            let closed = |tag: &str| drawn.matches(&format!("</{tag}>")).count();
            assert_eq!(
                (opened("text"), opened("title"), opened("svg")),
                (closed("text"), closed("title"), closed("svg"))
            );
        }
    }
}

#[test]
fn empty_or_unsuitable_data_gives_a_message() {
    let empty = drawing("lines", &Data::Lines(LineChart::default()), "t");
    assert!(empty.contains("Nothing was measured."), "{empty}");
    let other = drawing("lines", &Data::Grid(grid(2)), "t");
    assert!(other.contains("A figure of kind lines cannot show these numbers."), "{other}");
    let mut strange = grid(2);
    strange.cells[0][0] = bare(f64::NAN);
    strange.cells[1][0] = bare(f64::INFINITY);
    for kind in ["table", "matrix", "bars", "stacked", "radar"] {
        let drawn = drawing(kind, &Data::Grid(strange.clone()), "t");
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{kind}: {drawn}");
    }
}

#[test]
fn csv_and_json_have_full_precision() {
    let data = Data::Grid(with_margins());
    let (csv, json) = (data.to_csv(), serde_json::to_value(&data).unwrap());
    let mut lines = csv::Reader::from_reader(csv.as_bytes());
    assert_eq!(lines.headers().unwrap(), vec!["row", "under", "column", "value", "low", "high", "n"]);
    let mut count = 0;
    for line in lines.records() {
        let line = line.unwrap();
        let at = |list: &serde_json::Value, is: &dyn Fn(&serde_json::Value) -> bool| {
            list.as_array().unwrap().iter().position(is).unwrap()
        };
        let row = at(&json["rows"], &|name| name.as_str() == Some(&line[0]));
        let column = at(&json["columns"], &|column| column["name"].as_str() == Some(&line[2]));
        let cell = &json["cells"][row][column];
        for (field, text) in [("value", &line[3]), ("low", &line[4]), ("high", &line[5]), ("n", &line[6])] {
            assert_eq!(cell[field].as_f64(), text.parse().ok(), "{line:?} {field}");
        }
        count += 1;
    }
    assert_eq!(count, 17, "every cell but the one without a number");
    // The other shapes: one line per number.
    let lines = |data: Data| data.to_csv().lines().count() - 1;
    assert_eq!(lines(Data::Lines(rounds(3, 5))), 15);
    assert_eq!(lines(Data::Boxes(boxes(5))), 4);
    assert_eq!(lines(Data::Points(points(12, 3))), 12);
    assert_eq!(lines(Data::Arrows(arrows(5, None))), arrows(5, None).graph.edges.len());
    assert_eq!(lines(Data::Strip(strip())), 5);
}

#[test]
fn points_have_no_labels_if_all_belong_to_one_agent() {
    let point = |x: f64, label: &str| Point { x, y: 2.0, label: label.into() };
    let drawn = |points: Vec<Point>| {
        let data = Data::Points(Points {
            groups: vec![PointGroup { name: String::new(), points, series: 0 }],
            ..Points::default()
        });
        (drawing("scatter", &data, "T"), data.to_table(), data.to_csv())
    };
    let (svg, table, csv) = drawn(vec![point(1.0, "me"), point(3.0, "me"), point(1.0, "me")]);
    assert_eq!((svg.matches("class=\"dot").count(), svg.contains("me")), (2, false), "{svg}");
    assert!(!table.contains("me<") && table.matches("<tr>").count() == 4, "{table}");
    assert_eq!(csv.matches("me,").count(), 3, "files list every point");
    let (svg, table, _) = drawn(vec![point(1.0, "me"), point(3.0, "you")]);
    assert!(svg.contains("you") && table.contains("<td>you</td>"));
}

/// Draws two points in one corner, and one point in each of two further corners.
#[test]
fn names_of_points_in_corners_stay_inside_the_drawing() {
    let point = |x: f64, y: f64, label: &str| Point { x, y, label: label.into() };
    let points = vec![
        point(0.0, 1.0, "strong"),
        point(0.0, 1.0, "anchor level=1"),
        point(1.0, 0.0, "weak"),
        point(1.0, 1.0, "old"),
    ];
    let groups = vec![PointGroup { name: String::new(), points, series: 0 }];
    let svg = drawing("scatter", &Data::Points(Points { groups, ..Points::default() }), "T");
    for name in ["strong", "anchor level=1", "weak", "old"] {
        assert!(svg.contains(&format!(">{name}</text>")), "{name}: {svg}");
    }
}

/// Draws bars of different metrics, whose names are in the legend only.
#[test]
fn bars_of_several_metrics_have_no_common_title() {
    let column = |name: &str| GridColumn { name: name.into(), axis: axis(name, "", 2), ..GridColumn::default() };
    let draw = |columns: Vec<GridColumn>| {
        let cells = vec![vec![m(0.5); columns.len()]];
        let grid = Grid { rows: names(&["me"]), columns, cells, ..Grid::default() };
        drawing("bars", &Data::Grid(grid), "T")
    };
    let drawn = draw(vec![column("WR"), column("ORR")]);
    assert_eq!(drawn.matches(">WR</text>").count(), 1, "{drawn}");
    assert_eq!(draw(vec![column("WR")]).matches(">WR</text>").count(), 1);
}

#[test]
fn latex_table_has_the_numbers_of_the_page() {
    let text = Data::Grid(with_margins()).to_latex();
    assert!(
        text.starts_with(
            "\\begin{tabular}{lrrr}\n\\hline\n & \\multicolumn{2}{c}{board} & \\multicolumn{1}{c}{cards} \\\\\n"
        ),
        "{text}"
    );
    assert!(text.contains("Agent & connect\\_four & breakthrough & kuhn\\_poker \\\\\n"), "{text}");
    let random = "random & \\textbf{0.873} {\\scriptsize [0.793, 0.933]} & \\underline{0.815} {\\scriptsize [0.735, 0.875]} & -- \\\\\n";
    assert!(text.contains(random), "{text}");
    assert!(text.contains("\\textless{}script\\textgreater{}"), "{text}");
    assert!(text.contains("\\hline\nmean & 0.500 & 0.250 & 0.000 \\\\\n"), "{text}");
    assert_eq!(
        super::write::latex("a_b%~\\^|{}"),
        "a\\_b\\%\\textasciitilde{}\\textbackslash{}\\textasciicircum{}\\textbar{}\\{\\}"
    );
}

#[test]
fn figure_has_files_of_each_format() {
    let page = |name: &str| resolve::FigurePage {
        name: name.into(),
        data: Data::Grid(grid(2)),
        matches: match_conditions::MatchConditions::default(),
    };
    let mut drawn = RenderedFigure {
        id: "f1".into(),
        title: "F".into(),
        headline: false,
        kind: "bars".into(),
        caption: String::new(),
        pages: vec![page("")],
        measures: Vec::new(),
    };
    let names = |drawn: &RenderedFigure| drawn.files().into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(&drawn), ["f1.json", "f1.csv", "f1.tex", "f1.svg"]);
    let svg = drawn.files().remove(3).1;
    assert!(svg.starts_with("<svg xmlns=") && svg.contains("prefers-color-scheme: dark"), "{svg}");
    drawn.pages = vec![page("Tic-tac-toe, A / cot"), page("tic_tac_toe (a: cot)"), page("\u{2013}")];
    drawn.kind = "table".into();
    let csv: Vec<String> = names(&drawn).into_iter().filter(|name| name.ends_with(".csv")).collect();
    assert_eq!(csv, ["f1-tic_tac_toe_a_cot.csv", "f1-tic_tac_toe_a_cot-2.csv", "f1-page.csv"]);
}
