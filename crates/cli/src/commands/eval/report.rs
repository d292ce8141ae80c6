//! The figures as tables for people, made for 80 columns.

use longhaul_conversation::TokenCount;
use longhaul_eval::{Cell, Class, Defects, EvalSummary, Figures, Measure, SessionReport};

use super::Evaluation;
use crate::output::{Page, Screen, bar, fit, pad, pad_left, plural, thousands};

/// The most skipped files that are listed.
const LISTED: usize = 10;
/// The width of the names of methods.
const METHOD: usize = 15;
/// The least room for a bar.
const SHORTEST_BAR: usize = 10;

/// A column: its name, its width and what it shows.
struct Column {
    name: &'static str,
    width: usize,
    measure: Measure,
}

const fn column(name: &'static str, width: usize, measure: Measure) -> Column {
    Column { name, width, measure }
}

/// The columns of one compaction.
const ONCE: [Column; 6] = [
    column("recall", 7, Measure::Recall),
    column("ground", 7, Measure::Grounded),
    column("paths", 6, Measure::Paths),
    column("sent.", 6, Measure::Sentences),
    column("rules", 6, Measure::Rules),
    column("plant", 6, Measure::Planted),
];

/// The columns that are shown, too, where they were measured and there is room.
const ALSO: [Column; 3] = [
    column("answers", 8, Measure::Answers),
    column("memory", 7, Measure::Remembered),
    column("uncued", 7, Measure::PlantedUncued),
];

/// The columns of a chain of compactions.
const CHAIN: [Column; 10] = [
    column("recall", 6, Measure::LogRecall),
    column("ground", 7, Measure::LogGrounded),
    column("sent.", 6, Measure::LogSentences),
    column("rules", 6, Measure::LogRules),
    column("plant", 6, Measure::LogPlanted),
    column("recall", 7, Measure::FilesRecall),
    column("ground", 7, Measure::FilesGrounded),
    column("sent.", 6, Measure::FilesSentences),
    column("rules", 6, Measure::FilesRules),
    column("plant", 6, Measure::FilesPlanted),
];

/// The width of the tokens added and the time.
const EFFORT: usize = 6 + 7;

/// The whole evaluation.
pub(super) fn text(evaluation: &Evaluation, each_session: bool, screen: &Screen) -> String {
    let mut page = Page::new(*screen);
    for class in [Class::Real, Class::Scripted, Class::Small] {
        let summary = EvalSummary::of(&evaluation.reports, class);
        if summary.sessions > 0 {
            means(&mut page, class, &summary, &evaluation.budgets);
        }
    }
    if each_session {
        sessions(&mut page, &evaluation.reports);
    }
    skipped(&mut page, evaluation);
    page.into_text()
}

fn means(page: &mut Page, class: Class, summary: &EvalSummary, budgets: &[TokenCount]) {
    let count = plural(summary.sessions, "session", "sessions");
    page.heading(&format!("{count}, {}: means in percent", describe(class)));
    for budget in budgets {
        let cells: Vec<&Cell> = summary.cells.iter().filter(|cell| cell.budget == *budget).collect();
        once(page, *budget, &cells);
    }
    let is_chained = |column: &Column| is_measured(column, &summary.cells.iter().collect::<Vec<_>>());
    if CHAIN.iter().any(is_chained) {
        page.heading("After five compactions: with the log, then from files alone");
        for budget in budgets {
            let cells: Vec<&Cell> = summary.cells.iter().filter(|cell| cell.budget == *budget).collect();
            chain(page, *budget, &cells);
        }
    }
    defects(page, summary);
}

fn describe(class: Class) -> &'static str {
    match class {
        Class::Real => "real",
        Class::Scripted => "scripted, with questions",
        Class::Small => "too small to need compaction",
    }
}

/// One compaction with one budget: a line for each method, with a bar for grounded recall.
fn once(page: &mut Page, budget: TokenCount, cells: &[&Cell]) {
    let mut columns: Vec<&Column> = ONCE.iter().filter(|column| is_measured(column, cells)).collect();
    let mut used = 2 + METHOD + EFFORT + columns.iter().map(|column| column.width).sum::<usize>();
    for column in ALSO.iter().filter(|column| is_measured(column, cells)) {
        if used + column.width + 1 + SHORTEST_BAR <= page.screen.width {
            used += column.width;
            columns.push(column);
        }
    }
    head(page, budget, &columns, " added     ms");
    let room = page.screen.width.saturating_sub(used + 1);
    for cell in cells {
        let Figures { added, time, .. } = &cell.figures;
        let effort = format!("{added:>6.0}{:>7.1}", time.as_secs_f64() * 1_000.0);
        let grounded = cell.figures.share(Measure::Grounded).unwrap_or_default();
        let bar = page.screen.filled(&bar(grounded, room));
        let line = format!("{}{effort} {bar}", start(cell, &columns));
        page.line(&line);
    }
}

fn chain(page: &mut Page, budget: TokenCount, cells: &[&Cell]) {
    let columns: Vec<&Column> = CHAIN.iter().collect();
    head(page, budget, &columns, "");
    for cell in cells {
        page.line(&start(cell, &columns));
    }
}

fn head(page: &mut Page, budget: TokenCount, columns: &[&Column], rest: &str) {
    let names: String = columns.iter().map(|column| pad_left(column.name, column.width)).collect();
    let budget = pad(&format!("{} tokens", thousands(budget.0)), METHOD + 2);
    page.gap();
    let line = format!("{}{}", page.screen.strong(&budget), page.screen.faint(&format!("{names}{rest}")));
    page.line(&line);
}

/// The method and its shares.
fn start(cell: &Cell, columns: &[&Column]) -> String {
    let shares: String = columns
        .iter()
        .map(|column| pad_left(&percent(&cell.figures, column.measure), column.width))
        .collect();
    format!("  {}{shares}", pad(&cell.method, METHOD))
}

fn is_measured(column: &Column, cells: &[&Cell]) -> bool {
    cells.iter().any(|cell| cell.figures.share(column.measure).is_some())
}

fn percent(figures: &Figures, measure: Measure) -> String {
    figures.share(measure).map_or_else(|| "–".to_string(), |share| format!("{:.1}", share * 100.0))
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
        let line =
            page.screen.good("No pairing faults, no bad starts, nothing over budget, no changed tails.");
        return page.line(&line);
    }
    page.line(&page.screen.strong("Defects"));
    for line in lines {
        let line = page.screen.warning(&fit(&line, page.screen.width));
        page.line(&line);
    }
}

/// Plain and grounded recall of each session at each budget.
fn sessions(page: &mut Page, reports: &[SessionReport]) {
    page.heading("By session: recall and grounded recall at each budget");
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
            let figures: String = cells
                .map(|Cell { figures, .. }| {
                    let recall = percent(figures, Measure::Recall);
                    pad_left(&format!("{recall}/{}", percent(figures, Measure::Grounded)), 14)
                })
                .collect();
            page.line(&format!("  {}{figures}", pad(method, METHOD)));
        }
    }
}

fn skipped(page: &mut Page, evaluation: &Evaluation) {
    let skipped = &evaluation.skipped;
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
