//! Finds what a model writes down in a script for people to read: messages of commits, texts of pull requests and issues.

/// Programs and their words that take such a text.
const WRITERS: [&str; 6] =
    ["git commit", "gh pr create", "gh pr comment", "gh pr edit", "gh issue create", "gh issue comment"];
/// A shorter text is told as the commit itself is.
const SHORTEST: usize = 60;

/// Calls `found` with each text that a script writes for people.
pub(crate) fn written_in_script(script: &str, found: &mut impl FnMut(&str)) {
    if !WRITERS.iter().any(|writer| script.contains(writer)) {
        return;
    }
    let mut rest = script;
    let mut has_document = false;
    while let Some(place) = rest.find("<<") {
        let behind = rest[place + 2..].trim_start_matches('-').trim_start();
        let word: &str = behind.split([' ', '\n', ')', ';']).next().unwrap_or_default();
        let name = word.trim_matches(['\'', '"']);
        let body = behind.find('\n').map_or("", |line| &behind[line + 1..]);
        let end = body.split_inclusive('\n').scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some((start, line))
        });
        let end = end.into_iter().find(|(_, line)| line.trim() == name).map(|(start, _)| start);
        let Some(end) = end.filter(|_| !name.is_empty()) else { break };
        found(&body[..end]);
        has_document = true;
        rest = &body[end..];
    }
    if !has_document {
        quoted_texts(script, found);
    }
}

/// The long texts behind `-m` and `--body`, in quotes.
fn quoted_texts(script: &str, found: &mut impl FnMut(&str)) {
    for option in ["-m ", "--body ", "--message "] {
        for (place, _) in script.match_indices(option) {
            let behind = &script[place + option.len()..];
            let Some(quote) = behind.chars().next().filter(|quote| matches!(quote, '"' | '\'')) else {
                continue;
            };
            let text = &behind[1..];
            let end = text.match_indices(quote).map(|(end, _)| end).find(|end| !text[..*end].ends_with('\\'));
            if let Some(end) = end.filter(|end| *end >= SHORTEST) {
                found(&text[..end]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(script: &str, expected: &[&str]) {
        let mut seen: Vec<String> = Vec::new();
        written_in_script(script, &mut |text| seen.push(text.to_string()));
        assert_eq!(seen, expected);
    }

    #[test]
    fn messages_for_people_are_found() {
        let long = "Retry uploads that the server refused, as it is busy for some seconds at most.";
        check(&format!("git commit -m \"$(cat <<'EOF'\n{long}\nEOF\n)\""), &[&format!("{long}\n")]);
        check(&format!("git add . && git commit -m '{long}'"), &[long]);
        check("git commit -m 'short'", &[]);
        check(&format!("echo <<EOF\n{long}\nEOF"), &[]);
        check("git commit <<EOF\nnever ends", &[]);
    }
}
