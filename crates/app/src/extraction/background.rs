//! Learns from past sessions while the user works, if the settings want that. Nothing waits for it.

use std::path::PathBuf;
use std::time::Duration;

use longhaul_agent::{ExtractorEnd, ModelProfile};
use longhaul_conversation::plural;
use longhaul_memory::{FactScope, save_target};
use longhaul_providers::HttpModel;
use longhaul_skills::{ExtractionState, InboxNews, load_skills};
use longhaul_workspace::Home;
use tokio_util::sync::CancellationToken;

use super::{Extraction, ExtractionMode, SessionSelection, claim};
use crate::clock::now;
use crate::project::Project;
use crate::runtime::runtime;
use crate::settings::Settings;
use crate::skills::places;
use crate::workspace::WorkspaceContext;

/// The delay before the first run: the first prompt comes first.
const PATIENCE: Duration = Duration::from_secs(5);

/// The time between two runs, in milliseconds: half an hour.
const INTERVAL: i64 = 30 * 60 * 1000;

/// Learns from the sessions of the current folder, if the settings want that, until it is done or `over`. Reads only sessions
/// whose answers all come from the same provider, by `is_own_model`. `tell` receives the news, if any. A failure is left for
/// the next run.
pub fn learn_in_background(
    settings: &Settings,
    home: &Home,
    model: (HttpModel, ModelProfile),
    is_own_model: &(dyn Fn(&str) -> bool + Send + Sync),
    over: &CancellationToken,
    tell: impl Fn(String),
) {
    if !settings.learns_in_background() {
        return;
    }
    let Ok(runtime) = runtime() else { return };
    let learned = runtime.block_on(async {
        // Whoever leaves at once is not held up, either.
        if tokio::time::timeout(PATIENCE, over.cancelled()).await.is_ok() {
            return Ok(None);
        }
        learn(settings, home, model, is_own_model, over).await
    });
    if let Ok(Some(news)) = learned
        && let Some(notice) = notice(&news)
    {
        tell(notice);
    }
    runtime.shutdown_background();
}

async fn learn(
    settings: &Settings,
    home: &Home,
    (model, profile): (HttpModel, ModelProfile),
    is_own_model: &(dyn Fn(&str) -> bool + Send + Sync),
    over: &CancellationToken,
) -> anyhow::Result<Option<InboxNews>> {
    let Some(project) = Project::find()? else { return Ok(None) };
    let Some(lock) = claim(&project)? else { return Ok(None) };
    let last = ExtractionState::load(&project.home.extraction_state())?.last_run();
    if last.is_some_and(|last| now().as_millis().saturating_sub(last.as_millis()) < INTERVAL) {
        return Ok(None);
    }
    let context = WorkspaceContext::find(settings, &[])?;
    let global_memory: PathBuf = save_target(FactScope::Global, &context.places, &context.settings)?;
    let extraction = Extraction {
        project: Some(&project),
        files: &[],
        selection: SessionSelection::Worthwhile,
        mode: ExtractionMode::Propose,
        skills: load_skills(&places(home, &context), &settings.skills()),
        global_memory,
        is_own_model: Some(is_own_model),
        progress: &|_| {},
    };
    let mut lock = Some(lock);
    let Some(material) = extraction.gather(&mut lock, over)? else { return Ok(None) };
    if over.is_cancelled() || material.is_empty() {
        return Ok(None);
    }
    let extracted = extraction.learn(material, (&model, profile), &mut lock, over).await?;
    let is_over = extracted.by_model.is_some_and(|model| model.end == ExtractorEnd::Cancelled);
    Ok((!is_over).then_some(extracted.news))
}

/// The news of the inbox in a line; `None` if there are none.
fn notice(news: &InboxNews) -> Option<String> {
    if news.is_empty() {
        return None;
    }
    let mut pieces = Vec::new();
    if !news.skills.is_empty() {
        let count = plural(news.skills.len(), "new skill", "new skills");
        pieces.push(format!("{count} ({})", news.skills.join(", ")));
    }
    if !news.updates.is_empty() {
        let count = plural(news.updates.len(), "skill change", "skill changes");
        pieces.push(format!("{count} ({})", news.updates.join(", ")));
    }
    if !news.memory.is_empty() {
        pieces.push("facts to remember".to_string());
    }
    let inboxes = match (news.skills.is_empty() && news.updates.is_empty(), news.memory.is_empty()) {
        (true, _) => "Review with `longhaul memory inbox`.",
        (false, true) => "Review with `longhaul skills inbox`.",
        (false, false) => "Review with `longhaul skills inbox` and `longhaul memory inbox`.",
    };
    Some(format!("Learned from past sessions: {}. {inboxes}", pieces.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(skills: &[&str], updates: &[&str], memory: &[&str], expected: Option<&str>) {
        let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        let news = InboxNews { skills: owned(skills), updates: owned(updates), memory: owned(memory) };
        assert_eq!(notice(&news).as_deref(), expected);
    }

    #[test]
    fn what_was_found_is_told_in_a_line() {
        check(&[], &[], &[], None);
        check(
            &["a", "b"],
            &[],
            &[],
            Some("Learned from past sessions: 2 new skills (a, b). Review with `longhaul skills inbox`."),
        );
        check(
            &["a"],
            &["c"],
            &["private/extraction.patch"],
            Some(
                "Learned from past sessions: 1 new skill (a), 1 skill change (c), facts to remember. \
                 Review with `longhaul skills inbox` and `longhaul memory inbox`.",
            ),
        );
        check(
            &[],
            &[],
            &["global/extraction.patch"],
            Some("Learned from past sessions: facts to remember. Review with `longhaul memory inbox`."),
        );
    }
}
