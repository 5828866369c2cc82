//! The measured rating table of a game's anchor ladder, stored on the game's page.
//!
//! `ludex measure-anchors --write` writes the table, and the registry reads the anchors' ratings from the table. A page
//! may contain one table per set of parameters. The table's heading names the scale, `game@rules/digest`. A table with
//! outdated rules, levels or agents is ignored.

use std::fmt;

use ludex_protocol::spec::Anchor;
use sha2::{Digest, Sha256};

/// Start of the HTML comment before a table, followed by the name of the rating scale.
const BEGIN: &str = "<!-- ladder ";
/// HTML comment after a table.
const END: &str = "<!-- end of ladder -->";
/// End of the HTML comment before a table.
const CLOSE: &str = " -->";
/// Heading of the section that contains the tables.
const SECTION: &str = "## Anchors\n";

/// Returns the first 8 hex digits of SHA-256 over one line `level bot agent rating` for each anchor. Ratings are
/// rounded as in the tables of the page; a missing rating is written as `-`.
pub fn digest(anchors: &[Anchor]) -> String {
    let line = |a: &Anchor| format!("{} {} {} {}\n", a.level, a.bot, a.agent, whole(a.rating));
    hex::encode(&Sha256::digest(anchors.iter().map(line).collect::<String>())[..4])
}

/// Returns the name of the ladder's rating scale: `game@rules/digest`.
pub fn scale(string: &str, rules: u32, anchors: &[Anchor]) -> String {
    format!("{string}@{rules}/{}", digest(anchors))
}

fn whole(rating: Option<f64>) -> String {
    rating.map_or_else(|| "-".into(), |r| format!("{r:.0}"))
}

/// Label before the draw share in a table.
const DRAWS: &str = "Draws between equals: ";

/// Returns the share of draws between equally strong agents, as stated on a game's page for the game string `string`.
/// Returns 0 if the page states no share.
pub fn draws(page: &str, string: &str) -> f64 {
    let line = of(page, string).and_then(|table| table.lines().find_map(|line| line.strip_prefix(DRAWS)));
    let share: Option<f64> = line.and_then(|text| text.trim_end_matches('.').parse().ok());
    share.filter(|share| (0.0..1.0).contains(share)).unwrap_or(0.0)
}

/// One row of a table: an anchor and its measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct AnchorRow {
    /// The anchor, with its rating.
    pub anchor: Anchor,
    /// Measured value, then the lower and upper end of its confidence interval. The value is the score against the
    /// level below, or the mean return under `Unit::Field`.
    pub found: Option<[f64; 3]>,
}

/// The measured table of one ladder.
#[derive(Clone, Debug, PartialEq)]
pub struct AnchorTable {
    /// Game string with its parameters.
    pub string: String,
    /// Version of the rules.
    pub rules: u32,
    /// Heading of the measured column.
    pub measure: String,
    /// Anchors in order of level.
    pub rows: Vec<AnchorRow>,
    /// Share of draws between agents of equal strength.
    pub draws: f64,
    /// Description of the measurement: units, seeds, version, and the command.
    pub about: String,
}

impl AnchorTable {
    /// Returns the name of the rating scale.
    pub fn scale(&self) -> String {
        let anchors: Vec<Anchor> = self.rows.iter().map(|row| row.anchor.clone()).collect();
        scale(&self.string, self.rules, &anchors)
    }

    /// Returns `page` with this table in the section `## Anchors`. Replaces an existing table for the same parameters.
    ///
    /// # Errors
    /// Fails if the page has no section `## Anchors`.
    pub fn on(&self, page: &str) -> Result<String, String> {
        let from = page.find(SECTION).ok_or("expected a section `## Anchors` on the page, found none")? + SECTION.len();
        let len = page[from..].find("\n## ").map_or(page.len() - from, |at| at + 1);
        let (head, section, tail) = (&page[..from], &page[from..from + len], &page[from + len..]);
        let mut section = match of(section, &self.string) {
            Some(old) => section.replacen(old, "", 1).trim_end().to_owned(),
            None => section.trim_end().to_owned(),
        };
        section.push_str(&format!("\n\n{self}\n"));
        let gap = if tail.is_empty() { "" } else { "\n" };
        Ok(format!("{head}{section}{gap}{tail}"))
    }
}

impl fmt::Display for AnchorTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = self.scale();
        writeln!(f, "{BEGIN}{scale}{CLOSE}\n")?;
        writeln!(f, "Scale `{scale}`:\n")?;
        writeln!(
            f,
            "| level | bot | agent | {} | 95 % | rating | 95 % |\n|---|---|---|---|---|---|---|",
            self.measure
        )?;
        for AnchorRow { anchor: a, found } in &self.rows {
            let [value, range] = found.map_or([String::new(), String::new()], |[value, low, high]| {
                [format!("{value:.3}"), format!("{low:.3} to {high:.3}")]
            });
            let ends = a.low.zip(a.high).map_or_else(String::new, |(low, high)| format!("{low:.0} to {high:.0}"));
            writeln!(
                f,
                "| {} | {} | `{}` | {value} | {range} | {} | {ends} |",
                a.level,
                a.bot,
                a.agent,
                whole(a.rating)
            )?;
        }
        // A share that rounds to 0.000 is omitted, since `draws` returns 0 for a page without a share.
        if self.draws >= 0.0005 {
            writeln!(f, "\n{DRAWS}{:.3}.", self.draws)?;
        }
        write!(f, "\n{}\n\n{END}", self.about)
    }
}

/// Returns the part of `page` with the table for the game string, including the comments before and after the table.
fn of<'p>(page: &'p str, string: &str) -> Option<&'p str> {
    let from = page.find(&format!("{BEGIN}{string}@"))?;
    let len = page[from..].find(END)? + END.len();
    Some(&page[from..from + len])
}

/// Sets the ratings of `anchors` from the game's page, if it has a table for this game string and version of the rules.
pub(crate) fn rate(anchors: &mut [Anchor], page: &str, string: &str, rules: u32) {
    let Some(table) = of(page, string) else { return };
    let rated: Vec<Anchor> = table.lines().filter_map(row).collect();
    let same = |(a, b): (&Anchor, &Anchor)| (a.level, a.bot, &a.agent) == (b.level, b.bot, &b.agent);
    let named = format!("{BEGIN}{}{CLOSE}", scale(string, rules, &rated));
    if table.starts_with(&named) && rated.len() == anchors.len() && rated.iter().zip(&*anchors).all(same) {
        anchors.clone_from_slice(&rated);
    }
}

/// Parses one line of a table as an anchor.
fn row(line: &str) -> Option<Anchor> {
    let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
    let [level, bot, agent, _, _, rating, ends] = cells[..] else { return None };
    let (low, high) = match ends.split_once(" to ") {
        Some((low, high)) => (low.parse().ok(), high.parse().ok()),
        None => (None, None),
    };
    let agent = agent.strip_prefix('`')?.strip_suffix('`')?.to_owned();
    Some(Anchor { level: level.parse().ok()?, bot: bot.parse().ok()?, agent, rating: rating.parse().ok(), low, high })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rung(level: u32, agent: &str, rating: Option<[f64; 3]>) -> Anchor {
        let [rating, low, high] = rating.map_or([None; 3], |r| r.map(Some));
        Anchor { level, bot: 1, agent: agent.into(), rating, low, high }
    }

    fn table(string: &str, rating: f64) -> AnchorTable {
        let rows = vec![
            AnchorRow { anchor: Anchor { rating: Some(0.0), ..rung(0, "random", None) }, found: None },
            AnchorRow { anchor: rung(1, "mcts sims=9", Some([rating, 90.0, 112.0])), found: Some([0.75, 0.7, 0.8]) },
        ];
        AnchorTable {
            string: string.into(),
            rules: 2,
            measure: "score".into(),
            rows,
            draws: 0.25,
            about: "By hand.".into(),
        }
    }

    const PAGE: &str = "# A game\n\n## Anchors\n\nTwo of them.\n\n## Versions\n\n2. Now.\n";

    #[test]
    fn ratings_come_only_from_matching_table() {
        let page = table("a(n=1)", 100.4).on(PAGE).unwrap();
        assert!(page.starts_with("# A game\n\n## Anchors\n\nTwo of them.\n\n<!-- ladder a(n=1)@2/"), "{page}");
        assert!(page.ends_with("<!-- end of ladder -->\n\n## Versions\n\n2. Now.\n"), "{page}");
        let plain = [rung(0, "random", None), rung(1, "mcts sims=9", None)];
        let mut anchors = plain.clone();
        rate(&mut anchors, &page, "a(n=1)", 2);
        assert_eq!(anchors[1], rung(1, "mcts sims=9", Some([100.0, 90.0, 112.0])));
        assert_eq!((anchors[0].rating, anchors[0].low), (Some(0.0), None));
        assert_eq!([draws(&page, "a(n=1)"), draws(&page, "a(n=2)")], [0.25, 0.0]);
        // A table for different parameters, rules or agents gives no ratings.
        for (string, rules, agent) in [("a(n=2)", 2, "mcts sims=9"), ("a(n=1)", 3, "mcts sims=9"), ("a(n=1)", 2, "x")] {
            let mut anchors = [plain[0].clone(), rung(1, agent, None)];
            rate(&mut anchors, &page, string, rules);
            assert_eq!(anchors[1].rating, None);
        }
        // An edited rating invalidates the table.
        let mut anchors = plain;
        rate(&mut anchors, &page.replace("| 100 |", "| 900 |"), "a(n=1)", 2);
        assert_eq!(anchors[1].rating, None);
    }

    #[test]
    fn new_table_replaces_table_with_same_parameters() {
        let once = table("b(n=1)", 5.0).on(&table("a(n=1)", 100.0).on(PAGE).unwrap()).unwrap();
        let again = table("a(n=1)", 200.0).on(&once).unwrap();
        assert_eq!(again.matches(BEGIN).count(), 2);
        assert!(again.contains("| 200 |") && !again.contains("| 100 |") && again.contains("| 5 |"), "{again}");
        assert!(table("a(n=1)", 1.0).on("# No section\n").is_err());
    }
}
