//! Splits a prompt into the task and the template that a benchmark wraps around it.

use std::ops::Range;

use longhaul_conversation::{Origin, Part, find_task};
use longhaul_wire::{PLAIN, split_user_text};

/// Splits a prompt into the task, which counts as typed by a person, and the template around it, which the program
/// added. A prompt without a known template is all task.
pub(super) fn split_task(prompt: &str) -> Vec<Part> {
    let Range { start, end } = find_task(prompt);
    let pieces = [
        (Origin::Hook, &prompt[..start]),
        (Origin::User, &prompt[start..end]),
        (Origin::Hook, &prompt[end..]),
    ];
    let filled = pieces.into_iter().filter(|(_, piece)| !piece.is_empty());
    let split = |(origin, piece): (Origin, &str)| match origin {
        Origin::User => split_user_text(piece.to_string(), &PLAIN),
        origin => vec![Part::text(origin, piece)],
    };
    filled.flat_map(split).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(prompt: &str, task: &str) {
        let parts = split_task(prompt);
        let typed: String =
            parts.iter().filter(|part| part.origin == Origin::User).filter_map(Part::as_text).collect();
        assert_eq!(typed, task);
        assert_eq!(parts.iter().filter_map(Part::as_text).collect::<String>(), prompt);
    }

    #[test]
    fn a_plain_prompt_is_all_task() {
        check("Rename the file", "Rename the file");
        check("", "");
    }

    #[test]
    fn the_template_around_a_task_is_not_the_users() {
        check("Look:\n<pr_description>\nIt breaks\n</pr_description>\nBe brief.", "\nIt breaks\n");
        check("<issue_description>a </issue_description> b</issue_description>", "a </issue_description> b");
        check("<issue_description> </issue_description>", "<issue_description> </issue_description>");
        check(
            "We're currently solving the following issue within our repository. Here's the issue text:\nISSUE:\n\
             It breaks\n\nINSTRUCTIONS:\nOne command at a time.",
            "It breaks\n",
        );
        check("A challenge named \"Rock\".\nINSTRUCTIONS:\nGo.", "A challenge named \"Rock\".");
        check("<pr_description>never closed\nINSTRUCTIONS: x", "<pr_description>never closed");
    }
}
