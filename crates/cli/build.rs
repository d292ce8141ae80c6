//! Tells the program which commit it was built from. Outside a checkout of this repository there is none to tell.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=LONGHAUL_COMMIT");
    let commit = std::env::var("LONGHAUL_COMMIT").ok().or_else(commit).unwrap_or_default();
    let suffix = if commit.is_empty() { String::new() } else { format!(" ({commit})") };
    println!("cargo::rustc-env=LONGHAUL_VERSION={}{suffix}", env!("CARGO_PKG_VERSION"));
}

/// The commit that is checked out, with its date.
fn commit() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().ok()?;
    // Unpacked inside another repository, that one's commit says nothing.
    let top = Path::new(&git(&root, &["rev-parse", "--show-toplevel"])?).canonicalize().ok()?;
    if top != root {
        return None;
    }
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&root, &["rev-parse", "--git-path", file]).map(|path| root.join(path))
            && path.exists()
        {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    git(&root, &["log", "-1", "--format=%h %cs"])
}

fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_string()).filter(|text| output.status.success() && !text.is_empty())
}
