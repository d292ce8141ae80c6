//! Finds the task in the prompt that a template wraps around it: a benchmark's, or that of an editor's extension.

use std::ops::Range;

/// Tags that templates put around what somebody reported or asked for.
const TAGS: &[&str] = &["issue_description", "pr_description", "issue", "task", "objective"];

/// The start of the template's instructions after the task.
const INSTRUCTIONS: &[&str] = &[
    "\nINSTRUCTIONS:",
    "\nYou can execute bash commands and edit files to implement the necessary changes.",
    "\n<instructions>",
];

/// Headings of what somebody typed, below what an editor says of its open files.
const TYPED_HEADINGS: &[&str] = &["\n## My request for Codex:\n"];

/// Text of templates before the task.
const OPENINGS: &[&str] = &[
    "We're currently solving the following issue within our repository. Here's the issue text:\nISSUE:\n",
    "Please solve this issue: ",
];

/// The part of a prompt that somebody wrote for it; all of a prompt without a known template.
///
/// ```
/// let prompt = "Look:\n<pr_description>\nIt breaks\n</pr_description>\nBe brief.";
/// assert_eq!(&prompt[longhaul_conversation::find_task(prompt)], "\nIt breaks\n");
/// ```
pub fn find_task(prompt: &str) -> Range<usize> {
    let typed = TYPED_HEADINGS.iter().find_map(|heading| Some(prompt.rfind(heading)? + heading.len()));
    if let Some(start) = typed {
        return start..prompt.len();
    }
    let tagged = TAGS.iter().find_map(|tag| {
        let open = format!("<{tag}>");
        let start = prompt.find(&open)? + open.len();
        let end = start + prompt[start..].rfind(&format!("</{tag}>"))?;
        (!prompt[start..end].trim().is_empty()).then_some(start..end)
    });
    tagged.unwrap_or_else(|| {
        let opening = OPENINGS.iter().find(|opening| prompt.starts_with(*opening));
        let start = opening.map_or(0, |opening| opening.len());
        let end = INSTRUCTIONS.iter().filter_map(|mark| prompt[start..].find(mark)).min();
        start..end.map_or(prompt.len(), |end| start + end)
    })
}
