//! Colors of pictures, and the fill and outline styles of shapes.

/// A color with values for light and dark mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are color names; `PAINTS` lists the values")]
pub enum Paint {
    Paper,
    Panel,
    Ink,
    Faint,
    Edge,
    Accent,
    Wood,
    WoodLine,
    Light,
    Dark,
    Felt,
    FeltLine,
    Frame,
    Black,
    BlackEdge,
    White,
    WhiteEdge,
    Red,
    Blue,
    Green,
    Yellow,
    Violet,
    Face,
    FaceEdge,
    FaceInk,
    FaceRed,
    FaceGreen,
    FaceBlue,
    FaceYellow,
    Back,
    BackLine,
    Chip,
}

/// All paints in the order of [`Paint`], each as CSS name, value in light mode and value in dark mode.
const PAINTS: [(&str, &str, &str); 32] = [
    ("paper", "#fbfaf7", "#17191e"),
    ("panel", "#f0ede6", "#22252c"),
    ("ink", "#22252b", "#e8e6e1"),
    ("faint", "#666b75", "#a3a9b4"),
    ("edge", "#cbc6ba", "#41464f"),
    ("accent", "#b4690e", "#f2b04a"),
    ("wood", "#e3bf83", "#a37c47"),
    ("wood-line", "#6b4d25", "#3a2a14"),
    ("light", "#f0e2c6", "#c4b091"),
    ("dark", "#b98d62", "#7d6247"),
    ("felt", "#2f7d5b", "#235f46"),
    ("felt-line", "#22614a", "#184433"),
    ("frame", "#2f5fa8", "#2c4f86"),
    ("black", "#202329", "#0e0f12"),
    ("black-edge", "#000000", "#565b64"),
    ("white", "#fffdf7", "#f1eee6"),
    ("white-edge", "#7d776a", "#2c2a26"),
    ("red", "#cf3e32", "#e8695d"),
    ("blue", "#2c67bd", "#6fa1ee"),
    ("green", "#2a8a55", "#57bd88"),
    ("yellow", "#dda90a", "#f0ca44"),
    ("violet", "#7a4db2", "#b08ae0"),
    ("face", "#fffdf6", "#ece8de"),
    ("face-edge", "#aaa391", "#57534a"),
    ("face-ink", "#1f2228", "#1f2228"),
    ("face-red", "#c1271c", "#b8241a"),
    ("face-green", "#1f7a4a", "#1c7044"),
    ("face-blue", "#2457a6", "#21509a"),
    ("face-yellow", "#c08a00", "#946a00"),
    ("back", "#3d5d91", "#34507f"),
    ("back-line", "#8aa3cd", "#7d97c2"),
    ("chip", "#d9482f", "#d9583f"),
];

/// Fill and outline of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub(super) fill: Option<Paint>,
    pub(super) line: Option<(Paint, u8)>,
}

/// Returns a filled style without an outline.
pub const fn fill(paint: Paint) -> Look {
    Look { fill: Some(paint), line: None }
}

/// Returns a style with only an outline of `width` units.
pub const fn line(paint: Paint, width: u8) -> Look {
    Look { fill: None, line: Some((paint, width)) }
}

impl Look {
    /// Adds an outline of `width` units.
    pub const fn edge(self, paint: Paint, width: u8) -> Look {
        Look { line: Some((paint, width)), ..self }
    }
}

/// Returns the CSS name of a paint.
pub(super) fn name(paint: Paint) -> &'static str {
    PAINTS[paint as usize].0
}

/// Returns the style sheet of the used paints; `fills` and `lines` have one bit per paint.
pub(super) fn style(fills: u64, lines: u64) -> String {
    let mut out = String::with_capacity(2_048);
    for dark in [false, true] {
        out.push_str(if dark { "@media(prefers-color-scheme:dark){" } else { "" });
        let mut rule = |class: &str, property: &str, k: usize| {
            let (name, light, night) = PAINTS[k];
            for part in [
                ".ludex .",
                class,
                name,
                "{",
                property,
                ":var(--ludex-",
                name,
                ",",
                if dark { night } else { light },
                ")}",
            ] {
                out.push_str(part);
            }
        };
        for k in (0..PAINTS.len()).filter(|&k| !dark || PAINTS[k].1 != PAINTS[k].2) {
            if fills >> k & 1 == 1 {
                rule("f-", "fill", k);
            }
            if lines >> k & 1 == 1 {
                rule("s-", "stroke", k);
            }
        }
        out.push_str(if dark { "}" } else { "" });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paints_are_in_the_order_of_the_enum() {
        assert_eq!(Paint::Chip as usize + 1, PAINTS.len());
        assert_eq!([name(Paint::Paper), name(Paint::Felt), name(Paint::FaceBlue)], ["paper", "felt", "face-blue"]);
        assert_eq!(name(Paint::WhiteEdge), "white-edge");
    }

    #[test]
    fn style_contains_only_used_paints() {
        let css = style(1 << Paint::Ink as u64, 1 << Paint::Wood as u64);
        assert_eq!(css.matches("--ludex-").count(), 4);
        assert!(css.starts_with(".ludex .f-ink{fill:var(--ludex-ink,#22252b)}"), "{css}");
    }
}
