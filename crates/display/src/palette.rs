//! Colour themes: the colours that the tones of a style stand for on a terminal.

use crate::style::Tone;

/// A colour of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// A colour of the terminal's own palette, from 0 to 255.
    Indexed(u8),
    /// A colour by its red, green and blue.
    Rgb(u8, u8, u8),
}

/// The colours of a theme. A tone without a colour is shown in the terminal's text colour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Palette {
    /// Errors and removals.
    pub red: Option<Colour>,
    /// Success and additions.
    pub green: Option<Colour>,
    /// Warnings.
    pub yellow: Option<Colour>,
    /// Paths.
    pub blue: Option<Colour>,
    /// Summaries.
    pub magenta: Option<Colour>,
    /// Interactive elements.
    pub cyan: Option<Colour>,
    /// Faint text; without a colour, the terminal dims it.
    pub faint: Option<Colour>,
}

/// The themes by name, each with a description.
pub const THEMES: &[(&str, &str)] = &[
    ("terminal", "The colours of your terminal"),
    ("dark", "Soft colours for a dark background"),
    ("light", "Deep colours for a light background"),
    ("contrast", "The bright colours of your terminal"),
    ("plain", "No colours, only bold and faint text"),
];

/// Names of themes in Gemini CLI, with the theme that comes closest.
const GEMINI_THEMES: &[(&str, &str)] = &[
    ("ansi", "terminal"),
    ("ansi light", "terminal"),
    ("atom one", "dark"),
    ("ayu", "dark"),
    ("ayu light", "light"),
    ("default", "terminal"),
    ("default light", "light"),
    ("dracula", "dark"),
    ("github", "dark"),
    ("github light", "light"),
    ("google code", "light"),
    ("holiday", "dark"),
    ("no color", "plain"),
    ("nocolor", "plain"),
    ("shades of purple", "dark"),
    ("solarized dark", "dark"),
    ("solarized light", "light"),
    ("xcode", "light"),
];

/// The names of the tones in a table of colours, with those that Gemini CLI uses for them.
const TONES: &[(&str, &[&str])] = &[
    ("red", &["AccentRed", "error"]),
    ("green", &["AccentGreen", "success"]),
    ("yellow", &["AccentYellow", "warning"]),
    ("blue", &["AccentBlue", "link"]),
    ("magenta", &["AccentPurple", "accent"]),
    ("cyan", &["AccentCyan"]),
    ("faint", &["Gray", "Comment", "secondary"]),
];

/// The names of the first sixteen colours of a terminal.
const NAMES: [&str; 8] = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

impl Palette {
    /// The colours of the terminal's own palette, which suit any background.
    pub const TERMINAL: Self = Self::indexed([1, 2, 3, 4, 5, 6]);
    const CONTRAST: Self = Self::indexed([9, 10, 11, 12, 13, 14]);
    const PLAIN: Self =
        Self { red: None, green: None, yellow: None, blue: None, magenta: None, cyan: None, faint: None };
    const DARK: Self = Self::rgb([0xe67e80, 0xa7c080, 0xdbbc7f, 0x7fa7d9, 0xc49ad8, 0x7fc8c2, 0x8a9299]);
    const LIGHT: Self = Self::rgb([0xb3261e, 0x2f6f3a, 0x8a5a00, 0x1d5fa8, 0x7b3fa0, 0x0f6b73, 0x6b7075]);

    const fn indexed([red, green, yellow, blue, magenta, cyan]: [u8; 6]) -> Self {
        Self {
            red: Some(Colour::Indexed(red)),
            green: Some(Colour::Indexed(green)),
            yellow: Some(Colour::Indexed(yellow)),
            blue: Some(Colour::Indexed(blue)),
            magenta: Some(Colour::Indexed(magenta)),
            cyan: Some(Colour::Indexed(cyan)),
            faint: None,
        }
    }

    const fn rgb([red, green, yellow, blue, magenta, cyan, faint]: [u32; 7]) -> Self {
        Self {
            red: Some(Colour::of_hex(red)),
            green: Some(Colour::of_hex(green)),
            yellow: Some(Colour::of_hex(yellow)),
            blue: Some(Colour::of_hex(blue)),
            magenta: Some(Colour::of_hex(magenta)),
            cyan: Some(Colour::of_hex(cyan)),
            faint: Some(Colour::of_hex(faint)),
        }
    }

    /// The theme of this name; names of Gemini CLI stand for the theme that comes closest.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.trim().to_lowercase();
        let name = name.strip_suffix(".json").unwrap_or(&name);
        let known = GEMINI_THEMES.iter().find(|(theirs, _)| *theirs == name);
        Some(match known.map_or(name, |(_, ours)| ours) {
            "terminal" => Self::TERMINAL,
            "dark" => Self::DARK,
            "light" => Self::LIGHT,
            "contrast" => Self::CONTRAST,
            "plain" => Self::PLAIN,
            _ => return None,
        })
    }

    /// A theme from names of tones with their colours, as text; a tone that is not named keeps the terminal's colour. Names
    /// that are no tone are skipped: a theme of another program has more of them.
    ///
    /// # Errors
    /// The name and the text of the first colour that is none.
    pub fn from_table<'a>(
        table: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, (&'a str, &'a str)> {
        let mut palette = Self::TERMINAL;
        for (name, text) in table {
            let tone = TONES.iter().find(|(ours, theirs)| *ours == name || theirs.contains(&name));
            let Some((tone, _)) = tone else { continue };
            let colour = Colour::parse(text).ok_or((name, text))?;
            *palette.slot(tone) = Some(colour);
        }
        Ok(palette)
    }

    fn slot(&mut self, tone: &str) -> &mut Option<Colour> {
        match tone {
            "red" => &mut self.red,
            "green" => &mut self.green,
            "yellow" => &mut self.yellow,
            "blue" => &mut self.blue,
            "magenta" => &mut self.magenta,
            "cyan" => &mut self.cyan,
            _ => &mut self.faint,
        }
    }

    /// The colour of a tone.
    pub(crate) fn colour(&self, tone: Tone) -> Option<Colour> {
        match tone {
            Tone::Plain => None,
            Tone::Red => self.red,
            Tone::Green => self.green,
            Tone::Yellow => self.yellow,
            Tone::Blue => self.blue,
            Tone::Magenta => self.magenta,
            Tone::Cyan => self.cyan,
        }
    }
}

impl Colour {
    const fn of_hex(hex: u32) -> Self {
        let [_, red, green, blue] = hex.to_be_bytes();
        Self::Rgb(red, green, blue)
    }

    /// Reads `#rrggbb`, `#rgb`, a number from 0 to 255, or a name such as `green` or `bright-green`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        if let Some(hex) = text.strip_prefix('#') {
            let digits: Vec<u32> = hex.chars().map(|digit| digit.to_digit(16)).collect::<Option<_>>()?;
            let digits = match digits.len() {
                3 => digits.iter().flat_map(|digit| [*digit, *digit]).collect(),
                6 => digits,
                _ => return None,
            };
            return Some(Self::of_hex(digits.iter().fold(0, |hex, digit| hex * 16 + digit)));
        }
        if let Ok(index) = text.parse() {
            return Some(Self::Indexed(index));
        }
        let (name, bright) = match text.strip_prefix("bright") {
            Some(name) => (name.trim_start_matches(['-', '_', ' ']), 8),
            None => (text.as_str(), 0),
        };
        if matches!(name, "gray" | "grey") {
            return Some(Self::Indexed(8));
        }
        let index = NAMES.iter().position(|known| *known == name)?;
        Some(Self::Indexed(u8::try_from(index).ok()? + bright))
    }

    /// Appends the code that selects this colour for text.
    pub(crate) fn push_to(self, out: &mut String) {
        out.push_str(&match self {
            Self::Indexed(index @ 0..8) => format!(";{}", 30 + index),
            Self::Indexed(index @ 8..16) => format!(";{}", 82 + index),
            Self::Indexed(index) => format!(";38;5;{index}"),
            Self::Rgb(red, green, blue) => format!(";38;2;{red};{green};{blue}"),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::{Style, StyledLine};

    #[track_caller]
    fn check(text: &str, expected: Option<Colour>) {
        assert_eq!(Colour::parse(text), expected, "{text}");
    }

    #[test]
    fn colours_are_named_numbered_or_mixed() {
        check("#ff8000", Some(Colour::Rgb(255, 128, 0)));
        check("#F80", Some(Colour::Rgb(255, 136, 0)));
        check(" Green ", Some(Colour::Indexed(2)));
        check("bright-green", Some(Colour::Indexed(10)));
        check("gray", Some(Colour::Indexed(8)));
        check("208", Some(Colour::Indexed(208)));
        for wrong in ["", "#ff", "#gggggg", "256", "-1", "greenish", "bright", "#ＦＦ0"] {
            check(wrong, None);
        }
    }

    #[test]
    fn every_theme_has_its_name() {
        for (name, _) in THEMES {
            assert!(Palette::named(name).is_some(), "{name}");
        }
        for (theirs, ours) in GEMINI_THEMES {
            assert_eq!(Palette::named(theirs), Palette::named(ours), "{theirs}");
        }
        assert_eq!(Palette::named("GitHub"), Palette::named("dark"));
        assert_eq!(Palette::named("mine"), None);
    }

    #[test]
    fn tables_name_tones_in_either_way() {
        let palette = Palette::from_table([("red", "#f00"), ("AccentCyan", "45"), ("Background", "what")]);
        let palette = palette.expect("colours");
        assert_eq!((palette.red, palette.cyan), (Some(Colour::Rgb(255, 0, 0)), Some(Colour::Indexed(45))));
        assert_eq!(palette.green, Palette::TERMINAL.green);
        assert_eq!(Palette::from_table([("faint", "fog")]), Err(("faint", "fog")));
    }

    #[test]
    fn lines_are_shown_in_the_colours_of_a_theme() {
        let line = StyledLine::new("a", Style::RED).with("b", Style::FAINT);
        let shown = |name: &str| line.render(Palette::named(name).as_ref());
        assert_eq!(shown("terminal"), "\x1b[0;31ma\x1b[0;2mb\x1b[0m");
        assert_eq!(shown("contrast"), "\x1b[0;91ma\x1b[0;2mb\x1b[0m");
        assert_eq!(shown("plain"), "\x1b[0ma\x1b[0;2mb\x1b[0m");
        assert_eq!(shown("dark"), "\x1b[0;38;2;230;126;128ma\x1b[0;38;2;138;146;153mb\x1b[0m");
    }
}
