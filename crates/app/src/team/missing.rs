//! Says that this program was built without the team's archive.

use std::io::Write;

use anyhow::anyhow;
use longhaul_archive::{ArchivedSession, Question, Retention};
use longhaul_conversation::Timestamp;

use super::{PushSummary, TeamAnswer, TeamSession};
use crate::failure::hinted;
use crate::settings::Settings;

fn missing<T>() -> anyhow::Result<T> {
    let hint = "build it with `cargo install longhaul --features postgres`";
    Err(hinted(anyhow!("this longhaul was built without the team's archive"), hint))
}

pub(super) fn migrate(_: &Settings) -> anyhow::Result<(i32, i32)> {
    missing()
}

pub(super) fn sessions(_: &Settings) -> anyhow::Result<Vec<TeamSession>> {
    missing()
}

pub(super) fn recall(_: &Settings, _: &Question, _: usize) -> anyhow::Result<TeamAnswer> {
    missing()
}

pub(super) fn export(_: &Settings, _: &str, _: &mut dyn Write) -> anyhow::Result<()> {
    missing()
}

pub(super) fn delete(
    _: &Settings,
    _: &[String],
    _: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<usize> {
    missing()
}

pub(super) fn expired(_: &Settings, _: &Retention, _: Timestamp) -> anyhow::Result<Vec<ArchivedSession>> {
    missing()
}

pub(super) fn prune(_: &Settings, _: &Retention, _: Timestamp) -> anyhow::Result<Vec<ArchivedSession>> {
    missing()
}

pub(super) fn rebuild(_: &Settings) -> anyhow::Result<usize> {
    missing()
}

pub(super) fn push(_: &Settings) -> anyhow::Result<PushSummary> {
    missing()
}
