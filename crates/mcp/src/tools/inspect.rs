//! `inspect`: where a session's tokens are.

use longhaul_app::models::ContextWindow;
use longhaul_app::settings::load_here;
use longhaul_compaction::Survey;
use longhaul_conversation::{TokenCount, grouped};
use longhaul_formats::Event;

use super::Request;
use crate::arguments::Arguments;
use crate::quote::{framed, one_line};

/// The most tools, files and messages that are listed.
const LISTED: usize = 10;

pub(super) fn answer(request: &Request, arguments: &mut Arguments) -> Result<String, String> {
    let named = arguments.text("session")?;
    let (library, session) = request.session(named.as_deref())?;
    let settings = load_here().map_err(|error| format!("{error:#}"))?.settings;
    let mut survey = Survey::new(settings.estimator());
    let info = session.each_event(&mut |event| {
        if let Event::Change(change) = event {
            survey.apply(&change);
        }
    })?;
    let breakdown = survey.counted_breakdown(&info.system, &info.tools, 1.0);
    let counted = breakdown.counted.map(|counted| counted.highest);
    let window = ContextWindow::find(None, &settings, &info, counted);
    let count = |tokens: TokenCount| grouped(tokens.0);
    let share = |tokens: TokenCount| format!("{:.0} %", 100.0 * tokens.share_of(breakdown.total));
    let mut text = format!(
        "Session {} of {}: {} tokens ({}), {:.0} % of a {}-token window{}; {} messages, {} tool calls, {} compactions by the agent.\n",
        library.short_id(&session),
        session.agent.as_str(),
        count(breakdown.total),
        if breakdown.counted.is_some() { "by the provider's count" } else { "estimated" },
        100.0 * breakdown.total.share_of(window.size),
        count(window.size),
        window.whose(&info),
        breakdown.messages,
        breakdown.calls,
        info.compactions,
    );
    text.push_str("\nBy kind:\n");
    for kind in &breakdown.kinds {
        text.push_str(&format!("- {}: {} ({})\n", kind.kind.name(), count(kind.tokens), share(kind.tokens)));
    }
    let mut list = |heading: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            text.push_str(&format!("\n{heading}:\n{}", lines.concat()));
        }
    };
    let tools = breakdown.tools.iter().take(LISTED);
    let tools = tools.map(|tool| {
        format!("- {}: {} in {} calls\n", one_line(&tool.name, 80), count(tool.tokens()), tool.calls)
    });
    list("By tool", tools.collect());
    let files = breakdown.files.iter().take(LISTED);
    let files = files.map(|file| {
        format!("- {}: {} in {} calls\n", one_line(&file.path, 200), count(file.tokens), file.calls)
    });
    list("By file", files.collect());
    let heaviest = breakdown.heaviest.iter().take(LISTED).map(|message| {
        let number = message.ordinal.map(|number| number.to_string()).unwrap_or_default();
        format!(
            "- {number} {} ({}): {}\n",
            count(message.tokens),
            message.kind.name(),
            one_line(&message.preview, 100)
        )
    });
    list("Heaviest messages", heaviest.collect());
    if !breakdown.faults.is_empty() {
        text.push_str(&format!(
            "\n{} faults for which a provider would refuse the conversation.\n",
            breakdown.faults.len()
        ));
    }
    Ok(framed(text.trim_end()))
}
