//! The demo as lines: an afternoon of work goes through the engine, and each compaction is reported.

mod show;
mod story;

use std::sync::Mutex;
use std::time::Instant;

use anyhow::Context;
use longhaul_compaction::PlanOptions;
use longhaul_conversation::{
    Estimator, FinishReason, ResponseEvent, ScriptedModel, ScriptedReply, TokenCount,
};
use longhaul_engine::{ByModel, CompactionDeps, Conversation, Event, Folder, RecordId, Settings};
use longhaul_formats::Replay;
use longhaul_recall::{Search, SessionRef};
use longhaul_sessions::{NewSession, SessionKind};
use show::Show;
use tokio_util::sync::CancellationToken;

use super::PRICES;
use crate::output::Screen;

/// The window of the demonstration, small so that it fills quickly.
const WINDOW: TokenCount = TokenCount(24_000);
/// The scripted model's summary. It forgets both of the user's rules.
const SUMMARY: &str = include_str!("summary.txt");

/// Tells the story.
pub(super) fn run(screen: &Screen) -> anyhow::Result<()> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().build().context("could not start the async runtime")?;
    runtime.block_on(demonstrate(*screen))
}

async fn demonstrate(screen: Screen) -> anyhow::Result<()> {
    let folder = super::temporary_folder()?;
    let story = story::story();
    let first = story::begin();
    let new = NewSession {
        id: "demo0001-parcelpost".into(),
        project_hash: "demo".into(),
        kind: SessionKind::Main,
        directories: vec![story::DIRECTORY.into()],
        at: first,
    };
    let chats = folder.path().join("chats");
    let mut conversation = Conversation::create(&chats, &new, Estimator::default())?;
    let mut show = Show::new(screen, WINDOW);
    show.opening(&story, Estimator::default().messages(&story))?;

    // The first answer leaves things out, and the second one breaks off: then the offline summariser takes over.
    let broken_off = [
        ResponseEvent::TextDelta("<state_snapshot>\n<overall_goal>\nMake the nightly".into()),
        ResponseEvent::Finished(FinishReason::Length),
    ];
    let model = ScriptedModel::new([ScriptedReply::text(SUMMARY), ScriptedReply::events(broken_off)]);
    let summariser =
        ByModel { prices: Some(PRICES), retries: 0, ..ByModel::new(&model, story::MODEL, WINDOW) };
    let files = Folder::new(folder.path());
    let started = Instant::now();
    let events = Mutex::new(Vec::new());
    let means = CompactionDeps {
        summariser: &summariser,
        files: &files,
        counter: None,
        pre_compress: None,
        events: &|event| events.lock().expect("nothing panics while it is held").push(event),
        clock: &|| started.elapsed(),
    };
    let options = PlanOptions { session: new.id.clone(), ..PlanOptions::new(WINDOW) };
    let settings = Settings::default();
    let cancel = CancellationToken::new();
    let mut passes = 0;
    for (place, message) in story.iter().enumerate() {
        conversation.append(message)?;
        show.said(place, message, conversation_size(&conversation))?;
        let stamp = RecordId { id: format!("compaction-{}", passes + 1), at: message.at.unwrap_or(first) };
        let Some(outcome) = conversation.prepare(&options, &settings, &means, stamp, &cancel).await? else {
            continue;
        };
        let heard: Vec<Event> = std::mem::take(&mut *events.lock().expect("as above"));
        if outcome.messages().is_some() {
            passes += 1;
            let rules = conversation.tracker().rules().active();
            let forgotten = rules.filter(|rule| !SUMMARY.contains(&rule.text)).count();
            show.compacted(passes, &outcome, &heard, forgotten)?;
        }
    }
    show.now(conversation.transcript().messages(), Estimator::default().messages(&story))?;
    show.survived(&conversation)?;
    show.snapshot(conversation.transcript().messages())?;
    recall(&mut show, &conversation)?;
    undo(&mut show, &mut conversation)?;
    show.ending()
}

/// Searches for something that only a tool said, long ago.
fn recall(show: &mut Show, conversation: &Conversation) -> anyhow::Result<()> {
    let mut search = Search::new(story::DETAIL);
    let session = SessionRef::new("demo0001");
    let said = conversation.said();
    said.iter().for_each(|message| search.observe(&session, message));
    let seen = conversation.transcript().messages().iter().flat_map(|message| &message.parts);
    let is_gone = seen
        .filter_map(|part| part.as_result())
        .all(|result| !result.readable().to_lowercase().contains(story::DETAIL));
    show.recalled(story::DETAIL, is_gone, &search.hits_in(&session, said, 1))
}

/// Undoes the last compaction, and shows that the log still has everything.
fn undo(show: &mut Show, conversation: &mut Conversation) -> anyhow::Result<()> {
    let before = (conversation.transcript().messages().len(), conversation_size(conversation));
    let last = conversation.transcript().messages().last().and_then(|message| message.at);
    let undone = conversation.undo(None, last.unwrap_or_else(story::begin), &|_| {})?;
    let after = (conversation.transcript().messages().len(), conversation_size(conversation));
    let file = std::fs::File::open(conversation.log().path())?;
    let replay = Replay::read(file)?;
    let is_same = replay.transcript().messages() == conversation.transcript().messages();
    show.undone(&undone, before, after, is_same)
}

fn conversation_size(conversation: &Conversation) -> TokenCount {
    Estimator::default().messages(conversation.transcript().messages())
}
