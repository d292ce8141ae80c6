//! Finds the words of a text that may be imports.

use std::ops::Range;
use std::path::Path;

use pulldown_cmark::{Event, Parser, Tag};

/// A word that may be an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ImportToken<'a> {
    /// The path, without the `@`.
    pub(super) written: &'a str,
    /// The place in the text, with the `@`.
    pub(super) range: Range<usize>,
    /// The line that it stands in, from 1.
    pub(super) line: usize,
}

/// Extensions of files that people import or mention. Those of web addresses and of attributes in code are not among them.
const EXTENSIONS: &[&str] = &[
    "adoc", "bash", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "cts", "cxx", "dart", "env", "ex",
    "exs", "go", "gradle", "graphql", "h", "hpp", "hs", "htm", "html", "ini", "java", "js", "json", "json5",
    "jsonc", "jsonl", "jsx", "kt", "lua", "markdown", "md", "mdc", "mdx", "mjs", "ml", "mts", "php", "proto",
    "ps1", "py", "r", "rb", "rs", "rst", "scala", "scss", "sh", "sql", "svelte", "swift", "tex", "text",
    "tf", "toml", "ts", "tsv", "tsx", "txt", "vue", "xml", "yaml", "yml", "zig", "zsh",
];

/// The words that may be imports, in order: an `@` at the start or behind white space, and what follows up to the next
/// white space if that begins like a path. What stands in code is none.
pub(super) fn find_tokens(text: &str) -> Vec<ImportToken<'_>> {
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut counted = 0;
    for (at, _) in text.match_indices('@') {
        let before = text[..at].chars().next_back();
        if !before.is_none_or(|letter| matches!(letter, ' ' | '\t' | '\r' | '\n')) {
            continue;
        }
        let rest = &text[at + 1..];
        let written = &rest[..rest.find(char::is_whitespace).unwrap_or(rest.len())];
        if !written.starts_with(|letter: char| letter == '.' || letter == '/' || letter.is_ascii_alphabetic())
        {
            continue;
        }
        line += text[counted..at].bytes().filter(|byte| *byte == b'\n').count();
        counted = at;
        tokens.push(ImportToken { written, range: at..at + 1 + written.len(), line });
    }
    if !tokens.is_empty() {
        let code = code_regions(text);
        tokens.retain(|token| !is_inside(&code, token.range.start));
    }
    tokens
}

/// True if one of these regions, which are in order, holds a place.
fn is_inside(regions: &[Range<usize>], at: usize) -> bool {
    let next = regions.partition_point(|region| region.start <= at);
    regions[..next].last().is_some_and(|region| region.contains(&at))
}

/// The places of code, in order: between fences of either kind, in spans, and indented.
fn code_regions(text: &str) -> Vec<Range<usize>> {
    let events = Parser::new(text).into_offset_iter();
    let regions = events.filter_map(|(event, range)| match event {
        Event::Code(_) | Event::Start(Tag::CodeBlock(_)) => Some(range),
        _ => None,
    });
    regions.collect()
}

/// True if somebody who wrote this meant a file: it begins with `./` or the like, has the extension of one, or leads
/// through a folder that is there. Decorators, packages of a scope and people do not.
pub(super) fn looks_like_a_path(written: &str, folder: &Path) -> bool {
    if written.starts_with("./")
        || written.starts_with("../")
        || written.contains("/./")
        || written.contains("/../")
    {
        return true;
    }
    let name = written.rsplit('/').next().unwrap_or(written);
    let extension = name.rsplit_once('.').map(|(stem, extension)| (stem, extension.to_ascii_lowercase()));
    if extension.is_some_and(|(stem, extension)| !stem.is_empty() && EXTENSIONS.contains(&extension.as_str()))
    {
        return true;
    }
    let slashes = written.matches('/').count();
    // A package may have parts, too: only what is on the disk tells them from folders.
    slashes > 1
        && written.split('/').find(|part| !part.is_empty()).is_some_and(|first| {
            let base = if written.starts_with('/') { Path::new("/") } else { folder };
            base.join(first).is_dir()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = find_tokens(text).iter().map(|token| token.written).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn an_import_begins_a_word_like_a_path() {
        check("@./a.md", &["./a.md"]);
        check("see @a.md and\t@/b/c.md\n@../d", &["a.md", "/b/c.md", "../d"]);
        check("user@host (@a) x@b", &[]);
        check("@ a @1 @-x @_y @~z @é", &[]);
        check("@a,b. @c)", &["a,b.", "c)"]);
        check("a\r\n@b.md\r\n", &["b.md"]);
        check("@@a", &[]);
        check("@", &[]);
    }

    #[test]
    fn code_is_left_alone() {
        check("`@a.md` @b.md", &["b.md"]);
        check("``x ` @a.md`` and `\n@b.md\n` @c.md", &["c.md"]);
        check("```\n@a.md\n```\n@b.md", &["b.md"]);
        check("~~~sh\n@a.md\n~~~\n@b.md", &["b.md"]);
        check("text\n\n    @a.md\n\n@b.md", &["b.md"]);
        check("- item\n\n  ```\n  @a.md\n  ```\n- @b.md", &["b.md"]);
        // A fence that is never closed holds the rest; a lone backtick holds nothing.
        check("```\n@a.md", &[]);
        check("it's ` @a.md", &["a.md"]);
        check("````\n```\n@a.md\n````\n@b.md", &["b.md"]);
        check("`x`@a.md `y` @b.md", &["b.md"]);
    }

    #[test]
    fn a_text_full_of_code_takes_no_longer_than_others() {
        let text = "`a` @b\n".repeat(40_000);
        assert_eq!(find_tokens(&text).len(), 40_000);
    }

    #[test]
    fn lines_are_counted() {
        let tokens = find_tokens("@a\n\n é @b @c\n@d");
        assert_eq!(tokens.iter().map(|token| token.line).collect::<Vec<_>>(), [1, 3, 3, 4]);
        let text = "é @b.md!";
        assert_eq!(&text[find_tokens(text)[0].range.clone()], "@b.md!");
    }

    #[track_caller]
    fn check_meant(written: &str, expected: bool) {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("docs")).expect("made");
        assert_eq!(looks_like_a_path(written, folder.path()), expected, "{written}");
    }

    #[test]
    fn paths_are_told_from_people_packages_and_decorators() {
        for path in ["./a", "../a/b", "a.md", "docs/a.md", "docs/b/c", "x/../y", "notes.TXT", "a/b.rs"] {
            check_meant(path, true);
        }
        for other in [
            "alice",
            "types/node",
            "scope/package/part",
            "pytest.mark.unit",
            "app.get",
            "Override",
            "a.md.",
            "e2)",
            "/c/d/e",
            "archon/*",
            ".md",
            "example.org",
            "docs/a",
        ] {
            check_meant(other, false);
        }
    }
}
