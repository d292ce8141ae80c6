//! Laws that hold for every command line. Property tests and fuzzers call these.

use longhaul_shell::{ShellScript, SimpleCommand, parse_script};

/// Every law about one text.
pub(crate) fn check_line(line: &str) {
    let script = parse_script(line);
    assert_eq!(script, parse_script(line), "read differently the second time");
    check_places(line, &script);
    if script.unclear.is_none() {
        check_second_command(line, &script);
        check_quoted(line);
    }
}

/// Commands and words lie within the line, and commands that others run behind those.
fn check_places(line: &str, script: &ShellScript) {
    for (index, command) in script.commands.iter().enumerate() {
        if let Some(span) = &command.span {
            assert_eq!(line.get(span.clone()), Some(command.text.as_str()));
        }
        assert!(command.assignments <= command.words.len());
        for word in &command.words {
            assert!(command.text.get(word.span.clone()).is_some(), "{word:?} in {command:?}");
        }
        if let Some((by, word)) = command.origin.wrapper() {
            assert!(by < index && word <= script.commands[by].words.len());
        }
    }
}

/// The line's own commands.
fn own(script: &ShellScript) -> Vec<&SimpleCommand> {
    script.commands.iter().filter(|command| command.origin.wrapper().is_none()).collect()
}

/// A clear line neither hides a command on the next line nor is changed by one before it.
fn check_second_command(line: &str, script: &ShellScript) {
    let words = |command: &SimpleCommand| -> Vec<String> {
        command.words.iter().map(|word| word.text.clone()).collect()
    };
    let expected: Vec<_> = own(script).into_iter().map(words).collect();
    for (text, place) in [(format!("{line}\nsecond a"), expected.len()), (format!("second a\n{line}"), 0)] {
        let both = parse_script(&text);
        assert_eq!(both.unclear, None, "{text:?}");
        let mut found: Vec<_> = own(&both).into_iter().map(words).collect();
        assert_eq!(found.remove(place), ["second", "a"], "{text:?}");
        assert_eq!(found, expected, "{text:?}");
    }
}

/// In quotes it is one word.
fn check_quoted(line: &str) {
    let script = parse_script(&format!("first '{}'", line.replace('\'', "'\\''")));
    assert_eq!(script.unclear, None, "{line:?}");
    assert_eq!(script.commands.len(), 1, "{line:?}");
    assert_eq!(script.commands[0].words[1].text, line);
}
