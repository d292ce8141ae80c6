//! Settings from `settings.json`, of the user and of the workspace: defaults, then the user's, then the workspace's, then
//! flags. Each value can tell where it was set; docs/settings.md lists the keys.

mod check;
mod compaction;
mod document;
mod edit;
mod keys;
mod kind;
mod layers;
mod lookup;
mod memory;
mod problem;
mod provenance;
mod providers;
mod restrictions;
mod retention;
mod skills;
mod unread;
mod work;

pub(crate) use edit::set_list;
pub use layers::{Loaded, Settings, load_here};
pub use problem::{Fault, Place, SettingsError, Unhonoured, Warning, WrongValue};
pub use provenance::Provenance;
pub(crate) use providers::{StatedModel, StatedProvider};
pub use restrictions::{Unrestricted, refuse_unrestricted, unhonoured_notice};
