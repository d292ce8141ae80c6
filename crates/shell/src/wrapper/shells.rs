//! Shells, and what else runs a script.

use super::{WrappedCommand, WrappedCommands};
use crate::{RedirectOperator, SimpleCommand, Unclear};

/// `sh -c SCRIPT`, `sh FILE`, or `sh` with a script as its input.
pub(super) fn shell(command: &SimpleCommand) -> WrappedCommands {
    let mut index = command.assignments + 1;
    let (mut takes_script, mut reads_input) = (false, false);
    while let Some(word) = command.words.get(index) {
        if !word.is_literal() {
            // It may be the script, or options before it.
            let script = &command.words[index..=index];
            let is_script = takes_script && !word.text.starts_with(['-', '+']);
            let runs = if is_script {
                WrappedCommands::joined(index, script, command)
            } else {
                WrappedCommands::default()
            };
            return WrappedCommands { unread: Some(Unclear::Argument), ..runs };
        }
        let text = word.text.as_str();
        if text == "--" || text == "-" {
            index += 1;
            break;
        } else if let Some(name) = text.strip_prefix("--") {
            index += if matches!(name, "rcfile" | "init-file") { 2 } else { 1 };
        } else if let Some(letters) = text.strip_prefix(['-', '+']) {
            takes_script |= text.starts_with('-') && letters.contains('c');
            reads_input |= letters.contains('s');
            index += 1 + letters.chars().filter(|letter| matches!(letter, 'o' | 'O')).count();
        } else {
            break;
        }
    }
    match command.words.get(index) {
        Some(script) if takes_script => {
            let inner = WrappedCommand::Script { word: index, text: script.text.clone() };
            WrappedCommands {
                inner: vec![inner],
                unread: (!script.is_literal()).then_some(Unclear::Argument),
            }
        }
        Some(file) if !reads_input && !file.is_literal() => WrappedCommands::unread(Unclear::Argument),
        Some(file) if !reads_input && !is_input(&file.text) => script_file(index),
        None if takes_script && !command.is_open_ended => WrappedCommands::default(),
        _ => script_in_input(command),
    }
}

/// `source FILE`
pub(super) fn source(command: &SimpleCommand) -> WrappedCommands {
    match command.bare().get(1) {
        Some(file) if !file.is_literal() => WrappedCommands::unread(Unclear::Argument),
        Some(file) if is_input(&file.text) => script_in_input(command),
        Some(_) => script_file(command.assignments + 1),
        None => {
            WrappedCommands { inner: Vec::new(), unread: command.is_open_ended.then_some(Unclear::Input) }
        }
    }
}

/// `trap SCRIPT SIGNAL`
pub(super) fn trap(command: &SimpleCommand) -> WrappedCommands {
    let mut word = command.assignments + 1;
    if command.words.get(word).is_some_and(|word| word.text == "--") {
        word += 1;
    }
    match command.words.get(word) {
        Some(script) if script.is_literal() && matches!(script.text.as_str(), "" | "-" | "-l" | "-p") => {
            WrappedCommands::default()
        }
        Some(_) => WrappedCommands::joined(word, &command.words[word..=word], command),
        None => {
            WrappedCommands { inner: Vec::new(), unread: command.is_open_ended.then_some(Unclear::Input) }
        }
    }
}

/// `su -c SCRIPT`
pub(super) fn with_script_option(command: &SimpleCommand) -> WrappedCommands {
    for (index, word) in command.words.iter().enumerate().skip(command.assignments + 1) {
        let text = word.text.as_str();
        if matches!(text, "-c" | "--command" | "--session-command") && word.is_literal() {
            let script = command.words.get(index + 1..index + 2).unwrap_or_default();
            return WrappedCommands::joined(index + 1, script, command);
        }
        if text.starts_with("-c") || text.contains("command=") || !word.is_literal() {
            return WrappedCommands::unread(Unclear::Argument);
        }
    }
    WrappedCommands::unread(Unclear::Input)
}

/// A shell without a script runs its input.
pub(super) fn script_in_input(command: &SimpleCommand) -> WrappedCommands {
    let word = command.words.len();
    let Some(redirect) = command.redirects.iter().rfind(|redirect| {
        matches!(
            redirect.operator,
            RedirectOperator::Document | RedirectOperator::HereString | RedirectOperator::Read
        )
    }) else {
        return WrappedCommands::unread(Unclear::Input);
    };
    let (text, is_literal) = match (&redirect.document, redirect.operator) {
        (Some(document), _) => {
            (document.body.clone(), document.is_literal || !document.body.contains(['$', '`', '\\']))
        }
        (None, RedirectOperator::HereString) => (redirect.target.text.clone(), redirect.target.is_literal()),
        // A file is a program as any other, unless the line itself makes it.
        (None, RedirectOperator::Read) if redirect.target.is_literal() => return WrappedCommands::default(),
        (None, _) => return WrappedCommands::unread(Unclear::Input),
    };
    let unread = (!is_literal).then_some(Unclear::Argument);
    WrappedCommands { inner: vec![WrappedCommand::Script { word, text }], unread }
}

/// True if a file is, or may be, the input.
pub(super) fn is_input(file: &str) -> bool {
    const DEVICES: [&str; 2] = ["dev/", "proc/"];
    let below = file.trim_start_matches('/');
    let is_device = file.starts_with('/') && DEVICES.iter().any(|folder| below.starts_with(folder));
    // On the way through other folders.
    let is_winding = file.starts_with("../") || file.contains("/../") || file.contains("/./");
    file == "-" || is_device || (is_winding && DEVICES.iter().any(|folder| file.contains(folder)))
}

/// A script in a file, which is also looked for where programs are.
fn script_file(word: usize) -> WrappedCommands {
    WrappedCommands { inner: vec![WrappedCommand::File { word }], unread: None }
}
