//! Writes a change of a file on one line: whole lines that come, and those that go where they are few.

use std::collections::HashSet;

use longhaul_ledger::{TextChange, symbol_in};

use super::statements::is_balanced;

/// Parts the lines of a file that are shown on one.
pub(crate) const LINE_END: &str = " ⏎ ";
/// Stands between the old lines and the new ones.
const BECOMES: &str = " → ";
/// A change takes at most so many bytes; of a longer one the lines that tell most are shown.
const LONGEST: usize = 360;
/// So many lines that go are shown beside those that come.
const MOST_OLD: usize = 2;
/// Comments and definitions of so many bytes tell what a change is about.
const ENOUGH: usize = 40;
/// A run of whole lines is looked for from so many lines on.
const MOST_STARTS: usize = 40;
/// Around the difference of two long lines so much of them is shown.
const AROUND: usize = 40;

/// A change on one line, `ui/menu.ts: items → items.filter(isShown)`, if whole lines of it can be shown.
pub(crate) fn change_line(change: &TextChange) -> Option<String> {
    let text = changed_text(&change.old, &change.new)?;
    let path = short_path(&change.path);
    Some(if path.is_empty() { text } else { format!("{path}: {text}") })
}

/// The last two pieces of a path.
fn short_path(path: &str) -> &str {
    let cut = path.rmatch_indices('/').nth(1).map_or(0, |(place, _)| place + 1);
    &path[cut..]
}

fn changed_text(old: &str, new: &str) -> Option<String> {
    let known: HashSet<&str> = old.lines().map(str::trim).collect();
    let kept: HashSet<&str> = new.lines().map(str::trim).collect();
    let says = |line: &&str| line.contains(char::is_alphanumeric);
    let gone: Vec<&str> = old.lines().map(str::trim).filter(|line| !kept.contains(line)).collect();
    let come: Vec<&str> =
        new.lines().map(str::trim).filter(|line| !line.is_empty() && !known.contains(line)).collect();
    // Of a longer change the markup says least.
    let come: Vec<&str> = match come.len() {
        0..=2 => come,
        _ => come.into_iter().filter(|line| !is_markup(line)).collect(),
    };
    let gone: Vec<&str> = gone.into_iter().filter(|line| !line.is_empty()).collect();
    if come.is_empty() && gone.is_empty() {
        return None;
    }
    match (&gone[..], &come[..]) {
        (_, []) => {
            let gone: Vec<&str> = gone.iter().copied().filter(says).collect();
            (!gone.is_empty()).then(|| fitting(&gone))?.map(|gone| format!("removed {gone}"))
        }
        ([one], [other]) => replaced_line(one, other),
        (gone, come) => {
            let come = fitting(come)?;
            let gone = gone.join(LINE_END);
            let is_short = !gone.is_empty() && gone.len() + come.len() <= LONGEST && is_balanced(&gone);
            Some(match is_short && gone.matches(LINE_END).count() < MOST_OLD {
                true => format!("{gone}{BECOMES}{come}"),
                false => format!("+ {come}"),
            })
        }
    }
}

/// One line in the place of another: both, or what differs in them.
fn replaced_line(old: &str, new: &str) -> Option<String> {
    let both = format!("{old}{BECOMES}{new}");
    if both.len() <= LONGEST && is_balanced(old) && is_balanced(new) {
        return Some(both);
    }
    let is_part = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '-');
    let start = old.char_indices().zip(new.chars()).take_while(|((_, one), other)| one == other);
    let start = start.last().map_or(0, |((place, sign), _)| place + sign.len_utf8());
    // A word is shown whole.
    let start =
        old[..start].rfind(|sign| !is_part(sign)).map_or(0, |place| old.ceil_char_boundary(place + 1));
    let (one, other) = (&old[start..], &new[start..]);
    let end: usize = one
        .chars()
        .rev()
        .zip(other.chars().rev())
        .take_while(|(one, other)| one == other)
        .map(|(sign, _)| sign.len_utf8())
        .sum();
    let end = one[one.len() - end..].find(|sign| !is_part(sign)).map_or(0, |place| end - place);
    let (one, other) = (one[..one.len() - end].trim(), other[..other.len() - end].trim());
    let before = old[..start].trim_end();
    let before = &before[before.ceil_char_boundary(before.len().saturating_sub(AROUND))..];
    let before = before.rsplit([' ', ',', ';']).next().filter(|word| is_balanced(word)).unwrap_or_default();
    let is_shown = |text: &str| is_balanced(text) && text.len() <= LONGEST / 2;
    match (one, other) {
        _ if !is_shown(one) || !is_shown(other) => {
            (is_balanced(new) && new.len() <= LONGEST).then(|| format!("+ {new}"))
        }
        ("", other) => Some(format!("added {other} behind {before}")).filter(|_| !before.is_empty()),
        (one, "") => Some(format!("removed {one}")),
        (one, other) => Some(format!("{one}{BECOMES}{other}")),
    }
}

/// Returns true for a line of HTML or JSX: a tag, or an attribute on a line of its own.
fn is_markup(line: &str) -> bool {
    let is_tag = line.strip_prefix('<').is_some_and(|rest| {
        rest.starts_with(|sign: char| sign.is_ascii_alphabetic() || matches!(sign, '/' | '>' | '!'))
    });
    let is_attribute = || {
        let Some((name, value)) = line.split_once('=') else { return false };
        let is_name =
            !name.is_empty() && name.chars().all(|sign| sign.is_alphanumeric() || "-_:@".contains(sign));
        is_name && (value.starts_with('"') || value.starts_with('{')) && !line.ends_with(';')
    };
    is_tag || matches!(line, ">" | "/>") || is_attribute()
}

/// The lines on one, or those that tell most: comments and definitions before others.
fn fitting(lines: &[&str]) -> Option<String> {
    let joined = lines.join(LINE_END);
    if joined.len() <= LONGEST && is_balanced(&joined) {
        return Some(joined);
    }
    let is_telling = |line: &str| {
        let is_comment = ["//", "#", "/*", "*", "--", "\"\"\""].iter().any(|sign| line.starts_with(sign));
        let is_ornament = line.matches("--").count() > 3 || line.matches("==").count() > 3;
        !is_ornament && (is_comment && line.len() > 12 || symbol_in(line).is_some() && !line.ends_with(','))
    };
    let mut telling = String::new();
    for line in lines.iter().filter(|line| is_telling(line)) {
        let line = line.strip_suffix('{').unwrap_or(line).trim_end();
        if !telling.contains(line)
            && is_balanced(line)
            && telling.len() + line.len() + LINE_END.len() <= LONGEST
        {
            telling.push_str(line);
            telling.push_str(LINE_END);
        }
    }
    let run = longest_run(lines);
    if telling.len() < ENOUGH && run.len() > telling.len() {
        return Some(format!("{run}{LINE_END}…"));
    }
    (!telling.is_empty()).then(|| format!("{telling}…"))
}

/// The longest run of lines that is whole: every bracket in it is closed.
fn longest_run(lines: &[&str]) -> String {
    let mut best = String::new();
    for start in 0..lines.len().min(MOST_STARTS) {
        let mut run = String::new();
        for line in &lines[start..] {
            if run.len() + line.len() > LONGEST {
                break;
            }
            if !run.is_empty() {
                run.push_str(LINE_END);
            }
            run.push_str(line);
            if run.len() > best.len() && is_balanced(&run) {
                best.clone_from(&run);
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: &str, new: &str, expected: Option<&str>) {
        let change = TextChange { path: "/home/me/app/ui/menu.ts".into(), old: old.into(), new: new.into() };
        assert_eq!(change_line(&change).as_deref(), expected);
    }

    #[test]
    fn small_changes_are_shown_whole() {
        check("let a = 1;\nrun(a);", "let a = 2;\nrun(a);", Some("ui/menu.ts: let a = 1; → let a = 2;"));
        check("a();", "a();\nb();", Some("ui/menu.ts: + b();"));
        check("a();\nb();", "a();", Some("ui/menu.ts: removed b();"));
        check(
            "{items.map(([name]) => {",
            "{items.filter(isShown).map(([name]) => {",
            Some("ui/menu.ts: map → filter(isShown).map"),
        );
        check("a", "a", None);
    }

    #[test]
    fn markup_says_nothing_of_a_longer_change() {
        let new = "<button\nonClick={() => setOpen(!isOpen)}\nclassName=\"wide\"\n>\nconst label = open ? hide : show;\n</button>";
        check("", new, Some("ui/menu.ts: + const label = open ? hide : show;"));
        check("", "<div>\n<svg\nfill=\"none\"\n/>\n</div>", None);
        check("<b>old</b>", "<b>new</b>", Some("ui/menu.ts: <b>old</b> → <b>new</b>"));
    }

    #[test]
    fn of_long_changes_the_lines_that_tell_most_are_shown() {
        let body = "    value = compute(value, value, value)\n".repeat(20);
        let new = format!("# Retries are counted here.\ndef retry(call):\n{body}");
        let change = TextChange { path: "a.py".into(), old: String::new(), new };
        let line = change_line(&change).expect("it has whole lines");
        assert!(line.starts_with("a.py: + # Retries are counted here. ⏎ def retry(call):"), "{line}");
        assert!(line.len() < LONGEST + 40 && line.ends_with('…'), "{line}");
    }
}
