//! Pictures of a position.

use ludex_env::game::Game as _;
use ludex_env::picture::labels::{seat_panel, short, wrap};
use ludex_env::picture::{Paint, Picture, Sketch, TextAnchor};

use super::view::View;
use super::{Phase, Undercover};

const WIDE: i32 = 620;
const SEAT: i32 = 112;

pub(super) fn picture(game: &Undercover, view: &View) -> Picture {
    let n = game.players().min(10);
    let rows = n.div_ceil(2) as i32;
    let mut sketch = Sketch::new(WIDE, 44 + rows * SEAT + 40);
    let own = match (&view.word, &view.told) {
        (_, Some(told)) => format!("undercover word: {}; the others' word: {}", told.word, told.others),
        (Some(word), None) => format!("your word: {word}"),
        (None, None) => "the words are secret".to_owned(),
    };
    sketch.bold(Paint::Accent, TextAnchor::Middle, [WIDE / 2, 24], 16, &short(&own, 66));
    let mut desc = vec![own];
    for p in 0..n {
        let area = [10 + 305 * (p as i32 % 2), 44 + SEAT * (p as i32 / 2), 295, SEAT - 8];
        let is = |q: &u8| usize::from(*q) == p;
        let out = view.out.iter().find(|out| is(&out.seat));
        let told = view.told.as_ref().is_some_and(|told| told.undercovers.iter().any(is));
        let me = if view.seat.as_ref().is_some_and(is) { " (you)" } else { "" };
        let role = match out {
            _ if told => ", undercover",
            Some(out) if out.undercover => ", undercover",
            _ => "",
        };
        let title = format!("player_{p}{me}{role}");
        seat_panel(&mut sketch, area, &title, view.to_move.iter().any(is));
        sketch.cell(&format!("p{p}"), area);
        let votes =
            view.votes.iter().filter(|v| is(&v.target) && u32::from(v.round) + 1 >= u32::from(view.round)).count();
        if let Some(out) = out {
            sketch.text(
                Paint::Red,
                TextAnchor::End,
                [area[0] + 283, area[1] + 16],
                13,
                &format!("out in round {}", u32::from(out.round) + 1),
            );
        } else if votes > 0 {
            sketch.text(Paint::Faint, TextAnchor::End, [area[0] + 283, area[1] + 16], 13, &format!("votes: {votes}"));
        }
        let clues = view.clues.iter().filter(|c| is(&c.seat));
        let texts: Vec<String> =
            clues.map(|c| if c.text.is_empty() { "(nothing)".to_owned() } else { format!("“{}”", c.text) }).collect();
        let newest = texts[texts.len().saturating_sub(2)..].join(" ");
        for (k, row) in wrap(&short(&newest, 120), 38).iter().take(4).enumerate() {
            let ink = if out.is_some() { Paint::Faint } else { Paint::Ink };
            sketch.text(ink, TextAnchor::Start, [area[0] + 12, area[1] + 40 + 18 * k as i32], 14, row);
        }
        let state = if out.is_some() { "out" } else { "in the game" };
        desc.push(short(
            &format!(
                "{title}: {state}; clues: {}",
                if texts.is_empty() { "none yet".to_owned() } else { texts.join(" ") }
            ),
            600,
        ));
    }
    let round = u32::from(view.round) + 1;
    let status = match view.phase {
        Phase::Clue => format!("round {round}: clues"),
        Phase::Vote => format!("round {round}: all vote"),
        Phase::Tie => format!("round {round}: tie, broken by chance"),
        Phase::Over => "over".to_owned(),
        _ => "the words are drawn".to_owned(),
    };
    sketch.caption(44 + rows * SEAT + 14, &status);
    sketch.finish(&format!("{}: {status}", Undercover::INFO.title), &desc.join(". "))
}
