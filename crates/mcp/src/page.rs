//! Pages of a long answer: at most so many characters, and how to read on.

/// The most characters of an answer, so that no client shortens it or saves it to a file instead.
pub(crate) const LONGEST_ANSWER: usize = 8_000;

/// Room for the line that says how to read on.
const FOOTER: usize = 120;

/// The part of a text from `offset` on that fits into `limit` characters, with a line that says how to read on.
pub(crate) fn page(text: &str, offset: usize, limit: usize) -> Result<String, String> {
    let total = text.chars().count();
    if offset == 0 && total <= limit {
        return Ok(text.to_string());
    }
    if offset >= total {
        return Err(format!("offset {offset} is behind the end: the answer has {total} characters"));
    }
    let room = limit.saturating_sub(FOOTER).max(1);
    let rest = text.chars().skip(offset);
    if total - offset <= room {
        return Ok(rest.collect());
    }
    let mut shown: String = rest.take(room).collect();
    // A page ends with a whole line where that costs little.
    if let Some(end) = shown.rfind('\n').filter(|end| *end >= shown.len() / 2) {
        shown.truncate(end + 1);
    }
    let next = offset + shown.chars().count();
    if !shown.ends_with('\n') {
        shown.push('\n');
    }
    shown.push_str(&format!("[{} more characters: call again with offset={next}]", total - next));
    Ok(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_together_are_the_whole_text() {
        let line = "a line with ünïcode 日本 in it\n";
        let texts = [
            "short".to_string(),
            line.repeat(900),
            "x".repeat(20_000),
            format!("{}\n{}", "y".repeat(9_000), line),
        ];
        for text in texts {
            let (mut offset, mut read, mut pages) = (0, String::new(), 0);
            loop {
                let shown = page(&text, offset, LONGEST_ANSWER).expect("there is more");
                assert!(shown.chars().count() <= LONGEST_ANSWER);
                pages += 1;
                let Some(start) = shown.rfind("[").filter(|_| shown.ends_with(']')) else {
                    read.push_str(&shown);
                    break;
                };
                let next: usize = shown
                    .rsplit_once("offset=")
                    .expect("it says how")
                    .1
                    .trim_end_matches(']')
                    .parse()
                    .expect("a number");
                read.extend(text.chars().skip(offset).take(next - offset));
                assert!(
                    shown[..start]
                        .trim_end_matches('\n')
                        .ends_with(read.trim_end_matches('\n').chars().last().expect("text"))
                );
                offset = next;
            }
            assert_eq!(read, text);
            assert!(pages <= 4);
        }
        assert!(page("abc", 3, LONGEST_ANSWER).unwrap_err().contains("3 characters"));
    }
}
