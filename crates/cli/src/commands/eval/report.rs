//! The figures as tables for people, with a legend; made for 80 columns, folded where there are fewer.

use longhaul_conversation::TokenCount;
use longhaul_eval::{Cell, Class, Defects, EvalSummary, Half, Measure, SessionReport};

use super::Evaluation;
use super::columns::{ALSO, CHAIN, Column, ONCE, WHERE, percent};
use crate::output::{Page, Screen, bar, fit, pad, pad_left, plural, thousands, wrapped};

/// The most skipped files that are listed.
const LISTED: usize = 10;
/// The width of the names of methods.
const METHOD: usize = 15;
/// The width of recall and grounded recall of a session.
const PAIR: usize = 14;
/// The least room for a bar.
const SHORTEST_BAR: usize = 10;

/// The whole evaluation.
pub(super) fn text(evaluation: &Evaluation, each_session: bool, screen: &Screen) -> String {
    let mut page = Page::new(*screen);
    for class in [Class::Real, Class::Scripted, Class::Small] {
        let summary = EvalSummary::of(&evaluation.reports, class);
        if summary.sessions > 0 {
            means(&mut page, class, &summary, evaluation);
        }
    }
    legend(&mut page, evaluation);
    if each_session {
        sessions(&mut page, &evaluation.reports);
    }
    skipped(&mut page, evaluation);
    page.into_text()
}

fn means(page: &mut Page, class: Class, summary: &EvalSummary, evaluation: &Evaluation) {
    let count = plural(summary.sessions, "session", "sessions");
    let half = match evaluation.half {
        Some(Half::Fit) => ", fitting half",
        Some(Half::Check) => ", checking half",
        None => "",
    };
    heading(page, &format!("{count}, {}{half}: means in percent", describe(class)));
    for budget in &evaluation.budgets {
        once(page, *budget, &cells_of(summary, *budget));
    }
    folded_tables(page, "Recall by length of what was compacted, and by age", &WHERE, summary, evaluation);
    let heading = "After five compactions: with the log, then from files alone";
    folded_tables(page, heading, &CHAIN, summary, evaluation);
    defects(page, summary);
}

/// A heading on as many lines as it takes.
fn heading(page: &mut Page, text: &str) {
    page.gap();
    for line in wrapped(text, page.screen.width) {
        let line = page.screen.strong(&line);
        page.line(&line);
    }
}

fn cells_of(summary: &EvalSummary, budget: TokenCount) -> Vec<&Cell> {
    summary.cells.iter().filter(|cell| cell.budget == budget).collect()
}

fn describe(class: Class) -> &'static str {
    match class {
        Class::Real => "real",
        Class::Scripted => "scripted, with questions",
        Class::Small => "too small to need compaction",
    }
}

/// One compaction with one budget: a line for each method, with a bar for grounded recall where there is room.
fn once(page: &mut Page, budget: TokenCount, cells: &[&Cell]) {
    let mut columns = measured(&ONCE, cells);
    let width = |columns: &[&Column]| 2 + METHOD + columns.iter().map(|column| column.width).sum::<usize>();
    for column in measured(&ALSO, cells) {
        if width(&columns) + column.width + 1 + SHORTEST_BAR <= page.screen.width {
            columns.push(column);
        }
    }
    let room = page.screen.width.saturating_sub(width(&columns) + 1);
    if room < SHORTEST_BAR {
        return folded(page, budget, &columns, cells);
    }
    head(page, budget, &columns);
    for cell in cells {
        let grounded = cell.figures.share(Measure::Grounded).unwrap_or_default();
        let bar = page.screen.filled(&bar(grounded, room));
        page.line(&format!("{} {bar}", row(cell, &columns)));
    }
    session_counts(page, &columns, cells);
}

/// A table for each budget below a heading, unless nothing was measured.
fn folded_tables(
    page: &mut Page,
    heading: &str,
    columns: &'static [Column],
    summary: &EvalSummary,
    evaluation: &Evaluation,
) {
    let all: Vec<&Cell> = summary.cells.iter().collect();
    if measured(columns, &all).is_empty() {
        return;
    }
    self::heading(page, heading);
    let columns: Vec<&Column> = columns.iter().collect();
    for budget in &evaluation.budgets {
        folded(page, *budget, &columns, &cells_of(summary, *budget));
    }
}

/// A table in as many parts, one below the other, as it takes to fit.
fn folded(page: &mut Page, budget: TokenCount, columns: &[&Column], cells: &[&Cell]) {
    let room = page.screen.width.saturating_sub(METHOD + 2);
    let mut rest = columns;
    while !rest.is_empty() {
        let mut used = 0;
        let fitting = rest.iter().take_while(|column| {
            used += column.width;
            used <= room
        });
        let (part, behind) = rest.split_at(fitting.count().max(1));
        head(page, budget, part);
        for cell in cells {
            page.line(&row(cell, part));
        }
        session_counts(page, part, cells);
        rest = behind;
    }
}

fn measured(columns: &'static [Column], cells: &[&Cell]) -> Vec<&'static Column> {
    let figures = || cells.iter().map(|cell| &cell.figures);
    columns.iter().filter(|column| column.is_measured(figures())).collect()
}

fn head(page: &mut Page, budget: TokenCount, columns: &[&Column]) {
    let names: String = columns.iter().map(|column| pad_left(column.name, column.width)).collect();
    let budget = pad(&format!("{} tokens", thousands(budget.0)), METHOD + 2);
    page.gap();
    let line = format!("{}{}", page.screen.strong(&budget), page.screen.faint(&names));
    page.line(&line);
}

/// The method and its figures.
fn row(cell: &Cell, columns: &[&Column]) -> String {
    let figures: String =
        columns.iter().map(|column| pad_left(&column.show(&cell.figures), column.width)).collect();
    format!("  {}{figures}", pad(&cell.method, METHOD))
}

/// The number of sessions behind each column: the same for every method, as it depends on what was needed.
fn session_counts(page: &mut Page, columns: &[&Column], cells: &[&Cell]) {
    let Some(cell) = cells.first() else { return };
    let counts: String =
        columns.iter().map(|column| pad_left(&column.show_sessions(&cell.figures), column.width)).collect();
    page.line(&page.screen.faint(&format!("  {}{counts}", pad("(sessions)", METHOD))));
}

/// The columns that were shown, in plain words.
fn legend(page: &mut Page, evaluation: &Evaluation) {
    const NAME: usize = 8;
    let figures = || evaluation.reports.iter().flat_map(|report| &report.cells).map(|cell| &cell.figures);
    heading(page, "Columns: percent, if not said otherwise");
    let columns = ONCE.iter().chain(&ALSO).chain(&WHERE).chain(&CHAIN);
    for column in columns.filter(|column| !column.meaning.is_empty() && column.is_measured(figures())) {
        let mut name = column.name;
        for line in wrapped(column.meaning, page.screen.width.saturating_sub(NAME + 2)) {
            page.line(&format!("  {}{line}", page.screen.faint(&pad(name, NAME))));
            name = "";
        }
    }
    let sessions =
        "(sessions): how many sessions enter the figure above; the others needed too little to tell";
    for line in wrapped(sessions, page.screen.width.saturating_sub(2)) {
        page.line(&format!("  {line}"));
    }
}

/// The defects, method by method.
fn defects(page: &mut Page, summary: &EvalSummary) {
    let mut lines = Vec::new();
    for cell in &summary.cells {
        let Defects { pairing, bad_starts, over_budget, changed_tails } = cell.figures.defects;
        let kinds = [
            (pairing, "pairing fault", "pairing faults"),
            (bad_starts, "bad start", "bad starts"),
            (over_budget, "result over budget", "results over budget"),
            (changed_tails, "changed tail", "changed tails"),
        ];
        let kinds = kinds.iter().filter(|(count, ..)| *count > 0);
        let kinds: Vec<String> = kinds.map(|(count, one, many)| plural(*count, one, many)).collect();
        if !kinds.is_empty() {
            lines.push(format!("  {} at {}: {}", cell.method, thousands(cell.budget.0), kinds.join(", ")));
        }
    }
    page.gap();
    if lines.is_empty() {
        let none = "No pairing faults, no bad starts, nothing over budget, no changed tails.";
        for line in wrapped(none, page.screen.width) {
            let line = page.screen.good(&line);
            page.line(&line);
        }
        return;
    }
    page.line(&page.screen.strong("Defects"));
    for line in lines {
        let line = page.screen.warning(&fit(&line, page.screen.width));
        page.line(&line);
    }
}

/// Plain and grounded recall of each session at each budget.
fn sessions(page: &mut Page, reports: &[SessionReport]) {
    heading(page, "By session: recall and grounded recall at each budget");
    for report in reports {
        let needed: Vec<String> = report.needed.iter().map(ToString::to_string).collect();
        let tokens = thousands(report.tokens.0);
        let reads = match report.rereads.of {
            0 => String::new(),
            of => format!("; {} of {of} reads repeated", report.rereads.kept),
        };
        let (class, needed) = (report.class.as_str(), needed.join(" "));
        let line = format!("{class}, {tokens} tokens; anchors needed: {needed}{reads}");
        page.gap();
        let name = fit(&report.name, page.screen.width);
        page.line(&name);
        let line = fit(&format!("  {line}"), page.screen.width);
        page.line(&page.screen.faint(&line));
        let mut methods: Vec<&str> = report.cells.iter().map(|cell| cell.method.as_str()).collect();
        methods.dedup();
        for method in methods {
            let cells = report.cells.iter().filter(|cell| cell.method == method);
            let figures: Vec<String> = cells
                .map(|Cell { figures, .. }| {
                    let recall = percent(figures, Measure::Recall);
                    pad_left(&format!("{recall}/{}", percent(figures, Measure::Grounded)), PAIR)
                })
                .collect();
            let fitting = page.screen.width.saturating_sub(METHOD + 2) / PAIR;
            let mut name = method;
            for part in figures.chunks(fitting.max(1)) {
                page.line(&format!("  {}{}", pad(name, METHOD), part.concat()));
                name = "";
            }
        }
    }
}

fn skipped(page: &mut Page, evaluation: &Evaluation) {
    let skipped = &evaluation.skipped;
    if evaluation.other_half > 0 {
        let sessions = plural(evaluation.other_half, "session", "sessions");
        page.gap();
        page.line(&page.screen.faint(&format!("{sessions} in the other half left out")));
    }
    if skipped.is_empty() {
        return;
    }
    page.heading(&format!("Skipped: {}", plural(skipped.len(), "file", "files")));
    for file in skipped.iter().take(LISTED) {
        let line = fit(&format!("  {}: {}", file.file, file.reason), page.screen.width);
        page.line(&page.screen.warning(&line));
    }
    page.more(skipped.len(), LISTED, "files");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Color;
    use longhaul_eval::{Figures, KeptShare};

    fn evaluation() -> Evaluation {
        let mut figures = Figures { names: 290.4, added: 3_998.0, ..Figures::default() };
        for column in ONCE.iter().chain(&WHERE).chain(&CHAIN) {
            if let super::super::columns::Value::Share(measure) = column.value {
                figures.shares.insert(measure, 1.0);
                figures.sessions.insert(measure, 1);
            }
        }
        let cell = Cell { method: "first-plus-tail".into(), budget: TokenCount(4_000), figures };
        let report = |name: &str| SessionReport {
            name: name.into(),
            tokens: TokenCount(90_000),
            class: Class::Real,
            needed: vec![7],
            rereads: KeptShare::default(),
            cells: vec![cell.clone()],
        };
        Evaluation {
            budgets: vec![TokenCount(4_000)],
            half: Some(Half::Check),
            other_half: 3,
            reports: vec![report("one"), report("two")],
            skipped: Vec::new(),
        }
    }

    fn screen(width: usize) -> Screen {
        let mut screen = Screen::of_stdout(Color::Never);
        screen.width = width;
        screen
    }

    #[test]
    fn every_width_shows_every_column() {
        for width in [40, 60, 80, 120] {
            let screen = screen(width);
            let text = text(&evaluation(), true, &screen);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
            let heads: Vec<&str> = text.lines().filter(|line| line.starts_with("4,000 tokens")).collect();
            for column in ONCE.iter().chain(&WHERE).chain(&CHAIN) {
                let is_shown = |line: &&str| line.split_whitespace().any(|word| word == column.name);
                assert!(heads.iter().any(is_shown), "{} at {width}:\n{text}", column.name);
            }
            assert!(
                text.contains("checking half") && text.contains("3 sessions in the other half"),
                "{text}"
            );
        }
    }

    #[test]
    fn figures_stand_with_their_sessions_and_their_meaning() {
        let text = text(&evaluation(), false, &screen(80));
        for part in ["290   3998", "(sessions)           2      2", "junk    lines no reader can use"] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
    }
}
