//! The context meter: usage by segment, and the compaction threshold.

use longhaul_display::{Style, StyledLine};

use super::{percent, short_tokens};
use crate::status_line::{ContextMeter, Segment};

/// The meter in at most `width` columns; empty if nothing useful fits.
pub(super) fn line(meter: &ContextMeter, width: usize) -> StyledLine {
    if meter.room.0 == 0 {
        return StyledLine::default();
    }
    let share = meter.used.share_of(meter.room);
    let style = match meter.threshold {
        _ if share > 0.95 => Style::RED,
        Some(threshold) if meter.used >= threshold => Style::YELLOW,
        _ => Style::PLAIN,
    };
    let shortest = percent(share);
    let figures = format!("{shortest} of {}", short_tokens(meter.room));
    let guess = if meter.is_counted { "" } else { " estimated" };
    let bar = width.saturating_sub(figures.len() + guess.len() + 1).min(40);
    match bar {
        8.. => with_bar(meter, bar, StyledLine::new(format!(" {figures}"), style).with(guess, Style::FAINT)),
        _ if width >= figures.len() + guess.len() => {
            StyledLine::new(figures, style).with(guess, Style::FAINT)
        }
        _ => StyledLine::new(shortest, style).fit(width),
    }
}

fn with_bar(meter: &ContextMeter, width: usize, figures: StyledLine) -> StyledLine {
    let mut line = bar(meter, width);
    line.spans.extend(figures.spans);
    line
}

/// The bar without figures.
pub(super) fn bar(meter: &ContextMeter, width: usize) -> StyledLine {
    let column = |tokens: u64| {
        let column = (tokens as f64 / meter.room.0.max(1) as f64 * width as f64).round() as usize;
        column.min(width)
    };
    let mut cells: Vec<(char, Style)> = Vec::new();
    let mut until = 0;
    for (segment, tokens) in &meter.parts {
        until += tokens.0;
        let style = style(*segment);
        while cells.len() < column(until) {
            cells.push(('█', style));
        }
    }
    // Tokens counted beyond the segments belong to none of them.
    let used = column(meter.used.0).max(usize::from(meter.used.0 > 0));
    while cells.len() < used {
        cells.push(('█', Style::PLAIN));
    }
    cells.resize(width, ('░', Style::FAINT));
    if let Some(threshold) = meter.threshold {
        let place = column(threshold.0).min(width - 1);
        cells[place].0 = '┃';
        cells[place].1 = Style::YELLOW;
    }
    let mut line = StyledLine::default();
    for (character, style) in cells {
        line.push(character.encode_utf8(&mut [0; 4]), style);
    }
    line
}

/// The style of a segment.
pub(super) fn style(segment: Segment) -> Style {
    match segment {
        Segment::System => Style::FAINT,
        Segment::Memory => Style::BLUE,
        Segment::Snapshot => Style::MAGENTA,
        Segment::History => Style::CYAN,
        Segment::Tools => Style::GREEN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::TokenCount;

    fn meter(used: u64, is_counted: bool) -> ContextMeter {
        let parts =
            vec![(Segment::System, TokenCount(used / 5)), (Segment::History, TokenCount(used * 4 / 5))];
        ContextMeter {
            used: TokenCount(used),
            room: TokenCount(100_000),
            threshold: Some(TokenCount(50_000)),
            is_counted,
            parts,
        }
    }

    #[track_caller]
    fn check(meter: &ContextMeter, width: usize, expected: &str) {
        let line = line(meter, width);
        assert_eq!(line.text(), expected);
        assert!(line.columns() <= width);
    }

    #[test]
    fn the_window_is_shown_as_far_as_there_is_room() {
        check(&meter(20_000, true), 31, "████░░░░░┃░░░░░░░░ 20 % of 100k");
        check(&meter(20_000, false), 41, "████░░░░░┃░░░░░░░░ 20 % of 100k estimated");
        check(&meter(20_000, false), 25, "20 % of 100k estimated");
        check(&meter(20_000, true), 12, "20 % of 100k");
        check(&meter(20_000, true), 5, "20 %");
        check(&ContextMeter::default(), 40, "");
    }

    #[test]
    fn a_full_window_is_an_alarm() {
        assert_eq!(line(&meter(97_000, true), 12).spans[0].style, Style::RED);
        assert_eq!(line(&meter(60_000, true), 12).spans[0].style, Style::YELLOW);
    }
}
