//! `longhaul report SESSION -o report.html`: a session as one web page to share.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use longhaul_app::settings::Settings;
use longhaul_web::{SessionReport, render_report};

use crate::destination::{Destination, Existing};
use crate::input::{self, display_name};
use crate::output::{Color, Screen, visible};
use crate::reports::redaction::redaction_text;

#[derive(Debug, Args)]
pub(crate) struct ReportOptions {
    /// Session file of any agent, - for standard input, or a session of this folder: latest, its number in `sessions list`, or its id.
    #[arg(value_name = "SESSION")]
    pub(crate) session: PathBuf,
    /// File to write, such as report.html, or - for standard output.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the file if it is there.
    #[arg(long)]
    overwrite: bool,
}

/// Writes the report, and says on standard error what was taken out.
pub(crate) fn run(options: &ReportOptions, settings: &Settings, color: Color) -> anyhow::Result<()> {
    let existing =
        if options.overwrite { Existing::Replaced } else { Existing::Kept { unless: "--overwrite" } };
    let destination = Destination::plan(Some(&options.output), &options.session, existing)?;
    let source = input::open(&options.session)?;
    let SessionReport { html, redaction } = render_report(source, settings)
        .with_context(|| format!("could not report on {}", display_name(&options.session)))?;
    destination.write(&html)?;
    let screen = Screen::of_stderr(color);
    let mut told = redaction_text(&redaction, &screen);
    if let Destination::File { path, .. } = &destination {
        let path = visible(&path.display().to_string());
        told.push_str(&format!(
            "Wrote {path}. Read it before you share it: only secrets of known forms were taken out.\n"
        ));
    }
    Ok(std::io::stderr().lock().write_all(told.as_bytes())?)
}
