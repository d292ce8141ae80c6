//! `longhaul usage`: tokens and money of all agents' sessions.

use std::collections::BTreeMap;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use longhaul_app::failure::hinted;
use longhaul_app::found::{self, Reach};
use longhaul_app::usage::{Period, Spending, SpendingSum, SpentCall, spending};
use longhaul_conversation::{Timestamp, plural};
use longhaul_providers::MicroDollars;
use serde_json::{Value, json};

use crate::output::{Page, Screen, fit, pad, pad_left, print_json, thousands, visible, with_progress};
use crate::reports::found::{notices_json, tell_notices};

#[derive(Debug, Args)]
pub(crate) struct UsageOptions {
    /// Sum up by these; several are separated by commas.
    #[arg(long, value_name = "KEYS", value_delimiter = ',', default_value = "day")]
    by: Vec<Key>,
    /// Only this project, in all its worktrees.
    #[arg(long)]
    here: bool,
    /// Only calls from this day on, such as 2026-11-01 (UTC).
    #[arg(long, value_name = "DATE", value_parser = date)]
    since: Option<Timestamp>,
    /// Only calls up to this day, which is included (UTC).
    #[arg(long, value_name = "DATE", value_parser = date)]
    until: Option<Timestamp>,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

/// What calls are summed up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Key {
    Day,
    Week,
    Month,
    Model,
    Project,
    Agent,
}

const DAY: i64 = 86_400_000;

fn date(text: &str) -> Result<Timestamp, String> {
    let is_date = text.len() == 10;
    Timestamp::parse(text).filter(|_| is_date).ok_or_else(|| "expected a date such as 2026-11-01".into())
}

impl Key {
    fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Model => "model",
            Self::Project => "project",
            Self::Agent => "agent",
        }
    }

    fn of(self, call: &SpentCall) -> String {
        let unknown = || "unknown".to_string();
        let day = |at: Timestamp| at.to_string()[..10].to_string();
        match self {
            Self::Day => call.at.map_or_else(unknown, day),
            Self::Month => call.at.map_or_else(unknown, |at| day(at)[..7].to_string()),
            Self::Week => call.at.map_or_else(unknown, |at| day(monday_of(at))),
            Self::Model => call.model.clone().unwrap_or_else(unknown),
            Self::Project => call.project.clone().unwrap_or_else(unknown),
            Self::Agent => call.agent.as_str().to_string(),
        }
    }
}

/// The Monday of a moment's week. 1970 began on a Thursday.
fn monday_of(at: Timestamp) -> Timestamp {
    let days = at.as_millis().div_euclid(DAY);
    Timestamp::from_millis((days - (days + 3).rem_euclid(7)) * DAY)
}

pub(crate) fn run(options: &UsageOptions, screen: &Screen) -> anyhow::Result<()> {
    let until = options.until.map(|until| Timestamp::from_millis(until.as_millis() + DAY));
    let period = Period { since: options.since, until };
    if period.since >= period.until && period.since.is_some() && period.until.is_some() {
        return Err(hinted(anyhow!("--since is after --until"), "exchange them"));
    }
    let reach = if options.here { Reach::Project } else { Reach::Everything };
    let spending = with_progress(|| "reading sessions".to_string(), || spending(found::find(reach), period));
    let mut rows: BTreeMap<Vec<String>, SpendingSum> = BTreeMap::new();
    let mut total = SpendingSum::default();
    for call in &spending.calls {
        let keys = options.by.iter().map(|key| key.of(call)).collect();
        rows.entry(keys).or_default().add(call);
        total.add(call);
    }
    if options.json {
        return print_json(&to_json(&options.by, &rows, &total, &spending));
    }
    crate::output::print(&to_text(*screen, &options.by, &rows, &total, &spending))?;
    tell_notices(&spending.notices);
    Ok(())
}

/// The columns of figures.
const COLUMNS: [&str; 7] = ["calls", "input", "cache read", "cache write", "output", "tokens", "cost"];
/// A name is cut to fit in so many characters.
const NAME: usize = 40;

fn to_text(
    screen: Screen,
    by: &[Key],
    rows: &BTreeMap<Vec<String>, SpendingSum>,
    total: &SpendingSum,
    spending: &Spending,
) -> String {
    let mut page = Page::new(screen);
    if spending.calls.is_empty() {
        page.line("No model calls with figures were found.");
    } else {
        let name = |keys: &[String]| keys.iter().map(|key| fit(&visible(key), NAME)).collect::<Vec<_>>();
        let mut table: Vec<(Vec<String>, [String; 7])> =
            rows.iter().map(|(keys, sum)| (name(keys), cells(sum))).collect();
        let heading = by.iter().map(|key| key.name().to_string()).collect();
        let mut last = vec![String::new(); by.len()];
        last[0] = "total".into();
        table.insert(0, (heading, COLUMNS.map(str::to_string)));
        table.push((last, cells(total)));
        let keys = by.len();
        let width = |column: usize| {
            let cell = |(names, cells): &(Vec<String>, [String; 7])| match names.get(column) {
                Some(name) => name.chars().count(),
                None => cells[column - keys].chars().count(),
            };
            table.iter().map(cell).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..keys + COLUMNS.len()).map(width).collect();
        let count = table.len();
        for (place, (names, cells)) in table.iter().enumerate() {
            let names = names.iter().zip(&widths).map(|(name, width)| pad(name, *width));
            let cells = cells.iter().zip(&widths[keys..]).map(|(cell, width)| pad_left(cell, *width));
            let line = names.chain(cells).collect::<Vec<_>>().join("  ");
            let line = line.trim_end();
            let is_edge = place == 0 || place + 1 == count;
            page.line(&if is_edge { page.screen.strong(line) } else { line.to_string() });
        }
        page.gap();
        page.line(&page.screen.faint(
            "Tokens as providers counted them; cost at the list prices of each call's day, whatever your plan; days are UTC.",
        ));
    }
    if total.unpriced > 0 {
        let calls = plural(usize::try_from(total.unpriced).unwrap_or(usize::MAX), "call", "calls");
        page.line(&format!("* without {calls} whose model has no known price"));
    }
    for (agent, uncounted) in &spending.uncounted {
        let sessions = plural(uncounted.sessions, "session", "sessions");
        let tokens = match uncounted.tokens {
            0 => String::new(),
            tokens => format!(", about ~{} tokens as they stand (estimate)", thousands(tokens)),
        };
        page.line(&format!("Not in the sums: {sessions} of {agent} without figures{tokens}"));
    }
    page.into_text()
}

fn cells(sum: &SpendingSum) -> [String; 7] {
    let cost = match (sum.cost, sum.unpriced) {
        (MicroDollars(0), 1..) => "?".to_string(),
        (cost, 0) => cost.to_string(),
        (cost, _) => format!("{cost}*"),
    };
    let [calls, fresh, cached, written, output, tokens] =
        [sum.calls, sum.fresh, sum.cached, sum.written, sum.output, sum.tokens()].map(thousands);
    [calls, fresh, cached, written, output, tokens, cost]
}

fn to_json(
    by: &[Key],
    rows: &BTreeMap<Vec<String>, SpendingSum>,
    total: &SpendingSum,
    spending: &Spending,
) -> Value {
    let row = |(keys, sum): (&Vec<String>, &SpendingSum)| {
        let mut row = json!({});
        for (key, value) in by.iter().zip(keys) {
            row[key.name()] = value.as_str().into();
        }
        if let (Value::Object(row), Value::Object(figures)) = (&mut row, figures(sum)) {
            row.extend(figures);
        }
        row
    };
    let uncounted = spending.uncounted.iter().map(|(agent, uncounted)| {
        json!({"agent": agent.as_str(), "sessions": uncounted.sessions, "estimated_tokens": uncounted.tokens})
    });
    json!({
        "schema": 1,
        "by": by.iter().map(|key| key.name()).collect::<Vec<_>>(),
        "prices": "2026-11",
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
        "total": figures(total),
        "uncounted": uncounted.collect::<Vec<_>>(),
        "skipped": notices_json(&spending.notices),
    })
}

fn figures(sum: &SpendingSum) -> Value {
    json!({
        "calls": sum.calls,
        "input_tokens": sum.fresh,
        "cache_read_tokens": sum.cached,
        "cache_write_tokens": sum.written,
        "output_tokens": sum.output,
        "total_tokens": sum.tokens(),
        "cost_usd": sum.cost.as_dollars(),
        "unpriced_calls": sum.unpriced,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_begin_on_monday() {
        let monday = |day: &str| monday_of(date(day).expect("a date")).to_string()[..10].to_string();
        assert_eq!(monday("2026-11-18"), "2026-11-16");
        assert_eq!(monday("2026-11-16"), "2026-11-16");
        assert_eq!(monday("2026-11-15"), "2026-11-09");
        assert_eq!(monday("1970-01-01"), "1969-12-29");
    }
}
