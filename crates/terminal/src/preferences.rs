//! The user's preferences about looks and keys.

use longhaul_display::Palette;

/// The user's preferences about looks and keys; they may change while the program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preferences {
    /// The colours; none for plain text.
    pub palette: Option<Palette>,
    /// Edits the input with vim keys.
    pub is_vim: bool,
    /// Notifies the user when a long turn ends or a question waits.
    pub notification: Notification,
    /// Shows the state in the terminal's title.
    pub shows_title: bool,
}

/// The way to notify the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notification {
    /// Only the bell, and only for a question.
    #[default]
    Off,
    /// The terminal's bell.
    Bell,
    /// A message on the desktop, as iTerm2, kitty, WezTerm, Ghostty and Windows Terminal show it.
    Osc9,
    /// The same as rxvt and VTE show it.
    Osc777,
}

impl Default for Preferences {
    fn default() -> Self {
        let palette = Some(Palette::TERMINAL);
        Self { palette, is_vim: false, notification: Notification::Off, shows_title: false }
    }
}

impl Notification {
    /// The bytes that show a message.
    pub(crate) fn bytes(self, text: &str) -> String {
        // A control character would end the sequence, and a semicolon the title.
        let text: String =
            text.chars().filter(|c| !c.is_control()).map(|c| if c == ';' { ',' } else { c }).collect();
        match self {
            Self::Off => String::new(),
            Self::Bell => "\x07".to_string(),
            // Some terminals take a leading number for a command of their own.
            Self::Osc9 => format!("\x1b]9;Longhaul: {text}\x07"),
            Self::Osc777 => format!("\x1b]777;notify;Longhaul;{text}\x07"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_cannot_end_their_sequence() {
        assert_eq!(Notification::Osc9.bytes("a\x07b\x1bc"), "\x1b]9;Longhaul: abc\x07");
        assert_eq!(Notification::Osc777.bytes("a;b"), "\x1b]777;notify;Longhaul;a,b\x07");
        assert_eq!(Notification::Bell.bytes("a"), "\x07");
        assert_eq!(Notification::Off.bytes("a"), "");
    }
}
