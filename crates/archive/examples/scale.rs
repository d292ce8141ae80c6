//! Generates varied sessions, and measures the archive on them beside a plain FTS5 table; `bench/archive` drives it.
//!
//! Words are made of syllables and drawn by rank, as in languages; messages are sentences, code with identifiers of its own,
//! paths, and outputs of programs. No message stands twice.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};
use longhaul_archive::{Archive, Question, Source, SyncOptions};
use longhaul_conversation::Timestamp;
use longhaul_formats::{Event, SeenParts, read};
use longhaul_recall::PassageReader;

const USAGE: &str = "scale generate FOLDER MESSAGES FILES | sync FOLDER | query FOLDER WORDS | fts FOLDER | fts-query FOLDER WORDS";

/// The different words.
const WORDS: usize = 120_000;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["generate", folder, messages, files] => {
            generate(Path::new(folder), messages.parse()?, files.parse()?)
        }
        ["sync", folder] => sync(Path::new(folder)),
        ["query", folder, words] => query(Path::new(folder), words),
        ["fts", folder] => fts(Path::new(folder)),
        ["fts-query", folder, words] => fts_query(Path::new(folder), words),
        _ => bail!(USAGE),
    }
}

/// Numbers as if by chance, the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }

    /// A rank: the first ones often, the last ones seldom.
    fn rank(&mut self, most: usize) -> usize {
        let part = (self.next() % 1_000_000) as f64 / 1_000_000.0;
        ((most as f64).powf(part) - 1.0) as usize
    }
}

fn vocabulary() -> Vec<String> {
    const SYLLABLES: [&str; 32] = [
        "ba", "cor", "den", "fi", "gra", "hol", "im", "jun", "ka", "lor", "mi", "nes", "ot", "per", "qui",
        "rav", "sel", "tur", "ul", "ven", "wor", "xi", "yas", "zen", "con", "re", "pre", "sta", "tion",
        "ing", "er", "ly",
    ];
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut words: Vec<String> = Vec::with_capacity(WORDS);
    let mut known = std::collections::HashSet::new();
    while words.len() < WORDS {
        let count = 1 + random.below(2) + usize::from(words.len() > 400) + usize::from(words.len() > 20_000);
        let word: String = (0..count).map(|_| SYLLABLES[random.below(32)]).collect();
        if known.insert(word.clone()) {
            words.push(word);
        }
    }
    words
}

fn generate(folder: &Path, messages: usize, files: usize) -> anyhow::Result<()> {
    let words = vocabulary();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut bytes = 0;
    let each = messages.div_ceil(files);
    for file in 0..files {
        let place = folder.join("sessions").join(format!("{:02x}", file % 256));
        fs::create_dir_all(&place)?;
        let id =
            format!("{file:08x}-{:04x}-4000-8000-{:012x}", random.below(65_536), random.next() % (1 << 48));
        let mut out = BufWriter::new(fs::File::create(place.join(format!("{id}.jsonl")))?);
        for message in 0..each {
            let (second, role) = (message * 20 % 60, ["user", "assistant"][message % 2]);
            let text = text(&mut random, &words, message);
            bytes += text.len();
            let at = format!(
                "2026-{:02}-{:02}T{:02}:{:02}:{second:02}Z",
                1 + file % 10,
                1 + file % 28,
                message / 180 % 24,
                message / 3 % 60
            );
            let content = serde_json::to_string(&text)?;
            let content = match role {
                "user" => content,
                _ => format!("[{{\"type\":\"text\",\"text\":{content}}}]"),
            };
            writeln!(
                out,
                "{{\"type\":\"{role}\",\"uuid\":\"{file:x}-{message:x}\",\"sessionId\":\"{id}\",\"timestamp\":\"{at}\",\"message\":{{\"role\":\"{role}\",\"content\":{content}}}}}"
            )?;
        }
    }
    println!("{} messages, {:.1} MB of text", each * files, bytes as f64 / 1e6);
    Ok(())
}

fn text(random: &mut Random, words: &[String], message: usize) -> String {
    let word = |random: &mut Random| words[random.rank(WORDS)].as_str();
    let mut text = String::new();
    match message % 8 {
        // Code, with names of its own.
        3 => {
            for _ in 0..3 + random.below(8) {
                let (one, other, third) = (word(random), word(random), word(random));
                text.push_str(&format!(
                    "    let {one}_{other} = {third}.{other}(self.{one}, {});\n",
                    random.below(10_000)
                ));
            }
        }
        // What a program says.
        5 => {
            for _ in 0..2 + random.below(6) {
                let (one, other) = (word(random), word(random));
                let (line, column) = (random.below(2_000), random.below(120));
                text.push_str(&format!(
                    "src/{one}/{other}.rs:{line}:{column}: warning: unused `{}_{one}` ({:08x})\n",
                    word(random),
                    random.next() as u32
                ));
            }
        }
        _ => {
            for place in 0..8 + random.below(60) {
                if place > 0 {
                    text.push_str(if random.below(12) == 0 { ". " } else { " " });
                }
                text.push_str(word(random));
            }
        }
    }
    text
}

fn sources(folder: &Path) -> anyhow::Result<Vec<Source>> {
    let mut sources = Vec::new();
    for group in fs::read_dir(folder.join("sessions"))? {
        for file in fs::read_dir(group?.path())? {
            let path = file?.path();
            let session = path.file_stem().context("a name")?.to_string_lossy().into_owned();
            sources.push(Source { agent: "claude".into(), session, project: None, path, document: None });
        }
    }
    Ok(sources)
}

fn sync(folder: &Path) -> anyhow::Result<()> {
    let start = Instant::now();
    let sources = sources(folder)?;
    let mut archive = Archive::open(&folder.join("archive"))?;
    let report = archive.sync(&sources, &SyncOptions::default())?;
    let seconds = start.elapsed().as_secs_f64();
    let status = archive.status()?;
    println!(
        "copied {} of {} files, {:.1} MB, in {seconds:.3} s ({:.1} MB/s); blocks {:.1} MB, index {:.1} MB",
        report.copied,
        report.sources,
        report.bytes as f64 / 1e6,
        report.bytes as f64 / 1e6 / seconds,
        status.blocks_room as f64 / 1e6,
        status.index_room as f64 / 1e6
    );
    Ok(())
}

fn query(folder: &Path, words: &str) -> anyhow::Result<()> {
    let start = Instant::now();
    let mut archive = Archive::open(&folder.join("archive"))?;
    let opened = start.elapsed();
    let ranked = archive.ranking(&Question::new(words, Timestamp::from_millis(0)))?.len();
    let found = start.elapsed();
    let hits = archive.recall(&Question::new(words, Timestamp::from_millis(0)), 5)?;
    println!(
        "{words:?}: {} hits of {ranked} passages; opened {:.1} ms, ranked {:.1} ms, ranked again with excerpts {:.1} ms",
        hits.len(),
        opened.as_secs_f64() * 1e3,
        (found - opened).as_secs_f64() * 1e3,
        (start.elapsed() - found).as_secs_f64() * 1e3
    );
    Ok(())
}

fn table(folder: &Path) -> PathBuf {
    folder.join("fts5.db")
}

/// A plain FTS5 table over the same passages, without the texts as well.
fn fts(folder: &Path) -> anyhow::Result<()> {
    let start = Instant::now();
    let connection = rusqlite::Connection::open(table(folder))?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
         CREATE VIRTUAL TABLE said USING fts5(text, content='', tokenize='porter unicode61');",
    )?;
    let mut rows = 0_i64;
    for batch in sources(folder)?.chunks(500) {
        let transaction = connection.unchecked_transaction()?;
        let mut insert = transaction.prepare_cached("INSERT INTO said(rowid, text) VALUES(?1, ?2)")?;
        for source in batch {
            let (mut seen, mut passages) = (SeenParts::default(), PassageReader::default());
            read(fs::File::open(&source.path)?, &mut |event| {
                if let Event::Change(change) = event
                    && let Some(message) = seen.new_parts(&change)
                {
                    passages.read(&message, &mut |passage| {
                        rows += 1;
                        insert.execute(rusqlite::params![rows, passage.text()]).expect("a row");
                    });
                }
            })?;
        }
        drop(insert);
        transaction.commit()?;
    }
    println!(
        "FTS5: {rows} rows in {:.1} s, {:.1} MB",
        start.elapsed().as_secs_f64(),
        fs::metadata(table(folder))?.len() as f64 / 1e6
    );
    Ok(())
}

fn fts_query(folder: &Path, words: &str) -> anyhow::Result<()> {
    let start = Instant::now();
    let connection = rusqlite::Connection::open(table(folder))?;
    let any: Vec<String> = words.split(' ').map(|word| format!("\"{word}\"")).collect();
    let mut statement =
        connection.prepare("SELECT rowid FROM said WHERE said MATCH ?1 ORDER BY bm25(said) LIMIT 5")?;
    let hits = statement.query_map([any.join(" OR ")], |row| row.get::<_, i64>(0))?.count();
    println!("{words:?} in FTS5: {hits} hits; {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    Ok(())
}
