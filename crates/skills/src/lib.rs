//! Skills: procedures that a model can follow, kept as folders with a `SKILL.md`.
//!
//! - [`parse_manifest`] reads a SKILL.md, also one whose front matter is not quite YAML;
//! - [`load_skills`] finds those of every [tier](SkillTier), decides which counts, and tells what is wrong with the others;
//! - [`render_catalog`] is the list in the prompt, and [`load_activation`] what a model reads when it takes one up;
//! - [`plan_install`] looks at a folder before anything is copied, and [`run_install`] copies it whole or not at all; a
//!   [`SkillSource`] may also be a repository, and [`unpack_archive`] unpacks archives.
//!
//! Past sessions come in as [`SessionDigest`]s, chosen by [`plan_index`]: [`mine`] finds what happens again and again in them, and
//! [`write_drafts`] makes skills of it that somebody is to look at. A model that learns gets the same sessions by [`render_index`],
//! and what it writes is taken as a [`LearnedSkill`] or a [`ProposedFact`]; all of it waits in the [`Inbox`].
//!
//! Nothing here reads the environment, asks for the time or prints: [`SkillPlaces`] and [`SkillSettings`] say all.
//!
//! ```
//! use longhaul_skills::{SkillFolder, SkillPlaces, SkillSettings, SkillTier, load_activation, load_skills};
//!
//! let folder = tempfile::tempdir()?;
//! std::fs::create_dir(folder.path().join("tides"))?;
//! std::fs::write(
//!     folder.path().join("tides/SKILL.md"),
//!     "---\nname: tides\ndescription: Use when somebody asks for the tide.\n---\nRun `tide --today`.",
//! )?;
//! let user = SkillFolder { tier: SkillTier::User, path: folder.path().to_path_buf() };
//! let places = SkillPlaces { folders: vec![user], ..SkillPlaces::default() };
//!
//! let skills = load_skills(&places, &SkillSettings::default());
//! let tides = skills.get("Tides").expect("capitals do not matter");
//! assert!(load_activation(tides)?.render().contains("Run `tide --today`."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod activate;
mod catalog;
mod commands;
mod data;
mod digest;
mod discover;
mod draft;
mod error;
mod extraction_lock;
mod inbox;
mod index;
mod install;
mod known;
mod learned;
mod manifest;
mod mining;
mod naming;
mod neutralise;
mod patch;
mod portable;
mod read;
mod source;
mod state;
mod unpack;

pub use activate::{Activation, load_activation};
pub use catalog::{
    ACTIVATE_TOOL, CatalogRoom, SEARCH_TOOL, needs_search, render_catalog, render_matches, search_skills,
};
pub use digest::{DeedEnding, DeedPurpose, DigestStep, SessionDeed, SessionDigest};
pub use discover::{
    BUILTIN, Location, OverriddenSkill, RefusedSkill, Skill, SkillFolder, SkillPlaces, SkillSettings,
    SkillTier, Skills, load_skills,
};
pub use draft::{SkillDraft, write_drafts};
pub use error::SkillError;
pub use extraction_lock::{Claimant, ExtractionLock, ProcessState};
pub use inbox::{
    Accepted, AppliedPatches, Inbox, InboxNews, InboxSnapshot, MemoryKind, ProposedFact, TakenBack, Undone,
    WaitingPatch, WaitingSkill, WaitingUpdate, candidate_json,
};
pub use index::{IndexSettings, Indexed, PastSession, plan_index, render_index};
pub use install::{
    InstallPlan, LinkPlan, PlannedFile, SecretInSkill, plan_install, plan_link, run_install, run_link,
    run_uninstall,
};
pub use known::{render_candidates, render_known_skills};
pub use learned::{LearnedScript, LearnedSkill};
pub use manifest::{Manifest, ManifestError, SkillName, parse_manifest, render_manifest};
pub use mining::{MinedPattern, PatternEvidence, ProcedureOccasion, Remedy, SkillCandidate, mine};
pub use patch::{PatchTargets, PlannedWrite};
pub use source::{GitProtocol, GitUrl, SkillSource};
pub use state::{ExtractionRun, ExtractionState};
pub use unpack::{find_skill_root, is_skill_archive, unpack_archive};

/// The program of the README, which must compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
