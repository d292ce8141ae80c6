//! `longhaul blame FILE[:LINE]`: the session and the request that wrote each line.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use clap::Args;
use longhaul_app::blame::{Blame, BlameReport, WrittenBy, blame};
use serde_json::json;

use crate::output::{Page, Screen, fit, path_json, plural, print, print_json, visible, with_progress};

#[derive(Debug, Args)]
pub(crate) struct BlameOptions {
    /// File of a git repository, or one line of it: src/cart.rs:12.
    #[arg(value_name = "FILE[:LINE]")]
    file: PathBuf,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

/// Lines next to each other with one author.
struct Hunk<'a> {
    first: &'a Blame,
    last: usize,
}

/// Finds out and prints.
pub(crate) fn run(options: &BlameOptions, screen: &Screen) -> anyhow::Result<()> {
    let (file, line) = target(&options.file);
    let report = with_progress(|| "reading sessions".to_string(), || blame(&file, line))?;
    if options.json {
        let hunks = hunks(&report.lines);
        return print_json(&json!({
            "schema": 1, "file": path_json(&file), "sessions": report.sessions,
            "hunks": hunks.iter().map(hunk_json).collect::<Vec<_>>(),
            "unread": report.unread.iter().map(|(path, error)| format!("{}: {error:#}", path.display())).collect::<Vec<_>>(),
        }));
    }
    for (path, error) in &report.unread {
        let text = format!("{}: {error:#}", path.display());
        eprintln!("warning: could not read {}", visible(&text));
    }
    print(&text(*screen, &report))
}

/// The file and the line that an argument means.
fn target(given: &Path) -> (PathBuf, Option<usize>) {
    if !given.exists()
        && let Some((file, line)) = given.to_str().and_then(|given| given.rsplit_once(':'))
        && let Ok(line @ 1..) = line.parse()
    {
        return (PathBuf::from(file), Some(line));
    }
    (given.to_path_buf(), None)
}

fn hunks(lines: &[Blame]) -> Vec<Hunk<'_>> {
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    for line in lines {
        let is_same = |hunk: &Hunk<'_>| {
            let is_by_one = match (&hunk.first.by, &line.by) {
                (Some(one), Some(other)) => {
                    one.session == other.session && one.number == other.number && one.request == other.request
                }
                (None, None) => true,
                _ => false,
            };
            is_by_one && hunk.first.commit == line.commit && hunk.last + 1 == line.line
        };
        match hunks.last_mut().filter(|hunk| is_same(hunk)) {
            Some(hunk) => hunk.last = line.line,
            None => hunks.push(Hunk { first: line, last: line.line }),
        }
    }
    hunks
}

/// The command that shows the request with what stands around it.
fn open_command(by: &WrittenBy) -> String {
    match by.number {
        Some(number) => format!("longhaul sessions show {} --message {number} --around 2", by.session),
        None => format!("longhaul sessions show {}", by.session),
    }
}

fn text(screen: Screen, report: &BlameReport) -> String {
    let mut page = Page::new(screen);
    let hunks = hunks(&report.lines);
    let mut last: Option<&Rc<WrittenBy>> = None;
    for hunk in &hunks {
        let range = match hunk.first.line == hunk.last {
            true => hunk.first.line.to_string(),
            false => format!("{}-{}", hunk.first.line, hunk.last),
        };
        let commit = match &hunk.first.commit {
            Some(commit) => format!("commit {}", &commit[..commit.len().min(10)]),
            None => "not committed".into(),
        };
        let range = page.screen.strong(&format!("{range:>9}"));
        let Some(by) = &hunk.first.by else {
            page.line(&format!("{range}  {}", page.screen.faint(&format!("unknown  {commit}"))));
            last = None;
            continue;
        };
        let number = by.number.map(|number| format!(" {number}")).unwrap_or_default();
        let session = visible(&by.session);
        page.line(&format!(
            "{range}  {} {session}{number}  {}",
            by.agent.as_str(),
            page.screen.faint(&format!("{}  {commit}", by.at.to_minute())),
        ));
        if last.is_none_or(|last| (&last.session, last.number) != (&by.session, by.number)) {
            let room = page.screen.width.saturating_sub(11);
            let request = by.request.lines().next().unwrap_or_default();
            if !request.is_empty() {
                page.line(&format!("           {}", fit(&visible(request), room)));
            }
            if hunks.len() == 1 {
                page.line(&page.screen.faint(&format!("           open: {}", visible(&open_command(by)))));
                if let Some(resume) = &by.resume {
                    page.line(&page.screen.faint(&format!("           resume: {}", visible(resume))));
                }
            }
        }
        last = Some(by);
    }
    let known = report.lines.iter().filter(|line| line.by.is_some()).count();
    let total = report.lines.len();
    page.gap();
    let sessions = plural(report.sessions, "session", "sessions");
    match (known, total) {
        (_, 0) => page.line("The file is empty."),
        (0, _) => page.line(&format!("No line is known to be of a session: {sessions} edited this file.")),
        _ => page.line(&format!("{known} of {} by {sessions}.", plural(total, "line", "lines"))),
    }
    page.into_text()
}

fn hunk_json(hunk: &Hunk<'_>) -> serde_json::Value {
    let by = hunk.first.by.as_ref().map(|by| {
        json!({
            "agent": by.agent.as_str(), "session": by.session, "number": by.number.map(|number| number.to_string()),
            "request": by.request, "at": by.at.to_string(), "open": open_command(by), "resume": by.resume,
        })
    });
    json!({
        "first": hunk.first.line, "last": hunk.last, "commit": hunk.first.commit,
        "committed": hunk.first.committed.map(|at| at.to_string()), "by": by,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stands_behind_the_file() {
        let check = |given: &str, file: &str, line: Option<usize>| {
            assert_eq!(target(Path::new(given)), (PathBuf::from(file), line));
        };
        check("src/none.rs:12", "src/none.rs", Some(12));
        check("src/none.rs:0", "src/none.rs:0", None);
        check("src/none.rs:x", "src/none.rs:x", None);
        check("src/none.rs", "src/none.rs", None);
    }
}
