//! What a terminal shows, as an SVG that can be read on light and on dark pages.

use vt100::{Cell, Color, Screen};

const CELL: f64 = 8.4;
const ROW: f64 = 18.0;
const MARGIN: f64 = 20.0;
/// Where the first line stands, below the title.
const TOP: f64 = 52.0;
const PAPER: &str = "#1c2128";
const INK: &str = "#d5dde6";
const FAINT: &str = "#768390";
/// How long each moment is shown, and the last one.
const SECONDS: f64 = 3.5;
const LAST_SECONDS: f64 = 7.0;

/// The picture of what was shown, one moment after the other.
pub(crate) fn picture(title: &str, frames: &[Screen]) -> String {
    let (_, columns) = frames.first().map_or((0, 80), Screen::size);
    let rows = frames.iter().map(rows_used).max().unwrap_or(0);
    let (width, height) = (2.0 * MARGIN + f64::from(columns) * CELL, TOP + rows as f64 * ROW);
    let title = escape(title);
    let mut body = String::new();
    for (number, frame) in frames.iter().enumerate() {
        body.push_str(&format!("<g class=\"f f{number}\">\n{}</g>\n", texts(frame)));
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{title}\">\n\
         <style>{}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{PAPER}\"/>\n\
         <circle cx=\"20\" cy=\"18\" r=\"5\" fill=\"#f47067\"/><circle cx=\"38\" cy=\"18\" r=\"5\" fill=\"#daaa3f\"/>\
         <circle cx=\"56\" cy=\"18\" r=\"5\" fill=\"#8ddb8c\"/>\n\
         <text x=\"76\" y=\"22\" fill=\"{FAINT}\" font-size=\"12\">{title}</text>\n\
         <g font-size=\"14\" xml:space=\"preserve\">\n{body}</g>\n</svg>\n",
        style(frames.len())
    )
}

/// Which moment is seen when. Where nothing may move, it is the last one.
fn style(frames: usize) -> String {
    let mut style =
        String::from("text{font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace}");
    let Some(last) = frames.checked_sub(1).filter(|last| *last > 0) else { return style };
    let total = last as f64 * SECONDS + LAST_SECONDS;
    style.push_str(".f{visibility:hidden}");
    style.push_str(&format!(".f{last}{{visibility:visible}}"));
    style.push_str("@media (prefers-reduced-motion:no-preference){");
    for number in 0..frames {
        let from = 100.0 * number as f64 * SECONDS / total;
        let to = if number == last { 100.0 } else { 100.0 * (number + 1) as f64 * SECONDS / total };
        style.push_str(&format!(
            ".f{number}{{animation:a{number} {total}s step-end infinite}}\
             @keyframes a{number}{{0%{{visibility:{}}}{from:.2}%{{visibility:visible}}{}}}",
            if number == 0 { "visible" } else { "hidden" },
            if number == last { String::new() } else { format!("{to:.2}%{{visibility:hidden}}") },
        ));
    }
    style.push('}');
    style
}

fn rows_used(screen: &Screen) -> usize {
    let (_, columns) = screen.size();
    let rows: Vec<String> = screen.rows(0, columns).collect();
    rows.iter().rposition(|row| !row.trim().is_empty()).map_or(0, |last| last + 1)
}

/// Every stretch of text in one style.
fn texts(screen: &Screen) -> String {
    let (_, columns) = screen.size();
    let mut texts = String::new();
    for row in 0..u16::try_from(rows_used(screen)).unwrap_or(u16::MAX) {
        let mut run = Run::default();
        for column in 0..columns {
            let Some(cell) = screen.cell(row, column) else { continue };
            if cell.is_wide_continuation() {
                run.columns += 1;
                continue;
            }
            let look = look(cell);
            if look != run.look {
                run.write(row, &mut texts);
                run = Run { from: column, look, ..Run::default() };
            }
            run.text.push_str(if cell.has_contents() { cell.contents() } else { " " });
            run.columns += 1;
        }
        run.write(row, &mut texts);
    }
    texts
}

/// A stretch of text in one style.
#[derive(Default)]
struct Run {
    from: u16,
    columns: u16,
    look: String,
    text: String,
}

impl Run {
    fn write(&self, row: u16, out: &mut String) {
        let text = self.text.trim_end();
        if text.trim().is_empty() {
            return;
        }
        // Spaces in front would be drawn as one in some programs.
        let lead = text.len() - text.trim_start().len();
        let missing = (self.text.len() - text.len() + lead) as f64;
        let x = MARGIN + (f64::from(self.from) + lead as f64) * CELL;
        let y = TOP + f64::from(row) * ROW;
        let length = (f64::from(self.columns) - missing) * CELL;
        out.push_str(&format!(
            "<text x=\"{x:.1}\" y=\"{y:.0}\" textLength=\"{length:.1}\" lengthAdjust=\"spacingAndGlyphs\"{}>{}</text>\n",
            self.look,
            escape(text.trim_start())
        ));
    }
}

/// How a cell looks, as attributes.
fn look(cell: &Cell) -> String {
    let fill = match cell.fgcolor() {
        Color::Idx(1 | 9) => "#f47067",
        Color::Idx(2 | 10) => "#8ddb8c",
        Color::Idx(3 | 11) => "#daaa3f",
        Color::Idx(4 | 12) => "#6cb6ff",
        Color::Idx(5 | 13) => "#dcbdfb",
        Color::Idx(6 | 14) => "#76d9e6",
        _ if cell.dim() => FAINT,
        _ => INK,
    };
    let weight = if cell.bold() { " font-weight=\"bold\"" } else { "" };
    let slant = if cell.italic() { " font-style=\"italic\"" } else { "" };
    format!(" fill=\"{fill}\"{weight}{slant}")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
