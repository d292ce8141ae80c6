//! The network as settings, variables and flags describe it.

use std::path::Path;

use anyhow::anyhow;
use longhaul_providers::{Certificates, Network, Proxies};

use crate::failure::hinted;
use crate::settings::Settings;

/// The way to providers, through the proxies that variables name.
///
/// # Errors
/// A variable names no proxy, or the file holds no certificates.
pub fn load_network(settings: &Settings, ca_file: Option<&Path>) -> anyhow::Result<Network> {
    let proxies = Proxies::from_variables(|name| settings.variable(name)).map_err(|reason| {
        hinted(anyhow!("cannot use the proxy: {reason}"), "correct or unset that variable")
    })?;
    let certificates = ca_file
        .map_or(Ok(Certificates::default()), Certificates::read)
        .map_err(|error| hinted(error, "pass a readable PEM file of certificates to --ca-file"))?;
    Ok(Network { proxies, certificates, ..Network::default() })
}
