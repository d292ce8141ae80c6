//! Turns that cannot be recorded: they end, send nothing more, and go on once there is room.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use longhaul_conversation::{Model, ModelStream, Request, ScriptedModel, ScriptedReply};
use longhaul_sessions::Recording;
use serde_json::json;

use super::tool_tests::look;
use super::trial::{Trial, settings, words};
use super::*;

/// The folder of a session, which can be taken away so that nothing can be written there.
struct Disk {
    place: PathBuf,
    is_full: AtomicBool,
}

impl Disk {
    fn of(trial: &Trial) -> Self {
        Self { place: trial.folder.path().to_path_buf(), is_full: AtomicBool::new(false) }
    }

    fn away(&self) -> PathBuf {
        self.place.with_extension("away")
    }

    fn fill(&self) {
        if !self.is_full.swap(true, Ordering::SeqCst) {
            fs::rename(&self.place, self.away()).expect("moved");
            fs::write(&self.place, "in the way").expect("written");
        }
    }

    fn free(&self) {
        if self.is_full.swap(false, Ordering::SeqCst) {
            fs::remove_file(&self.place).expect("removed");
            fs::rename(self.away(), &self.place).expect("moved back");
        }
    }

    /// All that is recorded, wherever the file is now.
    fn recorded(&self, log: &Path) -> String {
        let name = log.file_name().expect("a name");
        [&self.place, &self.away()]
            .iter()
            .filter_map(|folder| fs::read_to_string(folder.join(name)).ok())
            .collect()
    }
}

/// A model that is never sent what the log does not hold.
struct Strict<'a> {
    model: ScriptedModel,
    disk: &'a Disk,
    log: PathBuf,
}

impl Model for Strict<'_> {
    fn stream(&self, request: Request) -> ModelStream<'_> {
        let recorded = self.disk.recorded(&self.log);
        for part in request.messages.iter().flat_map(|message| &message.parts) {
            let said = part.as_text().map(str::to_string);
            let said = said.or_else(|| part.as_result().map(|result| result.readable().into_owned()));
            let said = said.unwrap_or_default();
            // In the log it stands as JSON.
            let encoded = json!(said).to_string();
            assert!(recorded.contains(&encoded[1..encoded.len() - 1]), "sent unrecorded: {said}");
        }
        self.model.stream(request)
    }
}

/// A turn with a tool call, during which the disk is full from the first event on for which `fills` holds, or from the
/// beginning: `asked` requests are sent, and the model then answers as if nothing had happened.
#[track_caller]
fn check_full(fills: impl Fn(&Event) -> bool + Send + Sync, from_start: bool, asked: usize) {
    let (mut trial, ran) = tool_tests::trial();
    let disk = Disk::of(&trial);
    let log = trial.agent.conversation().log().path().to_path_buf();
    let replies = [ScriptedReply::parts([look("c1", "one")]), ScriptedReply::text("Done.")];
    let model = Strict { model: ScriptedModel::new(replies), disk: &disk, log };
    if from_start {
        disk.fill();
    }
    let hear = |event: &Event| {
        if fills(event) {
            disk.fill();
        }
        false
    };
    let ended = trial.try_run(Some("Look."), &model, hear);
    assert!(matches!(ended, Err(AgentError::Session(_))), "{ended:?}");
    assert_eq!(model.model.requests().len(), asked);
    assert!(ran.lock().expect("nobody panicked").len() <= asked);
    // Trying again while the disk is full changes nothing, neither does saying more.
    let before = trial.agent.conversation().log().replay().messages().to_vec();
    assert!(trial.try_run(None, &model, |_| false).is_err());
    assert!(trial.try_run(Some("More."), &model, |_| false).is_err());
    assert_eq!(trial.agent.conversation().log().replay().messages(), before);
    assert_eq!(model.model.requests().len(), asked);
    disk.free();
    let ended =
        match before.iter().any(|message| message.parts.iter().any(|part| part.as_text() == Some("Look."))) {
            true => trial.try_run(None, &model, |_| false).expect("recorded"),
            // Not even the words were taken: they are said again.
            false => trial.try_run(Some("Look."), &model, |_| false).expect("recorded"),
        };
    let is_answered = trial.recorded().last().is_some_and(|last| last == "model: Done.");
    assert!(is_answered, "{:?}", trial.recorded());
    assert!(ended.is_none_or(|end| end == TurnEnd::Finished(longhaul_conversation::FinishReason::Stop)));
    assert_eq!(trial.agent.conversation().log().recording(), &Recording::Complete);
    assert_eq!(model.model.requests().len(), 2);
    assert_eq!(ran.lock().expect("nobody panicked").len(), 1, "the tool ran once");
    trial.check_valid();
}

#[test]
fn wherever_the_disk_fills_the_turn_stops_and_goes_on_later() {
    check_full(|_| false, true, 0);
    check_full(|event| matches!(event, Event::StepBegan { step: 1 }), false, 0);
    check_full(|event| matches!(event, Event::ToolBegan { .. }), false, 1);
    check_full(|event| matches!(event, Event::ToolEnded(_)), false, 1);
    check_full(|event| matches!(event, Event::StepBegan { step: 2 }), false, 1);
    check_full(|event| matches!(event, Event::TextDelta(_)), false, 2);
}

#[test]
fn what_waits_is_not_compacted_away() {
    let mut trial = Trial::with(settings(8_000));
    let disk = Disk::of(&trial);
    let model = ScriptedModel::new((0..3).map(|turn| ScriptedReply::text(format!("{turn} {}", words(900)))));
    trial.run("One.", &model);
    let fills = |event: &Event| {
        if matches!(event, Event::TextDelta(_)) {
            disk.fill();
        }
        false
    };
    assert!(trial.try_run(Some("Two."), &model, fills).is_err());
    let before = trial.agent.conversation().transcript().messages().to_vec();
    assert!(trial.try_run(Some("Three."), &model, |_| false).is_err());
    assert_eq!(trial.agent.conversation().transcript().messages(), before);
    disk.free();
    trial.run("Three.", &model);
    assert!(trial.has(|event| matches!(event, Event::Compaction(_))), "it was due");
    let said = trial.recorded();
    assert!(said.iter().any(|line| line.starts_with("model: 1 word0000")), "{said:?}");
    trial.check_valid();
}
