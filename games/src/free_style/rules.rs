//! Rule documents compiled for play: names become indexes, zones become cell sets, and moves become rays.

use std::sync::{Arc, LazyLock, OnceLock};

use arrayvec::ArrayVec;
use serde_json::Value;

use super::board::{self, ALL, CELLS, DIRECTIONS, SIDE, Stretch};
use super::document::{
    ActionRule, BySeat, Dirs, Document, End, First, Mode, Near, Onto, Score, Scored, Steps, StepsPreset, StuckThen,
    When, WinLose, kind, zone,
};

/// The built-in rule sets F0, F1 and F2 as JSON documents.
const BUILT_IN: [&str; 3] = [
    r#"{"fsr":1,"name":"line4","board":5,"ply_cap":25,"kinds":[{"id":"s"}],
        "actions":[{"do":"place","kind":"s","by":{"0":"all","1":"all"}}],"end":[{"if":"line","len":4,"then":"win"}]}"#,
    r#"{"fsr":1,"name":"turncoats","board":5,"ply_cap":25,"kinds":[{"id":"s"}],
        "actions":[{"do":"place","kind":"s","by":{"0":"all","1":"all"}}],
        "effects":[{"on":"place","cells":"adj4","who":"both","then":"flip"}],
        "end":[{"if":"full","then":"score"}],"score":[{"per":"piece","pts":1}]}"#,
    r#"{"fsr":1,"name":"hidden numbers","board":5,"ply_cap":10,
        "kinds":[{"id":"n","values":{"min":0,"max":15,"unique":false,"sum_max":15},"supply":5}],
        "actions":[{"do":"place","kind":"n","by":{"0":"cola","1":"cole"}}],"hidden":{"values":true},
        "end":[{"if":"supply_out","then":"score"}],
        "score":[{"per":"row_compare","cells":{"0":"cola","1":"cole"},"pts":1}]}"#,
];

/// A rule document compiled for play.
#[derive(Debug)]
pub struct Rules {
    /// The document that was compiled.
    pub document: Document,
    /// The canonical form of the document.
    pub canonical: Value,
    /// The first 8 hex digits of the SHA-256 hash of the canonical form.
    pub hash: String,
    /// English summary, created on first use.
    summary: OnceLock<String>,
    pub(super) places: Vec<Placement>,
    pub(super) moves: Vec<Moves>,
    /// Condition under which a pass is legal.
    pub(super) pass: When,
    pub(super) ends: Vec<EndCondition>,
    pub(super) stuck: Option<StuckThen>,
    pub(super) scores: Vec<ScoreTerm>,
    /// Bit set of the kinds that a place action names.
    pub(super) placed: u8,
    /// Bit set of the placeable kinds without a supply limit.
    pub(super) unlimited: u8,
}

#[derive(Debug)]
pub(super) struct Placement {
    pub kind: usize,
    pub zone: [u32; 2],
    pub near: Near,
}

#[derive(Debug)]
pub(super) struct Moves {
    pub kind: usize,
    pub onto: Onto,
    /// Rays by seat and source cell. Each ray lists its cells from the nearest to the farthest.
    pub rays: Box<[[Rays; CELLS]; 2]>,
}

/// The rays that start at one cell.
pub(super) type Rays = Vec<ArrayVec<u8, 4>>;

/// A condition that ends the game.
#[derive(Debug)]
pub(super) enum EndCondition {
    Line { rows: Vec<Stretch>, exact: bool, win: bool },
    Reach([u32; 2]),
    Eliminated,
    PiecesGe(u32),
    Full,
    SupplyOut,
}

/// A compiled scoring rule with its points.
#[derive(Debug)]
pub(super) enum ScoreTerm {
    Piece(i32),
    Value(i32),
    Territory(i32),
    Group(i32),
    Capture(i32),
    Line(Vec<Stretch>, i32),
    Compare { rows: [[u32; SIDE]; 2], pts: i32 },
}

fn zones(document: &Document, by: &BySeat) -> Option<[u32; 2]> {
    let [first, second] = by.both();
    Some([zone(document, first)?, zone(document, second)?])
}

/// Returns the rays of a piece of `seat` on the cell `from`.
fn rays(steps: &Steps, range: u8, forward_only: bool, seat: usize, from: usize) -> Rays {
    let knight = [(1, 2), (2, 1), (-1, 2), (-2, 1), (1, -2), (2, -1), (-1, -2), (-2, -1)];
    let steps: Vec<(i8, i8)> = match steps {
        Steps::Named(StepsPreset::Orth) => DIRECTIONS[..4].to_vec(),
        Steps::Named(StepsPreset::Diag) => DIRECTIONS[4..].to_vec(),
        Steps::Named(StepsPreset::King) => DIRECTIONS.to_vec(),
        Steps::Named(StepsPreset::Knight) => knight.to_vec(),
        Steps::Leaps(list) => list.iter().map(|[rows, columns]| (rows.0, columns.0)).collect(),
    };
    let forward = |rows: i8| if seat == 0 { rows > 0 } else { rows < 0 };
    let moves = steps.into_iter().filter(|&step| step != (0, 0) && (!forward_only || forward(step.0)));
    let ray = |(rows, columns): (i8, i8)| {
        let mut ray = ArrayVec::new();
        let mut at = from;
        while let Some(next) = board::step(at, rows, columns).filter(|_| ray.len() < usize::from(range.min(4))) {
            ray.push(next as u8);
            at = next;
        }
        ray
    };
    moves.map(ray).filter(|ray| !ray.is_empty()).collect()
}

impl Rules {
    /// Compiles a document; returns `None` if it names a kind or a zone that does not exist.
    pub(super) fn of(document: Document) -> Option<Rules> {
        let d = &document;
        let (mut places, mut moves, mut pass) = (Vec::new(), Vec::new(), When::Never);
        for action in &d.actions {
            match action {
                ActionRule::Place { kind: id, by, near } => {
                    places.push(Placement { kind: kind(d, id)?, zone: zones(d, by)?, near: *near });
                }
                ActionRule::Move { kind: id, steps, range, forward_only, onto } => {
                    let from = |seat: usize| std::array::from_fn(|cell| rays(steps, *range, *forward_only, seat, cell));
                    moves.push(Moves { kind: kind(d, id)?, onto: *onto, rays: Box::new([from(0), from(1)]) });
                }
                ActionRule::Pass { when } => {
                    pass = match (pass, *when) {
                        (When::Always, _) | (_, When::Always) => When::Always,
                        (When::Stuck, _) | (_, When::Stuck) => When::Stuck,
                        _ => When::Never,
                    };
                }
            }
        }
        let (mut ends, mut stuck) = (Vec::new(), None);
        for end in &d.end {
            ends.push(match end {
                End::Line { len, exact, dirs, then } => EndCondition::Line {
                    rows: board::stretches(*len, *dirs != Dirs::Diag, *dirs != Dirs::Orth),
                    exact: *exact,
                    win: *then == WinLose::Win,
                },
                End::Reach { zone, .. } => EndCondition::Reach(zones(d, zone)?),
                End::Eliminated { .. } => EndCondition::Eliminated,
                End::PiecesGe { n, .. } => EndCondition::PiecesGe((*n).into()),
                End::Full { then: Scored::Score } => EndCondition::Full,
                End::SupplyOut { then: Scored::Score } => EndCondition::SupplyOut,
                End::Stuck { then } => {
                    stuck = stuck.or(Some(*then));
                    continue;
                }
            });
        }
        let mut scores = Vec::new();
        for score in &d.score {
            scores.push(match score {
                Score::Piece(p) => ScoreTerm::Piece(p.pts.into()),
                Score::Value(p) => ScoreTerm::Value(p.pts.into()),
                Score::Territory4(p) => ScoreTerm::Territory(p.pts.into()),
                Score::LargestGroup4(p) => ScoreTerm::Group(p.pts.into()),
                Score::Capture(p) => ScoreTerm::Capture(p.pts.into()),
                Score::Line(p) => ScoreTerm::Line(board::stretches(p.len?, true, true), p.pts.into()),
                Score::RowCompare(c) | Score::ColCompare(c) => {
                    let line = if matches!(score, Score::RowCompare(_)) { "row" } else { "col" };
                    let names = if line == "row" { ["1", "2", "3", "4", "5"] } else { ["a", "b", "c", "d", "e"] };
                    let lines = names.map(|n| board::zone(&format!("{line}{n}")).unwrap_or(ALL));
                    ScoreTerm::Compare { rows: zones(d, &c.cells)?.map(|z| lines.map(|l| l & z)), pts: c.pts.into() }
                }
            });
        }
        if d.setup.iter().any(|s| kind(d, &s.kind).is_none()) {
            return None;
        }
        let placed = places.iter().fold(0, |set, p| set | 1 << p.kind);
        let unlimited = (0..d.kinds.len()).filter(|&k| d.kinds[k].supply.is_none());
        let unlimited = unlimited.fold(0, |set, k| set | 1 << k) & placed;
        let canonical = document.value();
        let hash = super::document::hash(&canonical);
        let summary = OnceLock::new();
        Some(Rules { canonical, hash, summary, places, moves, pass, ends, stuck, scores, placed, unlimited, document })
    }

    /// Returns the summary of the document in English.
    pub fn summary(&self) -> &str {
        self.summary.get_or_init(|| super::summary::of(&self.document))
    }

    /// Returns F0, F1 or F2.
    pub(super) fn built_in(k: usize) -> &'static Arc<Rules> {
        static ALL: LazyLock<[Arc<Rules>; 3]> = LazyLock::new(|| {
            BUILT_IN.map(|text| {
                let rules = serde_json::from_str(text).ok().and_then(Rules::of);
                Arc::new(rules.unwrap_or_else(|| unreachable!("a built-in document is well formed: {text}")))
            })
        });
        &ALL[k.min(2)]
    }

    /// Returns the name (F0, F1 or F2) of the built-in rules with this hash.
    pub(super) fn builtin_name(hash: &str) -> Option<&'static str> {
        let at = (0..super::NAMES.len()).find(|&k| Rules::built_in(k).hash == hash)?;
        Some(super::NAMES[at])
    }

    /// Returns true if the seats move simultaneously.
    pub(super) fn together(&self) -> bool {
        self.document.mode == Mode::Simultaneous
    }

    /// Returns the seat that moves first if `author` wrote the rules; `None` if chance draws that seat.
    pub(super) fn first(&self, author: usize) -> Option<usize> {
        match self.document.first {
            First::Author => Some(author),
            First::Other => Some(1 - author),
            First::Seat0 => Some(0),
            First::Random => None,
        }
    }

    /// Returns true if the rules hide no information.
    pub(super) fn open(&self) -> bool {
        let hidden = &self.document.hidden;
        !hidden.values && !hidden.pieces && !self.together()
    }
}
