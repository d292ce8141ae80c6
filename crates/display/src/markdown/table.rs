//! Markdown tables, fitted to the width: the widest columns are wrapped.

use pulldown_cmark::Alignment;

use crate::style::{Style, StyledLine};

/// The columns between two cells.
const GAP: usize = 2;

/// A table being read.
#[derive(Debug, Default)]
pub(super) struct MarkdownTable {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<StyledLine>>,
}

impl MarkdownTable {
    pub(super) fn new(alignments: &[Alignment]) -> Self {
        Self { alignments: alignments.to_vec(), rows: Vec::new() }
    }

    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn cell(&mut self, cell: StyledLine) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    /// Renders the table, with a rule below the header.
    pub(super) fn lines(&self, width: usize) -> Vec<StyledLine> {
        let widths = self.widths(width);
        let mut lines = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            let is_head = number == 0;
            lines.extend(self.row(row, &widths, is_head).into_iter().map(|line| line.fit(width)));
            if is_head {
                let rule = widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>();
                lines.push(StyledLine::new(rule.join(&" ".repeat(GAP)), Style::FAINT).fit(width));
            }
        }
        lines
    }

    /// The width of each column: that of its widest cell, reduced until all columns fit.
    fn widths(&self, width: usize) -> Vec<usize> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths: Vec<usize> = (0..count)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(StyledLine::columns).max().unwrap_or(0).max(1)
            })
            .collect();
        let room = width.saturating_sub(GAP * count.saturating_sub(1)).max(count);
        while widths.iter().sum::<usize>() > room {
            let Some(widest) = widths.iter_mut().max_by_key(|width| **width) else { break };
            if *widest <= 1 {
                break;
            }
            *widest -= 1;
        }
        widths
    }

    fn row(&self, row: &[StyledLine], widths: &[usize], is_head: bool) -> Vec<StyledLine> {
        let cells: Vec<Vec<StyledLine>> = widths
            .iter()
            .enumerate()
            .map(|(column, width)| row.get(column).map(|cell| cell.wrap(*width, 0)).unwrap_or_default())
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
        (0..height)
            .map(|place| {
                let mut line = StyledLine::default();
                for (column, width) in widths.iter().enumerate() {
                    let cell = cells[column].get(place).cloned().unwrap_or_default().fit(*width);
                    let missing = width.saturating_sub(cell.columns());
                    let left = match self.alignments.get(column) {
                        Some(Alignment::Right) => missing,
                        Some(Alignment::Center) => missing / 2,
                        _ => 0,
                    };
                    let is_last = column + 1 == widths.len();
                    let right = if is_last { 0 } else { missing - left + GAP };
                    line.push(&" ".repeat(left), Style::PLAIN);
                    for mut span in cell.spans {
                        span.style.bold |= is_head;
                        line.spans.push(span);
                    }
                    line.push(&" ".repeat(right), Style::PLAIN);
                }
                line.spans.iter_mut().next_back().into_iter().for_each(|span| {
                    span.text.truncate(span.text.trim_end().len());
                });
                line
            })
            .collect()
    }
}
