//! Collects matches from several threads: all are counted, and the first by path and line are kept.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use tokio_util::sync::CancellationToken;

/// The most bytes of a line that are shown, a quarter of them before the match.
const LINE: usize = 500;

/// The most bytes of a file held in memory, which limits its longest line.
const MAX_HELD: usize = 64 << 20;

/// A line of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GrepLine {
    pub(super) number: u64,
    pub(super) is_match: bool,
    pub(super) text: String,
}

/// Collects the matches of all threads.
pub(super) struct MatchCollector<'m> {
    matcher: &'m RegexMatcher,
    context: usize,
    max_matches: usize,
    collected: Mutex<GrepResult>,
}

/// The collected matches.
#[derive(Debug, Default)]
pub(super) struct GrepResult {
    /// The number of matching lines, shown or not.
    pub(super) matches: u64,
    /// The number of files with matches.
    pub(super) files: u64,
    /// The number of files that could not be read.
    pub(super) unread: u64,
    pub(super) has_context: bool,
    /// The first files by path, with at least as many matches as wanted if there are so many.
    kept: BTreeMap<PathBuf, FileMatches>,
    kept_matches: usize,
    max_matches: usize,
}

/// The matches of one file.
#[derive(Debug, Default)]
struct FileMatches {
    matches: u64,
    /// The first lines, with context.
    lines: Vec<GrepLine>,
    /// The number of matching lines among them.
    kept: usize,
}

impl<'m> MatchCollector<'m> {
    /// Keeps the first `max_matches`, each with `context` lines before and after it.
    pub(super) fn new(matcher: &'m RegexMatcher, context: usize, max_matches: usize) -> Self {
        let collected = GrepResult { max_matches, has_context: context > 0, ..GrepResult::default() };
        Self { matcher, context, max_matches, collected: Mutex::new(collected) }
    }

    /// A searcher for one thread.
    pub(super) fn searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .line_number(true)
            .before_context(self.context)
            .after_context(self.context)
            .heap_limit(Some(MAX_HELD))
            .build()
    }

    /// Searches an open file.
    pub(super) fn search(
        &self,
        searcher: &mut Searcher,
        file: io::Result<File>,
        path: PathBuf,
        cancel: &CancellationToken,
    ) {
        let keep = if self.lock().is_full_before(&path) { 0 } else { self.max_matches };
        let mut search =
            FileSearch { collector: self, hits: FileMatches::default(), keep, is_binary: false, after: 0 };
        let result = file.and_then(|file| {
            searcher.search_reader(self.matcher, CancellableReader { file, cancel }, &mut search)
        });
        let FileSearch { hits, is_binary, .. } = search;
        if result.is_ok() && (is_binary || hits.matches == 0) {
            return;
        }
        let mut collected = self.lock();
        match result {
            Ok(()) => collected.add(path, hits),
            Err(_) => collected.unread += 1,
        }
    }

    fn lock(&self) -> MutexGuard<'_, GrepResult> {
        self.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the collected matches.
    pub(super) fn finish(self) -> GrepResult {
        self.collected.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GrepResult {
    fn add(&mut self, path: PathBuf, hits: FileMatches) {
        self.matches += hits.matches;
        self.files += 1;
        self.kept_matches += hits.kept;
        self.kept.insert(path, hits);
        // The last file is not shown if those before it have enough matches.
        while let Some(last) = self.kept.last_entry()
            && self.kept_matches - last.get().kept >= self.max_matches
        {
            self.kept_matches -= last.remove().kept;
        }
    }

    /// True if the files before this one already have enough matches.
    fn is_full_before(&self, path: &Path) -> bool {
        let is_last = |(last, _): (&PathBuf, &FileMatches)| last.as_path() < path;
        self.kept_matches >= self.max_matches && self.kept.last_key_value().is_some_and(is_last)
    }

    /// The number of matches shown.
    pub(super) fn shown(&self) -> u64 {
        self.kept_matches.min(self.max_matches) as u64
    }

    /// The lines to show, by path and line number.
    pub(super) fn lines(&self) -> impl Iterator<Item = (&Path, &[GrepLine])> {
        let mut left = self.max_matches;
        self.kept.iter().map(move |(path, hits)| {
            let end = if hits.kept <= left { hits.lines.len() } else { end_of(&hits.lines, left) };
            left -= hits.kept.min(left);
            (path.as_path(), &hits.lines[..end])
        })
    }
}

/// The end of the lines that contain this many matches; context after the last one may belong to the next match.
fn end_of(lines: &[GrepLine], matches: usize) -> usize {
    let ends = lines.iter().enumerate().filter(|(_, line)| line.is_match).map(|(place, _)| place + 1);
    matches.checked_sub(1).and_then(|before| ends.into_iter().nth(before)).unwrap_or(0)
}

/// The search of one file.
struct FileSearch<'a, 'm> {
    collector: &'a MatchCollector<'m>,
    hits: FileMatches,
    /// The number of matches to keep; the others are only counted.
    keep: usize,
    is_binary: bool,
    /// The number of context lines still wanted after the last kept match.
    after: usize,
}

impl Sink for FileSearch<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.hits.matches += 1;
        if self.hits.kept < self.keep {
            self.hits.kept += 1;
            self.after = self.collector.context;
            let line = without_end(found.bytes());
            let at = self.collector.matcher.find(line).ok().flatten().map_or(0, |found| found.start());
            let number = found.line_number().unwrap_or_default();
            self.hits.lines.push(GrepLine { number, is_match: true, text: cut(line, at) });
        }
        Ok(true)
    }

    fn context(&mut self, _searcher: &Searcher, around: &SinkContext<'_>) -> io::Result<bool> {
        let is_after = *around.kind() == grep_searcher::SinkContextKind::After;
        let is_wanted = match is_after {
            true => self.after > 0,
            false => self.hits.kept < self.keep,
        };
        if is_wanted {
            self.after = self.after.saturating_sub(usize::from(is_after));
            let number = around.line_number().unwrap_or_default();
            let text = cut(without_end(around.bytes()), 0);
            self.hits.lines.push(GrepLine { number, is_match: false, text });
        }
        Ok(true)
    }

    fn binary_data(&mut self, _searcher: &Searcher, _offset: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(false)
    }
}

/// A reader that ends early when cancelled.
struct CancellableReader<'a> {
    file: File,
    cancel: &'a CancellationToken,
}

impl Read for CancellableReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Ok(0);
        }
        self.file.read(buffer)
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The line, or the part around `at` if it is long.
fn cut(line: &[u8], at: usize) -> String {
    if line.len() <= LINE {
        return String::from_utf8_lossy(line).into_owned();
    }
    let start = at.saturating_sub(LINE / 4).min(line.len() - LINE);
    let start = boundary(line, start);
    let end = boundary(line, (start + LINE).min(line.len()));
    let (before, after) = (if start > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" });
    format!("{before}{}{after}", String::from_utf8_lossy(&line[start..end]))
}

/// The position, or the next character boundary after it.
fn boundary(line: &[u8], place: usize) -> usize {
    let is_inside = |byte: &u8| byte & 0xC0 == 0x80;
    place + line[place..].iter().take(3).take_while(|byte| is_inside(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_cut(line: &str, at: usize, expected: &str) {
        assert_eq!(cut(line.as_bytes(), at), expected);
    }

    #[test]
    fn long_lines_are_cut_around_the_match() {
        check_cut("short", 3, "short");
        let x = |count| "x".repeat(count);
        check_cut(&x(501), 0, &format!("{}…", x(500)));
        check_cut(&x(501), 500, &format!("…{}", x(500)));
        check_cut(&format!("{}needle{}", x(1000), x(1000)), 1000, &format!("…{}needle{}…", x(125), x(369)));
        let euros = "€".repeat(400);
        let shown = cut(euros.as_bytes(), 600);
        assert!(shown.chars().all(|c| matches!(c, '€' | '…')), "{shown}");
        assert!(!cut(&[0x80; 600], 300).is_empty());
    }

    #[test]
    fn what_is_kept_does_not_depend_on_the_order() {
        let files = [("a", 1), ("b", 3), ("c", 4), ("d", 1), ("e", 9)];
        for turn in 0..files.len() {
            for is_reversed in [false, true] {
                let mut files = files;
                files.rotate_left(turn);
                if is_reversed {
                    files.reverse();
                }
                let mut collected = GrepResult { max_matches: 5, ..GrepResult::default() };
                for (name, matches) in files {
                    let kept = if collected.is_full_before(Path::new(name)) { 0 } else { matches };
                    collected
                        .add(name.into(), FileMatches { matches: matches as u64, lines: Vec::new(), kept });
                }
                let kept: Vec<_> = collected.kept.keys().map(|path| path.to_str().unwrap()).collect();
                assert_eq!(kept, ["a", "b", "c"]);
                assert_eq!((collected.matches, collected.files, collected.shown()), (18, 5, 5));
            }
        }
    }

    #[test]
    fn nobody_s_files_are_not_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "hit\nhit\n").unwrap();
        let matcher = RegexMatcher::new("hit").unwrap();
        let cancel = CancellationToken::new();
        for expected in [2, 0] {
            let collector = MatchCollector::new(&matcher, 0, 10);
            let opened = File::open(file.path());
            collector.search(&mut collector.searcher(), opened, file.path().to_path_buf(), &cancel);
            assert_eq!(collector.finish().matches, expected);
            cancel.cancel();
        }
    }
}
