//! Lets a model summarise what a command wrote, if the user wants that; the whole stays on the disk.

use longhaul_compaction::output_file;
use longhaul_conversation::Estimator;
use longhaul_conversation::{TokenCount, ToolCall, grouped};
use longhaul_tools::Answer;
use tokio_util::sync::CancellationToken;

use super::Agent;
use crate::Host;
use crate::excerpt::{harmless, middle_out};

/// The tool whose output may be summarised.
const SHELL: &str = "run_shell_command";

/// So much of an output a helper reads, in characters.
const MOST_READ: usize = 200_000;

/// The lines at the end of an output that say how the command ended.
const ENDINGS: [&str; 2] = ["Exit code: ", "Signal: "];
/// So many lines they are, at most.
const MOST_ENDING_LINES: usize = 4;

/// What a model is to know of an output, and where the whole is.
pub(crate) struct Condensed {
    pub(crate) text: String,
    pub(crate) saved_as: String,
}

impl Agent {
    /// A summary of an output that is longer than the user wants; nothing where it stays as it is.
    pub(crate) async fn condense(
        &mut self,
        call: &ToolCall,
        answer: &Answer,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Option<Condensed> {
        let text = answer.outcome.text();
        let budget = self.settings.shell_summary.filter(|_| call.name == SHELL)?;
        let estimator = self.settings.estimator;
        if estimator.text(text).tokens() <= budget {
            return None;
        }
        let helper = host.helper?;
        let file = output_file(&self.session_id(), &call.name, &call.id, text);
        // What nobody can look up again is not shortened.
        host.files.save(&file, text).ok()?;
        let task = include_str!("../prompts/condense.md").replace("{{budget}}", &budget.0.to_string());
        let command = call.args.get("command").and_then(|command| command.as_str()).unwrap_or_default();
        let question = format!(
            "<command>\n{}\n</command>\n\n<output>\n{}\n</output>",
            harmless(&middle_out(command, 2_000)),
            harmless(&middle_out(text, MOST_READ)),
        );
        let summary = self.consult(helper, &task, &question, host, cancel).await?;
        let saved_as = host.files.shown_as(&file);
        let summary = fit(summary.trim(), budget, &estimator);
        let ending = ending(text).map(|ending| format!("\n{ending}")).unwrap_or_default();
        let saved = match answer.left_out {
            0 => format!("the whole is in {saved_as}"),
            bytes => format!("all but {} bytes of it are in {saved_as}", grouped(bytes)),
        };
        let text = format!("[A model summarised this output; {saved}]\n{summary}{ending}");
        Some(Condensed { text, saved_as })
    }
}

/// The last lines of an output, if they say how the command ended.
fn ending(text: &str) -> Option<&str> {
    let starts = text.rmatch_indices('\n').take(MOST_ENDING_LINES).map(|(place, _)| place + 1);
    let tails = starts.map(|start| &text[start..]);
    tails.filter(|tail| ENDINGS.iter().any(|ending| tail.starts_with(ending))).last()
}

/// A piece of a summary.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'a> {
    Words(&'a str),
    /// An error or a warning with its tags, which is shown whole or not at all.
    Tagged(&'a str),
}

/// A summary within its budget: errors and warnings stay whole, the words around them give way.
fn fit(summary: &str, budget: TokenCount, estimator: &Estimator) -> String {
    let size = |text: &str| estimator.text(text).tokens();
    if size(summary) <= budget {
        return summary.to_string();
    }
    let pieces = pieces(summary);
    let tagged = pieces.iter().filter_map(|piece| match piece {
        Piece::Tagged(text) => Some(size(text)),
        Piece::Words(_) => None,
    });
    let mut left = budget - tagged.fold(TokenCount::ZERO, |sum, tokens| sum + tokens);
    let mut fitted = String::new();
    for piece in pieces {
        match piece {
            Piece::Tagged(text) => fitted.push_str(text),
            Piece::Words(text) => {
                let begins = beginning(text, left, &size);
                left = left - size(begins);
                fitted.push_str(begins);
                if begins.len() < text.len() {
                    fitted.push_str(" […]\n");
                }
            }
        }
    }
    fitted.trim_end().to_string()
}

/// The longest beginning of whole lines that fits.
fn beginning<'a>(text: &'a str, budget: TokenCount, size: &impl Fn(&str) -> TokenCount) -> &'a str {
    if size(text) <= budget {
        return text;
    }
    let ends: Vec<usize> = text.match_indices('\n').map(|(place, _)| place + 1).collect();
    let fitting = ends.partition_point(|end| size(&text[..*end]) <= budget);
    fitting.checked_sub(1).map_or("", |last| &text[..ends[last]])
}

fn pieces(summary: &str) -> Vec<Piece<'_>> {
    const TAGS: [(&str, &str); 2] = [("<error>", "</error>"), ("<warning>", "</warning>")];
    let mut pieces = Vec::new();
    let mut rest = summary;
    let next = |rest: &str| {
        let begins = TAGS.iter().filter_map(|(open, close)| Some((rest.find(open)?, *close)));
        let (start, close) = begins.min()?;
        let end = rest[start..].find(close)? + start + close.len();
        Some((start, end))
    };
    while let Some((start, end)) = next(rest) {
        if start > 0 {
            pieces.push(Piece::Words(&rest[..start]));
        }
        pieces.push(Piece::Tagged(&rest[start..end]));
        rest = &rest[end..];
    }
    if !rest.is_empty() {
        pieces.push(Piece::Words(rest));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_warnings_are_pieces_of_their_own() {
        use Piece::{Tagged, Words};
        let check = |text: &str, expected: &[Piece<'_>]| assert_eq!(pieces(text), expected, "{text}");
        check("all well", &[Words("all well")]);
        check("<error>a\nb</error>", &[Tagged("<error>a\nb</error>")]);
        check(
            "one <warning>w</warning> two <error>e</error>",
            &[Words("one "), Tagged("<warning>w</warning>"), Words(" two "), Tagged("<error>e</error>")],
        );
        check("<error>never closed", &[Words("<error>never closed")]);
        check("", &[]);
    }

    #[track_caller]
    fn check_fit(summary: &str, budget: u64, expected: &str) {
        assert_eq!(fit(summary, TokenCount(budget), &Estimator::default()), expected);
    }

    #[test]
    fn words_give_way_to_errors() {
        let words = format!("It failed.\n{}", "word ".repeat(200));
        let error = format!("<error>{}</error>", "at main.rs\n".repeat(20));
        check_fit("short", 100, "short");
        check_fit(&format!("{words}\n{error}"), 100, &format!("It failed.\n […]\n{error}"));
        // Even an error that is longer than all of the budget stays.
        check_fit(&format!("{words}\n{error}"), 10, &format!(" […]\n{error}"));
        check_fit(&words, 20, "It failed.\n […]");
    }

    #[test]
    fn how_a_command_ended_is_found() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(ending(text), expected, "{text}");
        check("a\nb\nExit code: 1", Some("Exit code: 1"));
        check(
            "a\nExit code: 0\nBackground PIDs: 7\nRunning in the background as job-2.",
            Some("Exit code: 0\nBackground PIDs: 7\nRunning in the background as job-2."),
        );
        check("a\nSignal: 9 (KILL)", Some("Signal: 9 (KILL)"));
        check("Exit code: 3\na\nb\nc\nd\ne", None);
        check("a", None);
    }
}
