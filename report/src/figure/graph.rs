//! Graph of winners and losers: a circle of nodes with arrows from winner to loser.

use ludex_env::svg::{TextAnchor, length};

use super::data::Arrows;
use super::svg::{Svg, WIDTH, colour, fit};

const RADIUS: f64 = 158.0;
const CENTRE: [f64; 2] = [WIDTH / 2.0, 180.0];

/// Draws lettered nodes on a circle. The arrows of one node may be highlighted: outgoing arrows are solid, incoming
/// arrows dashed.
pub(super) fn draw(data: &Arrows, title: &str) -> String {
    let mut svg = Svg::new();
    let graph = &data.graph;
    let count = graph.nodes.len();
    let node = if count > 26 { 8.0 } else { 11.0 };
    let at = |k: usize| {
        let angle = std::f64::consts::TAU * k as f64 / count.max(1) as f64 - std::f64::consts::FRAC_PI_2;
        [CENTRE[0] + RADIUS * angle.cos(), CENTRE[1] + RADIUS * angle.sin()]
    };
    let known = |e: &&ludex_referee::metric::value::Edge| e.from < count && e.to < count && e.from != e.to;
    // Draw faint arrows first, so that highlighted arrows are on top.
    let out = |e: &&ludex_referee::metric::value::Edge| data.highlight == Some(e.from) || data.highlight == Some(e.to);
    let mut edges: Vec<_> = graph.edges.iter().filter(known).collect();
    edges.sort_by_key(out);
    for e in edges {
        let class = match data.highlight {
            None => format!("arrow {}", colour(e.from)),
            Some(h) if h == e.from => format!("arrow out {}", colour(h)),
            Some(h) if h == e.to => format!("arrow in {}", colour(h)),
            Some(_) => "arrow faint".to_owned(),
        };
        let tip = format!("{} beat {}", graph.nodes[e.from], graph.nodes[e.to]);
        arrow(&mut svg, &class, [at(e.from), at(e.to)], node, &tip);
    }
    let mut wins = vec![0; count];
    let mut losses = vec![0; count];
    for e in graph.edges.iter().filter(known) {
        wins[e.from] += 1;
        losses[e.to] += 1;
    }
    for (k, name) in graph.nodes.iter().enumerate() {
        let class = if data.highlight == Some(k) { "node best" } else { "node" };
        svg.circle(
            &format!("{class} {}", colour(k)),
            at(k),
            node,
            &format!("{name}: beat {}, lost to {}", wins[k], losses[k]),
        );
        let [x, y] = at(k);
        svg.text(TextAnchor::Middle, "letter", [x, y + 4.0], &letter(k));
    }
    // Names in two columns.
    let mut top = CENTRE[1] + RADIUS + 30.0;
    if data.highlight.is_some() {
        svg.text(TextAnchor::Start, "soft", [4.0, top], "solid: beat; dashed: lost to");
        top += 18.0;
    }
    let lines = count.div_ceil(2);
    for (k, name) in graph.nodes.iter().enumerate() {
        let [x, y] = [4.0 + WIDTH / 2.0 * (k / lines) as f64, top + 16.0 * (k % lines) as f64];
        let class = if data.highlight == Some(k) { "strong" } else { "" };
        svg.text(TextAnchor::Start, class, [x, y], &letter(k));
        // Bold letters are wider, so less room remains for the name.
        let room = WIDTH / 2.0 - if class.is_empty() { 30.0 } else { 48.0 };
        svg.text(TextAnchor::Start, class, [x + 22.0, y], &fit(name, room));
    }
    let about = "An arrow runs from the winner to the loser; the numbers are in the table below.";
    svg.end(top + 16.0 * lines as f64, title, about)
}

fn arrow(svg: &mut Svg, class: &str, [[x1, y1], [x2, y2]]: [[f64; 2]; 2], node: f64, tip: &str) {
    let (dx, dy) = (x2 - x1, y2 - y1);
    let long = dx.hypot(dy).max(1e-9);
    let (ux, uy) = (dx / long, dy / long);
    let from = [x1 + ux * node, y1 + uy * node];
    let tip_at = [x2 - ux * (node + 1.5), y2 - uy * (node + 1.5)];
    let back = [tip_at[0] - ux * 7.0, tip_at[1] - uy * 7.0];
    let point = |[x, y]: [f64; 2]| format!("{} {}", length(x), length(y));
    svg.path(class, "", &format!("M{}L{}", point(from), point(back)), tip);
    let side = |s: f64| point([back[0] - uy * 3.2 * s, back[1] + ux * 3.2 * s]);
    svg.path(&format!("head {class}"), "", &format!("M{}L{}L{}Z", point(tip_at), side(1.0), side(-1.0)), "");
}

/// Returns the letters of a node: A to Z, then AA, AB and so on.
pub(crate) fn letter(k: usize) -> String {
    let one = |k: usize| char::from(b'A' + (k % 26) as u8);
    if k < 26 { one(k).to_string() } else { format!("{}{}", one(k / 26 - 1), one(k)) }
}
