//! A session as one file to share: everything in it, nothing loaded, nothing run, secrets taken out.

use std::io::Read;

use anyhow::Context;
use longhaul_app::sessions::Redaction;
use longhaul_app::settings::Settings;
use longhaul_conversation::{Change, grouped};
use longhaul_formats::{Event, read};
use longhaul_redact::redact;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::chronicle::{Chronicle, Whole};
use crate::pages::{compactions, context, directives, messages};
use crate::routes::STYLE;
use crate::words::{cut, first_line};

/// The policy of the file: whatever a session says, nothing is loaded and nothing runs.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// A report, and the secrets that were taken out of it.
#[derive(Debug)]
pub struct SessionReport {
    /// The file.
    pub html: String,
    /// The secrets.
    pub redaction: Redaction,
}

/// Writes a session of any agent as one HTML file.
///
/// # Errors
/// It cannot be read, or is no session of a known format.
pub fn render_report(session: impl Read, settings: &Settings) -> anyhow::Result<SessionReport> {
    let mut redaction = Redaction::default();
    let mut chronicle = Chronicle::new(settings);
    // Secrets are gone before anything is derived from what was said.
    let mut info = read(session, &mut |event| chronicle.take(redacted(event, &mut redaction)))
        .context("could not read the session")?;
    for text in [&mut info.title, &mut info.directory, &mut info.session_id].into_iter().flatten() {
        *text = redact(text).text.into_owned();
    }
    chronicle.finish(info, settings);
    let html = page(&chronicle).into_string();
    Ok(SessionReport { html, redaction })
}

fn redacted(event: Event, redaction: &mut Redaction) -> Event {
    match event {
        Event::Change(mut change) => {
            redaction.change(&mut change);
            Event::Change(change)
        }
        Event::Side { chain, message } => {
            let mut change = Change::Put(message);
            redaction.change(&mut change);
            match change {
                Change::Put(message) => Event::Side { chain: redact(&chain).text.into_owned(), message },
                change => Event::Change(change),
            }
        }
        Event::Warning(mut warning) => {
            warning.reason = redact(&warning.reason).text.into_owned();
            Event::Warning(warning)
        }
        event => event,
    }
}

fn page(chronicle: &Chronicle) -> Markup {
    let title = title(chronicle);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="content-security-policy" content=(POLICY);
                meta name="referrer" content="no-referrer";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 dir="auto" { (cut(&title, 110)) }
                    @if let Some(whole) = &chronicle.whole { (facts(chronicle, whole)) }
                    nav.tabs aria-label="Parts of this report" {
                        a href="#context" { "Context over time" } a href="#compactions" { "Compactions" }
                        a href="#rules" { "Rules and requests" } a href="#timeline" { "Timeline" }
                    }
                    section #context { @if let Some(whole) = &chronicle.whole { (context::content(chronicle, whole, None)) } }
                    section #compactions { h2 { "Compactions" } (compactions::content(chronicle, None)) }
                    section #rules { (directives::content(chronicle, None, None)) }
                    section #timeline {
                        h2 { "Timeline" }
                        @if chronicle.entries.is_empty() { p.empty { "Nothing was said in this session." } }
                        (messages(chronicle, None, 0..chronicle.entries.len(), None))
                    }
                    @for (name, entries) in &chronicle.side {
                        section {
                            h2 { "Sub-agent " (name) }
                            @let own = Chronicle::of_entries(entries.clone());
                            (messages(&own, None, 0..own.entries.len(), None))
                        }
                    }
                    p.soft { "Written by Longhaul. Secrets that it recognised were taken out; images were left out." }
                }
            }
        }
    }
}

fn facts(chronicle: &Chronicle, whole: &Whole) -> Markup {
    let info = &whole.info;
    let total = whole.breakdown.total;
    html! {
        div.facts {
            span.badge { (info.format) }
            @if let Some(folder) = &info.directory { span { (folder) } }
            @if let Some(model) = info.model() { span { (model) } }
            @if let Some(started) = info.started { time datetime=(started) { (started.to_minute()) } }
        }
        ul.figures {
            li { b { (total) } span { "tokens in context" @if whole.breakdown.counted.is_none() { ", estimated" } } }
            li { b { (grouped(chronicle.entries.len())) } span { (if chronicle.entries.len() == 1 { "message" } else { "messages" }) } }
            li { b { (grouped(whole.breakdown.calls)) } span { (if whole.breakdown.calls == 1 { "tool call" } else { "tool calls" }) " in context" } }
            li { b { (chronicle.cuts.len()) } span { (if chronicle.cuts.len() == 1 { "compaction" } else { "compactions" }) } }
        }
    }
}

fn title(chronicle: &Chronicle) -> String {
    let named = chronicle.whole.as_ref().and_then(|whole| whole.info.title.clone());
    let typed = || chronicle.entries.iter().find_map(|entry| entry.typed()).map(|text| first_line(text, 100));
    named.or_else(typed).unwrap_or_else(|| "A session".into())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn report(lines: &[serde_json::Value]) -> SessionReport {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let settings = Settings::load(None, Path::new(""), &Default::default()).expect("defaults").settings;
        render_report(text.as_bytes(), &settings).expect("a session")
    }

    fn said(kind: &str, id: &str, text: &str) -> serde_json::Value {
        let role = if kind == "user" { "user" } else { "assistant" };
        serde_json::json!({"type": kind, "uuid": id, "sessionId": "s", "message": {"role": role, "content": text}})
    }

    #[test]
    fn a_report_stands_alone_and_holds_no_secret() {
        let token = ["ghp", "_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat();
        let SessionReport { html, redaction } = report(&[
            said("user", "a", &format!("Never push to main. The token is {token}.")),
            said("assistant", "b", "<script>alert(1)</script><img src=http://x.example/y.png>"),
        ]);
        assert!(!html.contains(&token) && redaction.count() == 1, "{redaction:?}");
        assert!(html.contains("Never push to main.") && html.contains("&lt;script&gt;alert(1)"), "{html}");
        for loaded in ["<script", "<img", "<link", "src=", "url(", "@import"] {
            assert!(!html.contains(loaded) || loaded == "src=" && !html.contains("<img src="), "{loaded}");
        }
        assert!(html.contains("default-src 'none'") && html.contains("id=\"m2\""));
        assert!(!html.contains("href=\"/"), "nothing leads to a server");
    }
}
