//! `longhaul demo`: a scripted session that outgrows its window and is compacted while you watch. It needs no key and no
//! network, and leaves nothing behind.

mod played;
mod props;
mod told;

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use longhaul_engine::Prices;
use longhaul_terminal::Pace;
use longhaul_workspace::{StagedFolder, remove_strays};

use crate::output::Screen;

/// The prices of the scripted model, in dollars for a million tokens.
const PRICES: Prices = Prices { input: 0.30, cached: 0.03, written: 0.30, output: 2.50 };

#[derive(Debug, Args)]
pub(crate) struct DemoOptions {
    /// Print plain lines, even on a terminal.
    #[arg(long, conflicts_with = "speed")]
    plain: bool,
    /// Playback speed, such as 2 or 0.5; max plays without pauses.
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_speed)]
    speed: f64,
}

/// Plays the demo on a terminal, or prints it as lines without one.
pub(crate) fn run(options: &DemoOptions, screen: &Screen) -> anyhow::Result<ExitCode> {
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
    match options.plain || is_dumb || !is_terminal {
        true => told::run(screen).map(|()| ExitCode::SUCCESS),
        false => played::run(Pace::times(options.speed), screen),
    }
}

/// A folder for the demo, under a name by which the next demo finds and removes it if this one is killed.
fn temporary_folder() -> anyhow::Result<StagedFolder> {
    let place = std::env::temp_dir();
    remove_strays(&place);
    StagedFolder::create(&place).context("could not create a temporary folder")
}

/// Parses a speed; `max` is infinite.
fn parse_speed(text: &str) -> Result<f64, String> {
    let speed = if text == "max" { Some(f64::INFINITY) } else { text.parse().ok() };
    let speed = speed.filter(|speed: &f64| *speed > 0.0);
    speed.ok_or_else(|| "expected a number above 0, or max".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_above_nothing() {
        assert_eq!(
            ["1", "0.5", "max"].map(|text| parse_speed(text).ok()),
            [Some(1.0), Some(0.5), Some(f64::INFINITY)]
        );
        for wrong in ["", "0", "-1", "NaN", "quick"] {
            assert!(parse_speed(wrong).is_err(), "{wrong}");
        }
    }
}
