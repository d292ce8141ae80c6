//! Compacts a session of our own in its log. The log only grows, and the compaction can be undone.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::anyhow;
use longhaul_app::clock::now;
use longhaul_app::environment;
use longhaul_app::failure::hinted;
use longhaul_app::project::log_failure;
use longhaul_app::sessions::new_id;
use longhaul_app::settings::Settings;
use longhaul_compaction::{Outcome, PlanOptions};
use longhaul_conversation::Message;
use longhaul_engine::{CompactionDeps, Conversation, Folder, Offline, RecordId};
use longhaul_formats::{Format, detect_format};
use longhaul_sessions::Log;
use longhaul_workspace::Home;
use tokio_util::sync::CancellationToken;

use super::{CompressOptions, by_model};
use crate::input;
use crate::options::Summariser;
use crate::output::{Color, print_aside, visible};
use crate::running::until_interrupted;

/// The file of a session that may be compacted in place. Another agent's is refused, with what to do instead.
pub(super) fn own_session(given: &Path) -> anyhow::Result<PathBuf> {
    let name = input::display_name(given);
    let format = detect_format(input::open(given)?)?;
    let home = Home::resolve(&environment::of_process())?;
    let is_ours = format == Format::GeminiJsonl
        && home
            .tmp()
            .canonicalize()
            .is_ok_and(|tmp| given.canonicalize().is_ok_and(|path| path.starts_with(tmp)));
    if is_ours {
        return Ok(given.to_path_buf());
    }
    let error = anyhow!("{name} is no session of Longhaul's, and files of other programs are never changed");
    Err(hinted(
        error,
        match format {
            Format::ClaudeCode => {
                "write a compacted copy with -o OUT.jsonl, then continue it with `claude --resume OUT.jsonl`"
            }
            _ => {
                "write a compacted copy with -o OUT, or import it with `longhaul sessions import` and compact that with \
             `longhaul compress --in-place latest`"
            }
        },
    ))
}

/// Compacts the session in this log; what came of it, and the conversation since.
pub(super) fn compact(
    path: &Path,
    plan: &PlanOptions,
    options: &CompressOptions,
    settings: &Settings,
    color: Color,
) -> anyhow::Result<(Outcome, Vec<Message>)> {
    let log = Log::open_existing(path).map_err(log_failure)?;
    for recovery in log.recovered() {
        print_aside(&format!("warning: {}\n", visible(&recovery.to_string())));
    }
    let model = log.replay().info().model().map(str::to_string);
    // Whole texts of what is shortened lie where the agent would put them.
    let project = path.parent().and_then(Path::parent).unwrap_or(Path::new(""));
    let files = Folder::new(project);
    let mut conversation = Conversation::on(log, plan.estimator);
    let record_id = RecordId { id: new_id(), at: now() };
    let run = async |deps: &CompactionDeps<'_>, cancel: &CancellationToken| {
        Ok(conversation.compact(plan, &settings.engine(), deps, record_id, cancel).await?)
    };
    let outcome = match options.summariser {
        Summariser::Model => {
            by_model::compact(model.as_deref(), &files, &options.model, settings, color, run)?
        }
        Summariser::Offline => {
            let started = Instant::now();
            let deps = CompactionDeps {
                summariser: &Offline,
                files: &files,
                counter: None,
                pre_compress: None,
                events: &|_| {},
                clock: &|| started.elapsed(),
            };
            until_interrupted(async |cancel| run(&deps, cancel).await)??.result
        }
    };
    let messages = conversation.transcript().messages().to_vec();
    Ok((outcome, messages))
}
