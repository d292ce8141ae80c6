//! The user's own editor.

use std::fs;
use std::process::Command;

use crate::command::Notice;

/// Lets the user change a text in their editor.
pub(crate) fn edit(program: &str, text: &str) -> Result<String, Notice> {
    let failed = |what: &str, reason: String| {
        Notice::error(format!("{what}: {reason}")).with_hint("$VISUAL or $EDITOR names your editor.")
    };
    let file = tempfile::Builder::new().prefix("longhaul-").suffix(".md").tempfile();
    let file = file.map_err(|error| failed("There is no place for a file to edit", error.to_string()))?;
    fs::write(file.path(), text)
        .map_err(|error| failed("The file to edit could not be written", error.to_string()))?;
    let mut words = program.split_whitespace();
    let name = words.next().unwrap_or("vi");
    let status = Command::new(name).args(words).arg(file.path()).status();
    match status {
        Ok(status) if status.success() => fs::read_to_string(file.path())
            .map_err(|error| failed("What was edited could not be read", error.to_string())),
        Ok(status) => Err(failed(&format!("{name} ended"), status.to_string())),
        Err(error) => Err(failed(&format!("{name} could not be started"), error.to_string())),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_the_editor_leaves_is_taken() {
        assert_eq!(edit("true", "as it was").expect("it ends well"), "as it was");
        assert_eq!(edit("sed -i s/was/is/", "as it was").expect("it ends well"), "as it is");
        assert!(edit("false", "x").expect_err("it fails").text.starts_with("false ended"));
        assert!(edit("no-such-editor", "x").expect_err("it fails").text.contains("could not be started"));
    }
}
