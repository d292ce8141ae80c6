//! Names of session files, and the check of names that become part of a path.

use longhaul_conversation::Timestamp;

const PREFIX: &str = "session-";
const EXTENSIONS: [&str; 2] = [".jsonl", ".json"];

/// As many letters of a session's id stand in its file's name.
pub(super) const SHORT: usize = 8;

/// The length of `2026-01-02T03-04`.
const MINUTE: usize = 16;

/// Reserved names in a project's folder. A session of such a name owns nothing.
const RESERVED: [&str; 10] = [
    "chats",
    "logs",
    "tool-outputs",
    "memory",
    "plans",
    "tracker",
    "tasks",
    "checkpoints",
    "history",
    "shell_history",
];

/// The name of a main session's file: when it began, in UTC, and the first eight letters of its id.
///
/// ```
/// # use longhaul_conversation::Timestamp;
/// let began = Timestamp::parse("2026-01-02T03:04:05Z").expect("a time");
/// let name = longhaul_sessions::session_file_name("0f3c9a7e-11d2-4b6f", began);
/// assert_eq!(name, "session-2026-01-02T03-04-0f3c9a7e.jsonl");
/// ```
pub fn session_file_name(id: &str, began: Timestamp) -> String {
    let minute = began.to_minute().replace(' ', "T").replace(':', "-");
    format!("{PREFIX}{minute}-{}.jsonl", sanitise_name(&short_of(id)))
}

/// The name of a sub-agent's file, below a folder that has the sanitised name of its parent's session.
pub(crate) fn subagent_file_name(agent_session: &str) -> String {
    format!("{}.jsonl", sanitise_name(agent_session))
}

/// The same text with `_` for every character but letters and digits of ASCII, `_` and `-`.
pub(crate) fn sanitise_name(text: &str) -> String {
    text.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect()
}

/// True if sanitising would leave this name as it is.
pub(super) fn is_sanitised(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_plain)
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

/// The reason why a session's id must not lead to files that are deleted; `None` if it may.
pub(super) fn fault_of_id(id: &str) -> Option<&'static str> {
    if id.is_empty() {
        Some("empty")
    } else if !is_sanitised(id) {
        Some("only letters, digits, - and _ are allowed")
    } else if id.len() > 200 {
        Some("too long")
    } else if RESERVED.iter().any(|reserved| id.eq_ignore_ascii_case(reserved)) {
        Some("reserved name")
    } else {
        None
    }
}

/// The first eight letters of an id.
pub(super) fn short_of(id: &str) -> String {
    id.chars().take(SHORT).collect()
}

/// The name of a main session's file without its extension, if it is one.
pub(super) fn stem_of(file_name: &str) -> Option<&str> {
    file_name.strip_prefix(PREFIX)?;
    EXTENSIONS.iter().find_map(|extension| file_name.strip_suffix(extension))
}

/// The id in the name of a file: all behind the minute, or behind the last hyphen.
pub(super) fn short_in(stem: &str) -> &str {
    let rest = stem.strip_prefix(PREFIX).unwrap_or(stem);
    match rest.split_at_checked(MINUTE) {
        Some((minute, short)) if Timestamp::parse(minute).is_some() && short.starts_with('-') => &short[1..],
        _ => rest.rsplit('-').next().unwrap_or(rest),
    }
}

/// True if the name may be that of a session with this id: it contains the first eight letters.
pub(super) fn may_be_of(file_name: &str, id: &str) -> bool {
    let short = short_of(id);
    !short.is_empty() && file_name.contains(&short)
}

/// The files that a main session's file leaves beside it when it could not be read or was being replaced.
pub(super) fn is_remnant_of(name: &str, file_name: &str) -> bool {
    let number = name
        .strip_prefix(file_name)
        .and_then(|rest| rest.strip_prefix(".unreadable-").or(rest.strip_prefix(".tmp-")));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_name(id: &str, expected: &str) {
        let began = Timestamp::parse("2026-11-02T23:59:59.999Z").expect("a time");
        assert_eq!(session_file_name(id, began), format!("session-2026-11-02T23-59-{expected}.jsonl"));
    }

    #[test]
    fn a_file_is_called_by_minute_and_short_id() {
        check_name("0f3c9a7e-11d2", "0f3c9a7e");
        check_name("short", "short");
        check_name("../../../etc", "________");
        check_name("日本語の名前です。長い", "________");
    }

    #[track_caller]
    fn check_sanitised(text: &str, expected: &str) {
        assert_eq!(sanitise_name(text), expected);
        assert_eq!(is_sanitised(text), !text.is_empty() && text == expected);
    }

    #[test]
    fn other_characters_become_underscores() {
        check_sanitised("aZ09_-", "aZ09_-");
        check_sanitised("a.b c/d\\e", "a_b_c_d_e");
        check_sanitised("..", "__");
        check_sanitised("é\n", "__");
        check_sanitised("", "");
        assert_eq!(subagent_file_name("agent#1"), "agent_1.jsonl");
    }

    #[track_caller]
    fn check_short(file: &str, expected: Option<&str>) {
        assert_eq!(stem_of(file).map(short_in), expected, "{file}");
    }

    #[test]
    fn the_short_id_is_found_in_a_name() {
        check_short("session-2026-01-02T03-04-0f3c9a7e.jsonl", Some("0f3c9a7e"));
        check_short("session-2026-01-02T03-04-0f3c9a7e.json", Some("0f3c9a7e"));
        check_short("session-2026-01-02T03-04-s-1.json", Some("s-1"));
        check_short("session-other-0f3c9a7e.json", Some("0f3c9a7e"));
        check_short("session-.json", Some(""));
        check_short("session-é-日本.jsonl", Some("日本"));
        check_short("session-2026-01-02T03-04-0f3c9a7e.jsonl.unreadable-1", None);
        check_short(".session-2026-01-02T03-04-0f3c9a7e.jsonl.lock", None);
        check_short("2026-01-02.jsonl", None);
    }

    #[test]
    fn hostile_ids_own_nothing() {
        for id in
            ["", ".", "..", "chats", "CHATS", "Logs", "tool-outputs", "memory", "/etc", "a/b", "a\\b", "a.b"]
        {
            assert!(fault_of_id(id).is_some(), "{id:?}");
        }
        assert!(fault_of_id(&"x".repeat(201)).is_some());
        for id in ["0f3c9a7e-11d2", "chats-2", "x"] {
            assert_eq!(fault_of_id(id), None, "{id:?}");
        }
    }

    #[test]
    fn remnants_have_a_number_at_the_end() {
        let file = "session-a.jsonl";
        assert!(is_remnant_of("session-a.jsonl.unreadable-170", file));
        assert!(is_remnant_of("session-a.jsonl.tmp-12", file));
        for name in [
            "session-a.jsonl",
            "session-a.jsonl.unreadable-",
            "session-a.jsonl.bak",
            "session-ab.jsonl.tmp-1",
        ] {
            assert!(!is_remnant_of(name, file), "{name}");
        }
    }
}
