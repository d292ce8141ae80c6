//! Tells what a person typed from what programs put into user messages.

use longhaul_conversation::{Origin, Part};

/// How one format marks text in user messages that no person typed.
pub(crate) struct OriginRules {
    /// Tags around such text, wherever they stand: `<name>…</name>`.
    pub(crate) tags: &'static [(&'static str, Origin)],
    /// Tags around what a person did type.
    pub(crate) typed: &'static [&'static str],
    /// Beginnings that give a whole text away.
    pub(crate) starts: &'static [(&'static str, Origin)],
}

/// How a repaired conversation says that a text was the result of a call that is missing.
pub(crate) const ORPHAN_RESULT: (&str, Origin) = ("[result of a call that is not here: ", Origin::Tool);
/// How it says that a text was a call on the user's side.
pub(crate) const MISPLACED_CALL: (&str, Origin) = ("[call recorded on the user's side: ", Origin::Hook);
/// What it puts in the place of a first message that is missing.
pub(crate) const MISSING_START: (&str, Origin) =
    ("[the beginning of this conversation is missing]", Origin::Hook);

/// What Claude Code and Codex put into user messages; requests in a wire format carry the same texts.
pub(crate) const AGENTS: OriginRules = OriginRules {
    tags: &[
        ("system-reminder", Origin::Hook),
        ("command-name", Origin::Hook),
        ("command-message", Origin::Hook),
        ("command-contents", Origin::Memory),
        ("local-command-caveat", Origin::Hook),
        ("local-command-stdout", Origin::Tool),
        ("local-command-stderr", Origin::Tool),
        ("bash-input", Origin::Hook),
        ("bash-stdout", Origin::Tool),
        ("bash-stderr", Origin::Tool),
        ("task-notification", Origin::Hook),
        ("user-prompt-submit-hook", Origin::Hook),
        ("session-start-hook", Origin::Hook),
        ("ide_opened_file", Origin::Hook),
        ("ide_selection", Origin::Hook),
        ("ide_diagnostics", Origin::Hook),
        ("new-diagnostics", Origin::Hook),
        ("background-task-output", Origin::Tool),
        ("tool_use_error", Origin::Tool),
        ("teammate-message", Origin::Hook),
        ("fork-boilerplate", Origin::Hook),
        ("environment_context", Origin::Hook),
        ("user_instructions", Origin::Memory),
        ("INSTRUCTIONS", Origin::Memory),
        ("skill", Origin::Memory),
        ("turn_aborted", Origin::Hook),
        ("user_action", Origin::Hook),
        ("user_shell_command", Origin::Tool),
        ("subagent_notification", Origin::Hook),
    ],
    typed: &["command-args", "user-memory-input"],
    starts: &[
        ("<task-notification>", Origin::Hook),
        ("This session is being continued from a previous conversation", Origin::Summary),
        ("[Request interrupted by user", Origin::Hook),
        ("Caveat: The messages below were generated", Origin::Hook),
        ("# AGENTS.md instructions for ", Origin::Memory),
        ("Base directory for this skill:", Origin::Memory),
        ("Stop hook feedback:", Origin::Hook),
        ("[Image: source:", Origin::Hook),
        ("[Image: original", Origin::Hook),
        ORPHAN_RESULT,
        MISPLACED_CALL,
        MISSING_START,
    ],
};

/// Splits the text of a user message by who produced it. The pieces together are the text; white space beside a tag
/// goes with the tag.
pub(crate) fn split_user_text(text: String, rules: &OriginRules) -> Vec<Part> {
    if let Some((_, origin)) = rules.starts.iter().find(|(start, _)| text.trim_start().starts_with(start)) {
        return vec![Part::text(*origin, text)];
    }
    split_by_tags(text, Origin::User, rules)
}

/// Splits a text by its tags alone; what stands outside of them is of origin `outside`.
pub(crate) fn split_by_tags(text: String, outside: Origin, rules: &OriginRules) -> Vec<Part> {
    let mut pieces: Vec<(Origin, std::ops::Range<usize>)> = Vec::new();
    let mut done = 0;
    let mut from = 0;
    let mut unclosed = Vec::new();
    while let Some(open) = memchr::memchr(b'<', &text.as_bytes()[from..]).map(|at| from + at) {
        let Some(found) = tag_at(&text, open, rules, &mut unclosed) else {
            from = open + 1;
            continue;
        };
        pieces.push((outside, done..open));
        match found.inner {
            Some(inner) => {
                pieces.push((Origin::Hook, open..inner.start));
                pieces.push((Origin::User, inner.clone()));
                pieces.push((Origin::Hook, inner.end..found.end));
            }
            None => pieces.push((found.origin, open..found.end)),
        }
        done = found.end;
        from = done;
    }
    if done == 0 {
        return vec![Part::text(outside, text)];
    }
    pieces.push((outside, done..text.len()));
    join(&text, pieces)
}

/// Joins neighbours of one origin; blank pieces go to the neighbour before them, or the one behind.
fn join(text: &str, pieces: Vec<(Origin, std::ops::Range<usize>)>) -> Vec<Part> {
    let mut joined: Vec<(Origin, std::ops::Range<usize>)> = Vec::new();
    let mut blank_from = None;
    for (origin, range) in pieces {
        let blank = text[range.clone()].trim().is_empty();
        match joined.last_mut() {
            Some((last, so_far)) if blank || *last == origin => so_far.end = range.end,
            None if blank => blank_from = blank_from.or(Some(range.start)),
            _ => joined.push((origin, blank_from.take().unwrap_or(range.start)..range.end)),
        }
    }
    joined.into_iter().map(|(origin, range)| Part::text(origin, &text[range])).collect()
}

struct Tag {
    origin: Origin,
    /// What stands between the tags, where a person typed it.
    inner: Option<std::ops::Range<usize>>,
    end: usize,
}

/// The known, closed tag that opens at `open`; it may have attributes. A name that is never closed behind `open` is
/// remembered in `unclosed`, so that it is looked for only once.
fn tag_at<'t>(text: &'t str, open: usize, rules: &OriginRules, unclosed: &mut Vec<&'t str>) -> Option<Tag> {
    let rest = &text[open + 1..];
    let length = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_')))?;
    let name = &rest[..length];
    let typed = rules.typed.contains(&name);
    let origin = rules.tags.iter().find(|(known, _)| *known == name).map(|(_, origin)| *origin);
    let origin = origin.or(typed.then_some(Origin::User))?;
    let end = rest.find(['<', '>'])?;
    if !rest[end..].starts_with('>') || unclosed.contains(&name) {
        return None;
    }
    let inner_start = open + 1 + end + 1;
    let close = format!("</{name}>");
    let Some(length) = text[inner_start..].find(&close) else {
        unclosed.push(name);
        return None;
    };
    let inner_end = inner_start + length;
    Some(Tag { origin, inner: typed.then_some(inner_start..inner_end), end: inner_end + close.len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{Message, Role, ToolCall, ToolResult, repair};

    const RULES: OriginRules = OriginRules {
        tags: &[("reminder", Origin::Hook), ("stdout", Origin::Tool)],
        typed: &["args"],
        starts: &[("[Interrupted", Origin::Hook)],
    };

    #[track_caller]
    fn check(text: &str, expected: &[(Origin, &str)]) {
        let parts = split_user_text(text.to_string(), &RULES);
        let seen: Vec<_> =
            parts.iter().map(|part| (part.origin, part.as_text().unwrap_or_default())).collect();
        assert_eq!(seen, expected);
        assert_eq!(seen.iter().map(|(_, text)| *text).collect::<String>(), text);
    }

    #[test]
    fn plain_text_is_the_users() {
        check("", &[(Origin::User, "")]);
        check("if a < b then </reminder> <b>x</b>", &[(Origin::User, "if a < b then </reminder> <b>x</b>")]);
        check("<reminder>never closed", &[(Origin::User, "<reminder>never closed")]);
        check("<reminder <b>x</reminder>", &[(Origin::User, "<reminder <b>x</reminder>")]);
    }

    #[test]
    fn mixed_text_is_split() {
        check(
            "fix it\n<reminder>be brief</reminder>\n",
            &[(Origin::User, "fix it\n"), (Origin::Hook, "<reminder>be brief</reminder>\n")],
        );
        check(
            " <reminder a=\"1\">x</reminder> <reminder>y</reminder> go",
            &[
                (Origin::Hook, " <reminder a=\"1\">x</reminder> <reminder>y</reminder>"),
                (Origin::User, " go"),
            ],
        );
        check("<stdout>1</stdout>", &[(Origin::Tool, "<stdout>1</stdout>")]);
    }

    #[test]
    fn tags_without_an_end_cost_no_time() {
        for piece in ["<reminder>", "<reminder ", "<reminder></stdout>", "<reminder"] {
            let text = piece.repeat(200_000);
            check(&text, &[(Origin::User, &text)]);
        }
    }

    #[test]
    fn what_was_typed_inside_a_tag_is_the_users() {
        check(
            "<args>draw a chart</args>",
            &[(Origin::Hook, "<args>"), (Origin::User, "draw a chart"), (Origin::Hook, "</args>")],
        );
        check("<args></args>", &[(Origin::Hook, "<args></args>")]);
    }

    #[test]
    fn what_stands_outside_of_tags_can_be_of_any_origin() {
        let parts = split_by_tags("ran: <args>draw</args>".to_string(), Origin::Tool, &RULES);
        let seen: Vec<_> = parts.iter().map(|part| part.origin).collect();
        assert_eq!(seen, [Origin::Tool, Origin::Hook, Origin::User, Origin::Hook]);
        let parts = split_by_tags("no tags".to_string(), Origin::Tool, &RULES);
        assert_eq!(parts, [Part::text(Origin::Tool, "no tags")]);
    }

    #[test]
    fn the_marks_of_a_repair_are_known() {
        let orphan = ToolResult::text("c1", "two files").with_name("ls");
        let messages = vec![
            Message::new("a", Role::Model, vec![Part::model_text("hi")]),
            Message::new("u", Role::User, vec![Part::result(orphan), Part::call(ToolCall::new("c2", "ls"))]),
        ];
        let repaired = repair(messages).messages;
        let added = repaired.iter().filter(|message| message.role == Role::User);
        let parts: Vec<&Part> = added.flat_map(|message| &message.parts).collect();
        assert_eq!(parts.len(), 3);
        for part in parts {
            let text = part.as_text().expect("marked text").to_string();
            assert_eq!(split_user_text(text, &AGENTS), std::slice::from_ref(part));
        }
    }

    #[test]
    fn a_beginning_can_give_the_whole_away() {
        check("[Interrupted by user]", &[(Origin::Hook, "[Interrupted by user]")]);
    }
}
