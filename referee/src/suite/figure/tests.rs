use super::*;

fn read(text: &str) -> Result<Figure, String> {
    let figure: Figure = toml::from_str(text).map_err(|e| e.to_string())?;
    let known = |id| KnownPart { id, marks: vec!["action", "equity"] };
    figure.check(&[known("a"), known("b")])?;
    Ok(figure)
}

const GOOD: &str = "id = \"t\"\ntitle = \"T\"\nkind = \"table\"\ncell = \"score_rate\"\n";

#[test]
fn figures_round_trip_through_text() {
    let texts = [
        GOOD.to_owned(),
        format!(
            "{GOOD}parts = [\"a\"]\nrows = \"agent\"\ncolumns = \"part\"\nmargins = [\"mean\"]\nhighlight = \"best\"\n"
        ),
        GOOD.replace("\"score_rate\"", "[\"score_rate\", { metric = \"length\", title = \"Moves\" }]"),
        GOOD.replace("table", "scatter").replace("cell = ", "pages = [\"part\", \"agent\"]\nx = \"length\"\ny = "),
        GOOD.replace("\"score_rate\"", "{ metric = \"level\", form = \"corrected\" }"),
        GOOD.replace("\"score_rate\"", "{ metric = \"score_rate\", pool = true }") + "baseline = \"one\"\n",
    ];
    for text in texts {
        let figure = read(&text).unwrap_or_else(|e| panic!("{text}{e}"));
        let again = toml::to_string(&figure).unwrap();
        assert_eq!(read(&again).unwrap(), figure, "{again}");
    }
}

#[test]
fn invalid_figures_are_refused() {
    let cases = [
        (GOOD.replace("table", "tabel"), "unknown kind \"tabel\"; did you mean table?"),
        (GOOD.replace("score_rate", "score_rat"), "unknown metric \"score_rat\"; did you mean score_rate?"),
        (format!("{GOOD}part = \"c\"\n"), "unknown part \"c\"; allowed: a, b"),
        (format!("{GOOD}part = \"a\"\nparts = [\"b\"]\n"), "part and parts exclude each other"),
        (format!("{GOOD}rows = \"mark:fold\"\n"), "have no mark \"fold\"; allowed: action, equity"),
        (format!("{GOOD}rows = \"agents\"\n"), "expected one of agent, part, opponent"),
        (format!("{GOOD}colour = \"agent\"\n"), "colour is not supported by kind table"),
        (format!("{GOOD}color = \"agent\"\n"), "unknown field `color`"),
        (format!("{GOOD}rows = \"part\"\ncolumns = \"part\"\n"), "expected different axes for rows and columns"),
        (format!("{GOOD}rows = \"part\"\npages = \"part\"\n"), "expected different axes for pages and rows"),
        (GOOD.replace("table", "graph"), "kind graph needs value"),
        (GOOD.replace("table", "scatter"), "kind scatter needs x"),
        (GOOD.replace("\"score_rate\"", "{ id = \"score_rate\" }"), "expected metric = ID"),
        (GOOD.replace("\"score_rate\"", "3"), "expected a metric as text or as a table, got 3"),
        (GOOD.replace("\"score_rate\"", "{ metric = \"score_rate\", of = \"x\" }"), "unknown argument \"of\""),
        (GOOD.replace("\"T\"", "\" \""), "title: expected text, got none"),
        (format!("{GOOD}highlight = \"worst\"\n"), "unknown variant `worst`"),
        (GOOD.replace("table", "bars") + "baseline = \"x\"\n", "baseline is not supported by kind bars"),
        (format!("{GOOD}baseline = \"x\"\nmargins = [\"mean\"]\n"), "baseline and margins exclude each other"),
    ];
    for (text, why) in cases {
        let error = read(&text).expect_err(&text);
        assert!(error.contains(why), "{text}\n{error}");
    }
}
