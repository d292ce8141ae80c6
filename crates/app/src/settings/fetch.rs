//! The settings of the tool that reads pages of the web.

use anyhow::anyhow;
use longhaul_fetch::FetchSettings;
use longhaul_providers::{Proxies, Reach};
use serde_json::Value;

use super::layers::Settings;

impl Settings {
    /// The settings of `web_fetch`. A workspace cannot open the way to private addresses.
    pub(crate) fn fetching(&self) -> anyhow::Result<FetchSettings> {
        let own = self.without_workspace();
        let is_private = own.value(&["longhaul", "tools", "fetchPrivate"]).and_then(Value::as_bool);
        let reach = if is_private == Some(true) { Reach::Anywhere } else { Reach::PublicInternet };
        let proxies = Proxies::from_variables(|name| self.variable(name))
            .map_err(|reason| anyhow!("cannot use the proxy: {reason}"))?;
        Ok(FetchSettings { proxies, reach, ..FetchSettings::default() })
    }
}
