//! Settings from `settings.json`: defaults, then the user's, then the workspace's, then the administrator's, then variables and
//! flags. Each value knows where it was set; docs/settings.md lists the keys.

mod archive;
mod check;
mod compaction;
mod document;
mod edit;
mod effective;
mod expand;
mod fetch;
mod gateway;
mod guard;
mod keys;
mod kind;
mod layers;
mod load;
mod looks;
mod lookup;
mod mcp;
mod memory;
mod problem;
mod provenance;
mod providers;
mod restrictions;
mod retention;
mod sandbox;
mod skills;
mod unread;
mod work;

pub(crate) use edit::{set_entry, set_list};
pub use effective::{AboutSetting, ShownSetting, change_setting, setting_keys};
pub use gateway::GatewayConfig;
pub use layers::Settings;
pub use load::{FileOwner, LoadedSettings, load_here, load_here_with};
pub use looks::NotificationMethod;
pub use problem::{FileLine, SettingsError, SettingsFault, SettingsWarning, UnsupportedKey, WrongValue};
pub use provenance::Provenance;
pub(crate) use providers::{ConfiguredModel, ConfiguredProvider};
pub use restrictions::{RestrictionError, check_restrictions, unsupported_notice};
