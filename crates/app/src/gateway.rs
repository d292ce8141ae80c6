//! The gateway's place on this machine: its folder, and the secret that credentials are hashed with.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use longhaul_workspace::{Home, create_private_atomically, create_private_folder};
use uuid::Uuid;

use crate::environment;
use crate::failure::hinted;

/// The folder of the gateway's database.
///
/// # Errors
/// There is no home.
pub fn folder() -> anyhow::Result<PathBuf> {
    Ok(Home::resolve(&environment::of_process())?.gateway())
}

/// The secret of this machine that credentials are hashed with, made when it is first needed.
///
/// # Errors
/// The file cannot be made or read, or holds something else.
pub fn secret(folder: &Path) -> anyhow::Result<[u8; 32]> {
    create_private_folder(folder)?;
    let path = folder.join("secret");
    let fresh = format!("{}{}\n", Uuid::new_v4().simple(), Uuid::new_v4().simple());
    // The first of two processes wins.
    create_private_atomically(&path, fresh.as_bytes())?;
    let text = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
    parse_secret(text.trim()).ok_or_else(|| {
        let error = anyhow!("{} holds no secret of the gateway's", path.display());
        hinted(error, "remove the file: a new one is made, and conversations are compacted anew")
    })
}

fn parse_secret(text: &str) -> Option<[u8; 32]> {
    let mut secret = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (byte, place) in secret.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&text[place..place + 2], 16).ok()?;
    }
    Some(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_made_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let own = folder.path().join("gateway");
        let first = secret(&own).expect("made");
        assert_eq!(secret(&own).expect("read"), first);
        assert_ne!(first, [0; 32]);
        fs::write(own.join("secret"), "x").expect("written");
        assert!(secret(&own).is_err());
    }
}
