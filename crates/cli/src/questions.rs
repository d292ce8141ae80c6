//! Questions to a person at the terminal.

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::anyhow;
use longhaul_app::failure::hinted;

use crate::output::print;

/// The treatment of a line typed before its question was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TypedAhead {
    /// It answers the question.
    Answers,
    /// It is dropped: it was meant for something else.
    IsDropped,
    /// It is left for the next reader, and the question stays unanswered.
    Refuses,
}

/// Asks for confirmation unless `--yes` was given. Anything but a clear yes is a no. Without a terminal, nothing is
/// confirmed.
pub(crate) fn confirm(question: &str, yes: bool) -> anyhow::Result<bool> {
    if yes {
        return Ok(true);
    }
    if !io::stdin().is_terminal() {
        let error = anyhow!("not confirmed: running without a terminal");
        return Err(hinted(error, "pass --yes to skip the confirmation prompt"));
    }
    let answer = ask(&format!("{question} [y/N]"), TypedAhead::Refuses)?;
    Ok(answer.is_some_and(|answer| is_yes(&answer)))
}

/// Asks for one of these lines by number; `None` for any other answer. Enter alone takes the `usual` one, if there is one.
pub(crate) fn choose(
    question: &str,
    lines: &[String],
    usual: Option<usize>,
) -> anyhow::Result<Option<usize>> {
    let mut text = format!("{question}\n");
    for (index, line) in lines.iter().enumerate() {
        text.push_str(&format!("  {}  {line}\n", index + 1));
    }
    let usual_number = usual.map(|usual| format!(" [{}]", usual + 1)).unwrap_or_default();
    let Some(answer) = ask(&format!("{text}Number{usual_number}"), TypedAhead::Answers)? else {
        return Ok(None);
    };
    Ok(match answer.as_str() {
        "" => usual,
        answer => {
            let number = answer.parse::<usize>().ok().filter(|number| (1..=lines.len()).contains(number));
            number.map(|number| number - 1)
        }
    })
}

/// Asks a question and reads a line in lower case; `None` at the end of input, or if a line typed ahead refuses.
pub(crate) fn ask(question: &str, typed_ahead: TypedAhead) -> anyhow::Result<Option<String>> {
    let is_refused = typed_ahead == TypedAhead::Refuses && is_line_waiting();
    if typed_ahead == TypedAhead::IsDropped {
        discard_typed();
    }
    print(&format!("{question} "))?;
    io::stdout().flush()?;
    if is_refused {
        print("\nNot confirmed: a line was typed before the question. Try again, or pass --yes.\n")?;
        return Ok(None);
    }
    let mut answer = String::new();
    let length = io::stdin().lock().read_line(&mut answer)?;
    Ok((length > 0).then(|| answer.trim().to_ascii_lowercase()))
}

/// Returns true if an answer is a clear yes.
pub(crate) fn is_yes(answer: &str) -> bool {
    matches!(answer, "y" | "yes")
}

/// Drops everything typed so far.
fn discard_typed() {
    #[cfg(unix)]
    if io::stdin().is_terminal() {
        rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush).ok();
    }
}

/// Returns true if a typed line is waiting to be read.
#[cfg(unix)]
fn is_line_waiting() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = io::stdin();
    let mut waiting = [PollFd::new(&stdin, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut waiting, Some(&at_once)).is_ok_and(|count| count > 0)
}

#[cfg(not(unix))]
fn is_line_waiting() -> bool {
    false
}
