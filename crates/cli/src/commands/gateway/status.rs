//! Status of the gateway, from its database.

use longhaul_app::clock::now;
use longhaul_gateway::Figures;

use super::anchors;
use crate::output::{Screen, print, thousands};

/// Shows the figures.
pub(super) fn run(screen: &Screen) -> anyhow::Result<()> {
    let store = anchors::open()?;
    let figures = store.figures()?;
    let calls = figure(&figures, "requests:generate");
    if calls == 0 {
        return print("No calls yet. Start a client with `longhaul gateway -- claude`.\n");
    }
    let number = |name: &str| thousands(usize::try_from(figure(&figures, name)).unwrap_or(0));
    let day: String = now().to_string().chars().take(10).collect();
    let spent = store.spent(&day)? as f64 / 1e6;
    let input = figure(&figures, "tokens:input").max(1) as f64;
    let cached = figure(&figures, "tokens:cached") as f64 / input * 100.0;
    let refused: i64 =
        figures.iter().filter(|(name, _)| name.starts_with("refusals:")).map(|(_, count)| count).sum();
    let mut text = format!(
        "{}\n  Calls      {} ({} rewritten, {} refused by the provider)\n  Input      {} tokens, {cached:.0}% from the provider's \
         cache\n  Output     {} tokens\n  Spend      ${spent:.2} today, by known prices\n  Compacted  {} to fit, {} as it pays, {} \
         with a cold cache\n",
        screen.strong("Longhaul gateway, since its first call"),
        number("requests:generate"),
        number("rewritten"),
        thousands(usize::try_from(refused).unwrap_or(0)),
        number("tokens:input"),
        number("tokens:output"),
        number("compactions:hard"),
        number("compactions:pays"),
        number("compactions:cold"),
    );
    let would: i64 =
        ["hard", "pays", "cold"].iter().map(|kind| figure(&figures, &format!("would_compact:{kind}"))).sum();
    let problems = [
        (would, "requests would have been compacted (mode observe)"),
        (figure(&figures, "does_not_fit"), "requests were too long and had no place to cut"),
        (figure(&figures, "bypassed"), "conversations are passed as they are: the provider refused our part"),
        (
            figure(&figures, "store_failures"),
            "times the database did not answer: requests passed as they were",
        ),
    ];
    for (count, what) in problems.iter().filter(|(count, _)| *count > 0) {
        text.push_str(&format!("  {} {what}\n", thousands(usize::try_from(*count).unwrap_or(0))));
    }
    let newest = store.compactions(5)?;
    if !newest.is_empty() {
        text.push_str("Newest compactions:\n");
        newest.iter().for_each(|record| text.push_str(&anchors::line(record)));
    }
    print(&text)
}

fn figure(figures: &Figures, name: &str) -> i64 {
    figures.get(name).copied().unwrap_or_default()
}
