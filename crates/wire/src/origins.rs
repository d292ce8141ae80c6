//! Tells what a person typed from what programs put into user messages.

use std::ops::Range;

use longhaul_conversation::{OWN_TAGS, Origin, Part, SNAPSHOT_TAG};
use memchr::memmem::find_iter;

/// Markers of one format for text in user messages that no person typed.
pub struct OriginRules {
    /// Tags around such text, wherever they stand: `<name>…</name>`.
    pub tags: &'static [(&'static str, Origin)],
    /// Tags around what a person did type.
    pub typed: &'static [&'static str],
    /// Beginnings that give a whole text away.
    pub starts: &'static [(&'static str, Origin)],
}

/// The marker of a repaired conversation for the result of a missing call.
const ORPHAN_RESULT: (&str, Origin) = ("[result of a call that is not here: ", Origin::Tool);
/// Its marker for a call in a user message.
const MISPLACED_CALL: (&str, Origin) = ("[call recorded on the user's side: ", Origin::Hook);
/// Its replacement for a missing first message.
const MISSING_START: (&str, Origin) = ("[the beginning of this conversation is missing]", Origin::Hook);

/// Markers recognised in every format, because conversations move from one to the other: our own texts, what agents put
/// into user messages, and the usual containers of documents. A format's own rules come before these.
///
/// Markers of our own texts alone: [`OWN_TAGS`], and a snapshot that is all of its text.
const COMMON: OriginRules = OriginRules {
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
        ("environment_details", Origin::Hook),
        (PERMISSIONS, Origin::Hook),
        ("collaboration_mode", Origin::Hook),
        ("apps_instructions", Origin::Hook),
        ("skills_instructions", Origin::Hook),
        ("plugins_instructions", Origin::Hook),
        ("model_switch", Origin::Hook),
        ("personality_spec", Origin::Hook),
        ("user_instructions", Origin::Memory),
        ("INSTRUCTIONS", Origin::Memory),
        ("skill", Origin::Memory),
        ("turn_aborted", Origin::Hook),
        ("collaboration_mode", Origin::Hook),
        ("model_switch", Origin::Hook),
        ("apps_instructions", Origin::Hook),
        ("plugins_instructions", Origin::Hook),
        ("skills_instructions", Origin::Hook),
        ("user_action", Origin::Hook),
        ("user_shell_command", Origin::Tool),
        ("subagent_notification", Origin::Hook),
        ("document", Origin::Tool),
        ("documents", Origin::Tool),
        ("document_content", Origin::Tool),
        ("pasted_content", Origin::Tool),
        ("pasted_text", Origin::Tool),
        ("attachment", Origin::Tool),
        ("attachments", Origin::Tool),
        ("attached_files", Origin::Tool),
        ("file", Origin::Tool),
        ("files", Origin::Tool),
        ("file_content", Origin::Tool),
        ("file_contents", Origin::Tool),
        ("folder_content", Origin::Tool),
        ("url_content", Origin::Tool),
        ("search_results", Origin::Tool),
        ("terminal_output", Origin::Tool),
        ("tool_result", Origin::Tool),
        ("function_results", Origin::Tool),
    ],
    typed: &["command-args", "user-memory-input"],
    starts: &[
        ("<task-notification>", Origin::Hook),
        ("This session is being continued from a previous conversation", Origin::Summary),
        ("Another language model started to solve this problem and produced a summary", Origin::Summary),
        ("[Request interrupted by user", Origin::Hook),
        ("Caveat: The messages below were generated", Origin::Hook),
        ("# AGENTS.md instructions for ", Origin::Memory),
        ("Base directory for this skill:", Origin::Memory),
        ("Stop hook feedback:", Origin::Hook),
        ("Your task is to create a detailed summary of the conversation so far", Origin::Hook),
        ("Continue from where you left off.", Origin::Hook),
        ("Called the Read tool with the following input:", Origin::Hook),
        ("Called the List tool with the following input:", Origin::Hook),
        ("The following tool was executed by the user", Origin::Hook),
        ("Here is a demonstration of how to correctly accomplish this task", Origin::Hook),
        ("[TASK RESUMPTION]", Origin::Hook),
        ("[ERROR] You did not use a tool in your previous response!", Origin::Hook),
        ("[bd prime]", Origin::Hook),
        ("[Image: source:", Origin::Hook),
        ("[Image: original", Origin::Hook),
        ("This is the Gemini CLI. We are setting up the context for our chat.", Origin::Hook),
        ("System: Please continue.", Origin::Hook),
        ("[tool output]", Origin::Tool),
        ("EXECUTION RESULT of [", Origin::Tool),
        ("<returncode>", Origin::Tool),
        ORPHAN_RESULT,
        MISPLACED_CALL,
        MISSING_START,
    ],
};

/// A tag of Codex whose name has a space.
const PERMISSIONS: &str = "permissions instructions";

/// The rules of formats that have none of their own.
pub const PLAIN: OriginRules = OriginRules { tags: &[], typed: &[], starts: &[] };

/// Splits the text of a user message by who produced it. The pieces together are the text; white space beside a tag
/// goes with the tag.
pub fn split_user_text(text: String, rules: &OriginRules) -> Vec<Part> {
    if let Some(origin) = origin_of_start(&text, rules) {
        return vec![Part::text(origin, text)];
    }
    match find_references(&text) {
        None => split_by_tags(text, Origin::User, rules),
        Some(0) => vec![Part::text(Origin::Tool, text)],
        Some(start) => {
            let mut parts = split_by_tags(text[..start].to_string(), Origin::User, rules);
            parts.push(Part::text(Origin::Tool, &text[start..]));
            parts
        }
    }
}

/// Splits what a person has just typed from what they pasted into it: documents, files and outputs between tags, snapshots, and
/// the contents of files that the text names. The parts together are the text.
///
/// ```
/// use longhaul_conversation::Origin;
/// use longhaul_wire::split_pasted;
///
/// let parts = split_pasted("Read this: <document>Always use tabs.</document>");
/// let origins: Vec<Origin> = parts.iter().map(|part| part.origin).collect();
/// assert_eq!(origins, [Origin::User, Origin::Tool]);
/// ```
pub fn split_pasted(text: &str) -> Vec<Part> {
    let mut joined: Vec<(Origin, String)> = Vec::new();
    let end = find_references(text).unwrap_or(text.len());
    let typed = split_by_tags(text[..end].to_string(), Origin::User, &PLAIN);
    let files = Part::text(Origin::Tool, &text[end..]);
    for part in typed.iter().chain([&files]).filter(|part| !part.is_empty()) {
        // Other tags may as well have been typed.
        let is_pasted = matches!(part.origin, Origin::Tool | Origin::Summary);
        let origin = if is_pasted { Origin::Tool } else { Origin::User };
        let text = part.as_text().unwrap_or_default();
        match joined.last_mut() {
            Some((last, so_far)) if *last == origin => so_far.push_str(text),
            _ => joined.push((origin, text.to_string())),
        }
    }
    joined.into_iter().map(|(origin, text)| Part::text(origin, text)).collect()
}

/// The origin of a whole text, where its beginning gives it away.
fn origin_of_start(text: &str, rules: &OriginRules) -> Option<Origin> {
    let text = text.trim_start();
    let mut starts = rules.starts.iter().chain(COMMON.starts);
    let found = starts.find(|(start, _)| text.starts_with(start)).map(|(_, origin)| *origin);
    // So mini-swe-agent answers where its commands stand in the model's text.
    let observes = || text.starts_with("Observation:") && text.contains("<returncode>");
    found.or_else(|| observes().then_some(Origin::Tool))
}

/// Gemini CLI puts the files that a message names behind this line, and what was typed before it.
const REFERENCES: &str = "--- Content from referenced files ---";
/// The beginning of the line before the content of one of them.
const REFERENCE: &str = "Content from @";

/// The start of the contents of files in a text, including the white space before them.
fn find_references(text: &str) -> Option<usize> {
    let is_line_end = |at: &usize| {
        let behind = text[at + REFERENCES.len()..].trim_start_matches([' ', '\t', '\r']);
        behind.is_empty() || behind.starts_with('\n')
    };
    let header = find_iter(text.as_bytes(), REFERENCES).find(is_line_end);
    let file = find_iter(text.as_bytes(), REFERENCE).find(|at| is_reference(text, *at));
    let at = [header, file].into_iter().flatten().min()?;
    Some(text[..at].trim_end().len())
}

/// True if a line that names a file stands alone: `Content from @src/a.rs:`.
fn is_reference(text: &str, at: usize) -> bool {
    let is_start = at == 0 || text[..at].ends_with('\n');
    is_start && text[at..].lines().next().is_some_and(|line| line.trim_end().ends_with(':'))
}

/// Marks everything after the line before the contents of files as theirs, also in the following parts of a message, and the text
/// of a command that the user only named.
pub fn close_references(parts: &mut [Part]) {
    close_command(parts);
    let opens = |part: &Part| {
        part.origin == Origin::Tool
            && part.as_text().is_some_and(|text| {
                [REFERENCES, REFERENCE].iter().any(|start| text.trim_start().starts_with(start))
            })
    };
    if let Some(place) = parts.iter().position(opens) {
        let files = parts[place..].iter_mut().filter(|part| part.origin == Origin::User);
        files.for_each(|part| part.origin = Origin::Tool);
    }
}

/// A command's own text is longer than what people type beside it.
const COMMAND_TEXT: usize = 400;

/// Marks a long text right behind the name of a command, where that is all of a part, as the command's own: Claude Code puts it into
/// the message. A command that has printed something has no text.
fn close_command(parts: &mut [Part]) {
    let is_hook = |part: &Part| part.origin == Origin::Hook;
    let names_command = |part: &Part| {
        let text = part.as_text().unwrap_or_default();
        is_hook(part) && (text.contains("</command-name>") || text.contains("</command-message>"))
    };
    for place in 1..parts.len() {
        let is_named = parts[..place].iter().all(is_hook) && names_command(&parts[place - 1]);
        let is_long = parts[place].as_text().is_some_and(|text| text.len() > COMMAND_TEXT);
        if parts[place].origin == Origin::User && is_named && is_long {
            parts[place].origin = Origin::Memory;
        }
    }
}

/// Splits a text by its tags alone; what stands outside of them is of origin `outside`.
///
/// A snapshot counts as one only if nobody typed anything beside it: in the middle of a text it was pasted.
pub fn split_by_tags(text: String, outside: Origin, rules: &OriginRules) -> Vec<Part> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut done = 0;
    let mut from = 0;
    let mut unclosed = Vec::new();
    while let Some(open) = memchr::memchr(b'<', &text.as_bytes()[from..]).map(|at| from + at) {
        let Some(found) = tag_at(&text, open, outside, rules, &mut unclosed) else {
            from = open + 1;
            continue;
        };
        pieces.push(Piece::new(outside, done..open));
        match found.inner {
            Some(inner) => {
                pieces.push(Piece::new(Origin::Hook, open..inner.start));
                pieces.push(Piece::new(Origin::User, inner.clone()));
                pieces.push(Piece::new(Origin::Hook, inner.end..found.end));
            }
            None => {
                let is_snapshot = SNAPSHOTS.contains(&found.name);
                pieces.push(Piece { is_snapshot, ..Piece::new(found.origin, open..found.end) });
            }
        }
        done = found.end;
        from = done;
    }
    if done == 0 {
        return vec![Part::text(outside, text)];
    }
    pieces.push(Piece::new(outside, done..text.len()));
    let is_beside = |piece: &Piece| !piece.is_snapshot && !text[piece.range.clone()].trim().is_empty();
    if pieces.iter().any(is_beside) {
        let snapshots = pieces.iter_mut().filter(|piece| piece.is_snapshot);
        snapshots.for_each(|piece| piece.origin = Origin::Tool);
    }
    join(&text, pieces)
}

/// A stretch of a text that one source produced.
struct Piece {
    origin: Origin,
    range: Range<usize>,
    is_snapshot: bool,
}

impl Piece {
    fn new(origin: Origin, range: Range<usize>) -> Self {
        Self { origin, range, is_snapshot: false }
    }
}

/// Tags around what a compaction writes: the snapshot, and the notes that a model makes before it.
const SNAPSHOTS: [&str; 2] = [SNAPSHOT_TAG, "scratchpad"];

/// Joins neighbours of one origin; blank pieces go to the neighbour before them, or the one behind.
fn join(text: &str, pieces: Vec<Piece>) -> Vec<Part> {
    let mut joined: Vec<(Origin, Range<usize>)> = Vec::new();
    let mut blank_from = None;
    for Piece { origin, range, .. } in pieces {
        let blank = text[range.clone()].trim().is_empty();
        match joined.last_mut() {
            Some((last, so_far)) if blank || *last == origin => so_far.end = range.end,
            None if blank => blank_from = blank_from.or(Some(range.start)),
            _ => joined.push((origin, blank_from.take().unwrap_or(range.start)..range.end)),
        }
    }
    joined.into_iter().map(|(origin, range)| Part::text(origin, &text[range])).collect()
}

struct Tag<'t> {
    name: &'t str,
    origin: Origin,
    /// The text between the tags, where a person typed it.
    inner: Option<Range<usize>>,
    end: usize,
}

/// The known, closed tag that opens at `open`; it may have attributes. A name that is never closed behind `open` is
/// remembered in `unclosed`, so that it is looked for only once.
fn tag_at<'t>(
    text: &'t str,
    open: usize,
    outside: Origin,
    rules: &OriginRules,
    unclosed: &mut Vec<&'t str>,
) -> Option<Tag<'t>> {
    let rest = &text[open + 1..];
    let length = match rest.starts_with(PERMISSIONS) {
        true => PERMISSIONS.len(),
        false => rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_')))?,
    };
    let name = &rest[..length];
    // In what a tool answered, nobody typed anything unless the format itself says so.
    let common = || COMMON.origin_of(name).filter(|(_, is_typed)| !is_typed || outside == Origin::User);
    let (origin, is_typed) = rules.origin_of(name).or_else(common).or_else(|| {
        let own = OWN_TAGS.iter().find(|(known, _)| *known == name).map(|(_, origin)| *origin);
        Some((own.or(SNAPSHOTS.contains(&name).then_some(Origin::Summary))?, false))
    })?;
    let end = rest.find(['<', '>'])?;
    if !rest[end..].starts_with('>') || unclosed.contains(&name) {
        return None;
    }
    let inner_start = open + 1 + end + 1;
    let close = format!("</{name}>");
    let inner_end = match is_typed {
        true => text[inner_start..].find(&close).map(|length| inner_start + length),
        false => find_end(text, inner_start, name),
    };
    let Some(inner_end) = inner_end else {
        unclosed.push(name);
        return None;
    };
    let inner = is_typed.then_some(inner_start..inner_end);
    Some(Tag { name, origin, inner, end: inner_end + close.len() })
}

/// The position of the closing tag for the one opened before `start`. The text inside may have such tags
/// itself, also ones that close more than was opened: all before the next that opens is inside.
fn find_end(text: &str, start: usize, name: &str) -> Option<usize> {
    let (mut depth, mut end, mut last) = (1_usize, None, None);
    let mut from = start;
    while let Some(at) = memchr::memchr(b'<', &text.as_bytes()[from..]).map(|at| from + at) {
        from = at + 1;
        let rest = &text[from..];
        let is_name = |rest: &str, behind: &[char]| {
            rest.strip_prefix(name).is_some_and(|rest| rest.starts_with(behind))
        };
        if rest.strip_prefix('/').is_some_and(|rest| is_name(rest, &['>'])) {
            depth = depth.saturating_sub(1);
            last = Some(at);
            if depth == 0 {
                end = Some(at);
            }
        } else if is_name(rest, &['>', ' ', '\n']) {
            if depth == 0 {
                break;
            }
            depth += 1;
        }
    }
    // One that is only mentioned opens nothing.
    end.or(last)
}

impl OriginRules {
    /// The origin of what stands between tags of this name, and whether a person typed it.
    fn origin_of(&self, name: &str) -> Option<(Origin, bool)> {
        if self.typed.contains(&name) {
            return Some((Origin::User, true));
        }
        self.tags.iter().find(|(known, _)| *known == name).map(|(_, origin)| (*origin, false))
    }
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
        let text = "<file>x</file><document>x</document>".repeat(50_000);
        check(&text, &[(Origin::Tool, &text)]);
        let text = "<state_snapshot></state_snapshot>".repeat(50_000);
        check(&text, &[(Origin::Summary, &text)]);
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
    fn what_was_pasted_is_told_from_what_was_typed() {
        #[track_caller]
        fn check(text: &str, expected: &[(Origin, &str)]) {
            let parts = split_pasted(text);
            let seen: Vec<_> =
                parts.iter().map(|part| (part.origin, part.as_text().unwrap_or_default())).collect();
            assert_eq!(seen, expected);
        }
        check("go on", &[(Origin::User, "go on")]);
        check("", &[]);
        check(
            "<INSTRUCTIONS>Use tabs.</INSTRUCTIONS> go",
            &[(Origin::User, "<INSTRUCTIONS>Use tabs.</INSTRUCTIONS> go")],
        );
        check(
            "see <file>x</file> and go",
            &[(Origin::User, "see "), (Origin::Tool, "<file>x</file>"), (Origin::User, " and go")],
        );
        check("<state_snapshot>x</state_snapshot>", &[(Origin::Tool, "<state_snapshot>x</state_snapshot>")]);
        check(
            "explain\n--- Content from referenced files ---\nContent from @a:\nx",
            &[
                (Origin::User, "explain"),
                (Origin::Tool, "\n--- Content from referenced files ---\nContent from @a:\nx"),
            ],
        );
    }

    #[test]
    fn snapshots_stand_alone() {
        let snapshot = "<state_snapshot through=\"m9\">\nx\n</state_snapshot>";
        check(snapshot, &[(Origin::Summary, snapshot)]);
        let thought = format!("<scratchpad>hm</scratchpad>\n{snapshot}");
        check(&thought, &[(Origin::Summary, &thought)]);
        let asked = format!("What is {snapshot}");
        check(&asked, &[(Origin::User, "What is "), (Origin::Tool, snapshot)]);
        let behind = format!("{snapshot}<file>x</file>");
        check(&behind, &[(Origin::Tool, &behind)]);
    }

    #[test]
    fn a_container_ends_where_its_last_tag_does() {
        for text in [
            "<file>a</file> Always push. </file>",
            "<file>a<file>b</file>c</file>",
            "<file>the <file> tag</file>",
            "<documents><document>a</document>Always push.</documents>",
        ] {
            check(text, &[(Origin::Tool, text)]);
        }
        check(
            "<file>a</file> push <file>b</file>",
            &[(Origin::Tool, "<file>a</file>"), (Origin::User, " push "), (Origin::Tool, "<file>b</file>")],
        );
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
            assert_eq!(split_user_text(text, &PLAIN), std::slice::from_ref(part));
        }
    }

    #[test]
    fn a_beginning_can_give_the_whole_away() {
        check("[Interrupted by user]", &[(Origin::Hook, "[Interrupted by user]")]);
    }
}
