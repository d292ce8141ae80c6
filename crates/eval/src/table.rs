//! Shows figures as text for people and as JSON for programs.

use std::fmt::Write;

use serde_json::{Map, Value, json};
use unicode_width::UnicodeWidthStr;

use crate::figures::{Cell, Defects, Figures, Measure, SessionReport, Summary};
use crate::subject::Class;

/// How wide a full bar is.
const BAR_WIDTH: usize = 20;

/// The columns of the table: a heading and the measure below it.
const COLUMNS: [(&str, Measure); 9] = [
    ("recall", Measure::Recall),
    ("ground", Measure::Grounded),
    ("paths", Measure::Paths),
    ("rememb", Measure::Remembered),
    ("sent", Measure::Sentences),
    ("rules", Measure::Rules),
    ("plant", Measure::Planted),
    ("uncued", Measure::PlantedUncued),
    ("answ", Measure::Answers),
];

/// The columns for chains, with the log and from files alone.
const CHAIN_COLUMNS: [(&str, Measure); 10] = [
    ("recall", Measure::LogRecall),
    ("ground", Measure::LogGrounded),
    ("sent", Measure::LogSentences),
    ("rules", Measure::LogRules),
    ("plant", Measure::LogPlanted),
    ("recall", Measure::FilesRecall),
    ("ground", Measure::FilesGrounded),
    ("sent", Measure::FilesSentences),
    ("rules", Measure::FilesRules),
    ("plant", Measure::FilesPlanted),
];

/// The means as a table: one line for each budget and method, a bar for grounded recall, and a second table for chains.
pub fn render_table(summary: &Summary) -> String {
    let mut lines = Lines::new(summary.cells.iter().map(|cell| cell.method.as_str()));
    lines.head(
        "one compaction",
        &COLUMNS.map(|(name, _)| name),
        "  added      ms  faults starts over tail  grounded",
    );
    lines.body(&summary.cells, &COLUMNS.map(|(_, measure)| measure), |figures| {
        let Defects { pairing, bad_starts, over_budget, changed_tails } = figures.defects;
        let time = figures.time.as_secs_f64() * 1_000.0;
        let bar = bar(figures.share(Measure::Grounded).unwrap_or_default());
        let added = figures.added;
        format!(
            "{added:>7.0} {time:>7.2} {pairing:>7} {bad_starts:>6} {over_budget:>4} {changed_tails:>4}  {bar}"
        )
    });
    lines.text.push('\n');
    lines.head("chain", &CHAIN_COLUMNS.map(|(name, _)| name), "   (with the log, then from files alone)");
    lines.body(&summary.cells, &CHAIN_COLUMNS.map(|(_, measure)| measure), |_| String::new());
    lines.text
}

/// The grounded and plain recall of each session at each budget, one line for each session and method.
pub fn render_sessions(reports: &[SessionReport]) -> String {
    let mut text = String::new();
    for report in reports {
        let needed: Vec<String> = report.needed.iter().map(ToString::to_string).collect();
        let (name, class, tokens) = (&report.name, report.class.as_str(), report.tokens);
        let _ = writeln!(text, "{name} ({class}, {tokens} tokens, anchors needed: {})", needed.join(" "));
        let mut methods: Vec<&str> = report.cells.iter().map(|cell| cell.method.as_str()).collect();
        methods.dedup();
        for method in methods {
            let cells = report.cells.iter().filter(|cell| cell.method == method);
            let figures: Vec<String> = cells
                .map(|cell| {
                    let recall = percent(cell.figures.share(Measure::Recall));
                    let grounded = percent(cell.figures.share(Measure::Grounded));
                    format!("{}: {recall}/{grounded}", cell.budget)
                })
                .collect();
            let _ = writeln!(text, "  {} {}", pad(method, 16), figures.join("  "));
        }
    }
    text
}

/// All figures as JSON: the means over the sessions of each class, and each session.
pub fn to_json(reports: &[SessionReport]) -> Value {
    let summary = |class: Class| {
        let summary = Summary::of(reports, class);
        json!({"sessions": summary.sessions, "cells": summary.cells.iter().map(cell_json).collect::<Vec<_>>()})
    };
    let sessions: Vec<Value> = reports
        .iter()
        .map(|report| {
            json!({
                "name": report.name,
                "class": report.class.as_str(),
                "tokens": report.tokens,
                "needed": report.needed,
                "cells": report.cells.iter().map(cell_json).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({
        "real": summary(Class::Real),
        "scripted": summary(Class::Scripted),
        "small": summary(Class::Small),
        "sessions": sessions,
    })
}

fn cell_json(cell: &Cell) -> Value {
    let mut fields = Map::new();
    fields.insert("method".into(), json!(cell.method));
    fields.insert("budget".into(), json!(cell.budget));
    for (measure, share) in &cell.figures.shares {
        fields.insert(measure.as_str().into(), json!(share));
    }
    let Figures { defects, added, time, .. } = &cell.figures;
    fields.insert("added_tokens".into(), json!(added));
    fields.insert("milliseconds".into(), json!(time.as_secs_f64() * 1_000.0));
    fields.insert("pairing_faults".into(), json!(defects.pairing));
    fields.insert("bad_starts".into(), json!(defects.bad_starts));
    fields.insert("over_budget".into(), json!(defects.over_budget));
    fields.insert("changed_tails".into(), json!(defects.changed_tails));
    Value::Object(fields)
}

/// Builds a table line by line.
struct Lines {
    text: String,
    method_width: usize,
}

impl Lines {
    fn new<'a>(methods: impl Iterator<Item = &'a str>) -> Self {
        let method_width =
            methods.map(UnicodeWidthStr::width).max().unwrap_or_default().max("one compaction".len());
        Self { text: String::new(), method_width }
    }

    fn head(&mut self, title: &str, columns: &[&str], rest: &str) {
        let _ = write!(self.text, "budget {}", pad(title, self.method_width));
        columns.iter().for_each(|column| {
            let _ = write!(self.text, " {column:>6}");
        });
        self.text.push_str(rest);
        self.text.push('\n');
    }

    /// One line for each cell, budget by budget.
    fn body(&mut self, cells: &[Cell], measures: &[Measure], rest: impl Fn(&Figures) -> String) {
        let mut cells: Vec<&Cell> = cells.iter().collect();
        cells.sort_by_key(|cell| cell.budget);
        for cell in cells {
            let _ = write!(self.text, "{:>6} {}", cell.budget.0, pad(&cell.method, self.method_width));
            for measure in measures {
                let _ = write!(self.text, " {:>6}", percent(cell.figures.share(*measure)));
            }
            self.text.push_str(&rest(&cell.figures));
            self.text.push('\n');
        }
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_string(), |share| format!("{:.1}", share * 100.0))
}

fn bar(share: f64) -> String {
    let full = (share.clamp(0.0, 1.0) * BAR_WIDTH as f64).round() as usize;
    format!("{}{}", "█".repeat(full), "░".repeat(BAR_WIDTH - full))
}

fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::TokenCount;

    fn report() -> SessionReport {
        let mut figures = Figures::default();
        figures.set(Measure::Recall, Some(0.5));
        figures.set(Measure::Grounded, Some(0.25));
        let cell = |budget: u64| Cell {
            method: "方法".into(),
            budget: TokenCount(budget),
            figures: figures.clone(),
        };
        SessionReport {
            name: "one".into(),
            tokens: TokenCount(9_000),
            class: Class::Real,
            needed: vec![7, 9],
            cells: vec![cell(4_000), cell(1_000)],
        }
    }

    #[test]
    fn the_table_is_sorted_by_budget_and_aligned() {
        let table = render_table(&Summary::of(&[report()], Class::Real));
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines[1].starts_with("  1000 方法             50.0   25.0      –"), "{table}");
        assert!(lines[2].starts_with("  4000 方法"), "{table}");
        assert!(lines[1].ends_with("█████░░░░░░░░░░░░░░░"), "{table}");
    }

    #[test]
    fn sessions_show_their_points() {
        assert_eq!(
            render_sessions(&[report()]),
            "one (real, 9000 tokens, anchors needed: 7 9)\n  方法             4000: 50.0/25.0  1000: 50.0/25.0\n"
        );
    }

    #[test]
    fn json_holds_what_was_measured() {
        let value = to_json(&[report()]);
        assert_eq!(value["real"]["sessions"], 1);
        assert_eq!(value["sessions"][0]["cells"][0]["recall"], 0.5);
        assert_eq!(value["sessions"][0]["cells"][0].get("answers"), None);
        assert_eq!(value["scripted"]["cells"], json!([]));
    }
}
