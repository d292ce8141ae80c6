//! The argument `--color`.

use clap::ValueEnum;

/// Colour mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// The colour mode from arguments that are otherwise invalid.
    pub(crate) fn of_arguments() -> Self {
        Self::among(std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()))
    }

    fn among(arguments: impl Iterator<Item = String>) -> Self {
        let mut is_next = false;
        let mut color = Self::Auto;
        for argument in arguments.take_while(|argument| argument != "--") {
            let value = if is_next { Some(argument.as_str()) } else { argument.strip_prefix("--color=") };
            color = value.and_then(|value| Self::from_str(value, false).ok()).unwrap_or(color);
            is_next = argument == "--color";
        }
        color
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_color(arguments: &str, expected: Color) {
        assert_eq!(Color::among(arguments.split(' ').map(String::from)), expected, "{arguments}");
    }

    #[test]
    fn colours_are_known_before_the_rest() {
        check_color("--color always --nonsense", Color::Always);
        check_color("compress --nonsense --color=never", Color::Never);
        check_color("--color", Color::Auto);
        check_color("--color purple", Color::Auto);
        check_color("-- --color always", Color::Auto);
    }
}
