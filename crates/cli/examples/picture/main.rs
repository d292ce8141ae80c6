//! Draws what a program shows on a terminal: runs it in a pseudo-terminal and writes what was seen as an SVG.
//!
//! ```text
//! cargo run -p longhaul --example picture -- COLUMNSxROWS TITLE OUT.svg [--at TEXT]... -- PROGRAM [ARGUMENTS]
//! ```
//!
//! Each `--at` is a moment: the first time, after the moment before it, that the terminal shows this text. The picture shows one
//! after the other; who wants no movement sees the last one. Without any, it shows what is there at the end.

mod svg;

use std::io::Read;

use anyhow::{Context, bail};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};

/// What ends a drawing of the interactive screen: in between, rows may be missing.
const DRAWN: &[u8] = b"\x1b[?2026l";

struct Arguments {
    columns: u16,
    rows: u16,
    title: String,
    out: String,
    moments: Vec<String>,
    command: Vec<String>,
}

fn main() -> anyhow::Result<()> {
    let arguments = arguments(std::env::args().skip(1))
        .context("usage: picture COLUMNSxROWS TITLE OUT.svg [--at TEXT]... -- PROGRAM [ARGUMENTS]")?;
    let frames = record(&arguments)?;
    let picture = svg::picture(&arguments.title, &frames);
    std::fs::write(&arguments.out, &picture).with_context(|| format!("could not write {}", arguments.out))?;
    println!("{}: {} moments, {} bytes", arguments.out, frames.len(), picture.len());
    Ok(())
}

fn arguments(mut given: impl Iterator<Item = String>) -> Option<Arguments> {
    let size = given.next()?;
    let (columns, rows) = size.split_once('x')?;
    let (columns, rows) = (columns.parse().ok()?, rows.parse().ok()?);
    let (title, out) = (given.next()?, given.next()?);
    let mut moments = Vec::new();
    loop {
        match given.next()?.as_str() {
            "--at" => moments.push(given.next()?),
            "--" => break,
            _ => return None,
        }
    }
    Some(Arguments { columns, rows, title, out, moments, command: given.collect() })
}

/// Runs the program; what the terminal shows at each moment.
fn record(arguments: &Arguments) -> anyhow::Result<Vec<vt100::Screen>> {
    let Arguments { columns, rows, moments, command, .. } = arguments;
    let size = PtySize { rows: *rows, cols: *columns, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size)?;
    let mut builder = CommandBuilder::new(command.first().context("no program is named")?);
    builder.args(&command[1..]);
    builder.cwd(std::env::current_dir()?);
    builder.env("TERM", "xterm-256color");
    builder.env_remove("NO_COLOR");
    let mut child = pair.slave.spawn_command(builder)?;
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader()?;
    let mut terminal = vt100::Parser::new(*rows, *columns, 0);
    let (mut frames, mut bytes, mut buffer) = (Vec::new(), Vec::new(), [0; 1 << 16]);
    loop {
        // A terminal whose program has ended cannot be read from on every system.
        let count = reader.read(&mut buffer).unwrap_or(0);
        bytes.extend(&buffer[..count]);
        while let Some(end) = bytes.windows(DRAWN.len()).position(|window| window == DRAWN) {
            let drawing: Vec<u8> = bytes.drain(..end + DRAWN.len()).collect();
            terminal.process(&drawing);
            while moments.get(frames.len()).is_some_and(|text| terminal.screen().contents().contains(text)) {
                frames.push(terminal.screen().clone());
            }
        }
        let is_complete = !moments.is_empty() && frames.len() == moments.len();
        if count == 0 || is_complete {
            break;
        }
    }
    terminal.process(&bytes);
    child.kill().ok();
    child.wait()?;
    match moments.get(frames.len()) {
        Some(text) => bail!("it never shows {text:?}; the last was:\n{}", terminal.screen().contents()),
        None if moments.is_empty() => Ok(vec![terminal.screen().clone()]),
        None => Ok(frames),
    }
}
