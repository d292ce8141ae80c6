//! Runs the user's editor.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use longhaul_tools::Proposal;

use crate::notice::Notice;

fn failed(what: &str, reason: impl std::fmt::Display) -> Notice {
    Notice::error(format!("{what}: {reason}")).with_hint("Set $VISUAL or $EDITOR to your editor.")
}

/// Opens a text in the user's editor and returns the edited text.
pub(crate) fn edit(program: &str, text: &str) -> Result<String, Notice> {
    let file = tempfile::Builder::new().prefix("longhaul-").suffix(".md").tempfile();
    let file = file.map_err(|error| failed("Could not create a temporary file", error))?;
    fs::write(file.path(), text).map_err(|error| failed("Could not write the temporary file", error))?;
    edit_files(program, &[file.path().to_path_buf()])?;
    fs::read_to_string(file.path()).map_err(|error| failed("Could not read the edited file", error))
}

/// Opens a proposed file in the user's editor and returns it as edited. The file itself is not touched: what is edited is a
/// copy with its name, so that the editor knows the language.
pub(crate) fn edit_proposal(program: &str, proposal: &Proposal) -> Result<String, Notice> {
    let folder = tempfile::Builder::new().prefix("longhaul-").tempdir();
    let folder = folder.map_err(|error| failed("Could not create a temporary folder", error))?;
    let file = folder.path().join(proposal.path.file_name().unwrap_or_else(|| "proposed".as_ref()));
    fs::write(&file, &proposal.text).map_err(|error| failed("Could not write the temporary file", error))?;
    edit_files(program, std::slice::from_ref(&file))?;
    fs::read_to_string(&file).map_err(|error| failed("Could not read the edited file", error))
}

/// Opens files in the user's editor.
pub(crate) fn edit_files(program: &str, files: &[PathBuf]) -> Result<(), Notice> {
    let mut words = program.split_whitespace();
    let name = words.next().unwrap_or("vi");
    match Command::new(name).args(words).args(files).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(&format!("{name} failed"), status)),
        Err(error) => Err(failed(&format!("Could not start {name}"), error)),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_the_editor_leaves_is_taken() {
        assert_eq!(edit("true", "as it was").expect("it ends well"), "as it was");
        assert_eq!(edit("sed -i s/was/is/", "as it was").expect("it ends well"), "as it is");
        let proposal = Proposal { path: "/nowhere/a b.rs".into(), text: "as it was".into() };
        assert_eq!(edit_proposal("sed -i s/was/is/", &proposal).expect("it ends well"), "as it is");
        assert!(edit("false", "x").expect_err("it fails").text.starts_with("false failed"));
        assert!(
            edit("no-such-editor", "x")
                .expect_err("it fails")
                .text
                .starts_with("Could not start no-such-editor")
        );
    }
}
