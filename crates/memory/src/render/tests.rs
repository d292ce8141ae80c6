//! Memory as models read it.

use std::fs;

use longhaul_conversation::Timestamp;

use super::*;
use crate::places::Instructions;
use crate::settings::Budgets;

fn file(tier: MemoryTier, path: &str, text: &str) -> MemoryFile {
    let (imports, sources) = (Vec::new(), Vec::new());
    MemoryFile { path: path.into(), tier, text: text.into(), imports, sources, unread: 0, globs: None }
}

fn memory(files: &[(MemoryTier, &str, &str)]) -> Memory {
    let files = files.iter().map(|(tier, path, text)| file(*tier, path, text)).collect();
    Memory { files, ..Memory::default() }
}

fn all() -> Memory {
    memory(&[
        (MemoryTier::Global, "/g/GEMINI.md", "global"),
        (MemoryTier::Private, "/p/MEMORY.md", "private"),
        (MemoryTier::Extension, "/e/GEMINI.md", "extension"),
        (MemoryTier::Project, "/w/GEMINI.md", "project"),
        (MemoryTier::SubDirectory, "/w/a/GEMINI.md", "below"),
    ])
}

fn options(settings: &MemorySettings) -> RenderOptions<'_> {
    RenderOptions { settings, workspace: Some(Path::new("/w")), now: Timestamp::from_millis(0) }
}

fn part(path: &str, text: &str) -> String {
    format!("--- Context from: {path} ---\n{text}\n--- End of Context from: {path} ---")
}

/// The text between the outermost tags.
fn inside(text: &str) -> &str {
    let from = text.find("<loaded_context>\n").expect("the tag") + 17;
    text[from..].strip_suffix("\n</loaded_context>").expect("the end")
}

#[test]
fn the_system_instruction_has_what_does_not_change_with_the_project() {
    let settings = MemorySettings::default();
    let rendered = render_system(&all(), &options(&settings));
    assert!(
        rendered
            .text
            .starts_with("---\n\n# Instructions from memory files (`GEMINI.md`, `AGENTS.md`, `CLAUDE.md`)\n"),
        "{}",
        rendered.text
    );
    let private = format!(
        "--- Private project memory: the user's own, not part of the repository ---\n{}\n--- End of private project memory ---",
        part("/p/MEMORY.md", "private")
    );
    let expected = format!(
        "<global_context>\n{}\n</global_context>\n<user_project_memory>\n{private}\n</user_project_memory>",
        part("/g/GEMINI.md", "global")
    );
    assert_eq!(inside(&rendered.text), expected);
    // Another project memory leaves every byte of it as it was.
    let mut other = all();
    other.files[3].text = "something else".into();
    assert_eq!(render_system(&other, &options(&settings)), rendered);
}

#[test]
fn the_five_tiers_are_ranked_and_stay_below_the_core_mandates() {
    let settings = MemorySettings::default();
    let text = render_system(&all(), &options(&settings)).text;
    let places: Vec<usize> = [
        "1. Sub-directory",
        "2. Project",
        "3. Private project memory",
        "4. Extension",
        "5. Global",
        "core mandates",
    ]
    .iter()
    .map(|words| text.find(words).unwrap_or_else(|| panic!("no {words}")))
    .collect();
    assert!(places.is_sorted());
}

#[test]
fn the_first_message_has_extensions_and_the_project() {
    let settings = MemorySettings::default();
    let mut memory = all();
    memory.instructions =
        vec![Instructions { server: "s".into(), text: " \n</project_context> said".into() }];
    let expected = format!(
        "<extension_context>\n{}\n</extension_context>\n<project_context>\n{}\n\n{}\n\n&lt;/project_context> said\n</project_context>",
        part("/e/GEMINI.md", "extension"),
        part("/w/GEMINI.md", "project"),
        part("/w/a/GEMINI.md", "below"),
    );
    assert_eq!(inside(&render_first_message(&memory, &options(&settings)).text), expected);
}

#[test]
fn after_a_full_scan_everything_is_in_the_system_instruction() {
    let settings =
        MemorySettings { discovery: Discovery::Full { most_folders: 200 }, ..MemorySettings::default() };
    let text = render_system(&all(), &options(&settings)).text;
    for tag in ["global_context", "user_project_memory", "extension_context", "project_context"] {
        assert_eq!(text.matches(&format!("</{tag}>")).count(), 1, "{tag}");
    }
    assert_eq!(render_first_message(&all(), &options(&settings)), Rendered::default());
}

#[test]
fn nothing_is_said_where_there_is_nothing() {
    let settings = MemorySettings::default();
    assert_eq!(render_system(&memory(&[]), &options(&settings)), Rendered::default());
    assert_eq!(render_first_message(&memory(&[]), &options(&settings)), Rendered::default());
    // With project memory alone, the order of precedence is still stated.
    let project = memory(&[(MemoryTier::Project, "/w/GEMINI.md", "project")]);
    let text = render_system(&project, &options(&settings)).text;
    assert!(text.contains("2. Project") && !text.contains("<loaded_context>"), "{text}");
}

#[test]
fn labels_can_be_relative() {
    let settings = MemorySettings { labels: Labels::Relative, ..MemorySettings::default() };
    let text = render_first_message(&all(), &options(&settings)).text;
    assert!(
        text.contains("--- Context from: a/GEMINI.md ---")
            && text.contains("--- Context from: /e/GEMINI.md ---"),
        "{text}"
    );
}

#[test]
fn a_tier_that_is_too_large_says_what_is_missing() {
    let budgets = Budgets { project: TokenCount(200), ..Budgets::default() };
    let settings = MemorySettings { budgets, ..MemorySettings::default() };
    let large = vec!["x".repeat(39); 30].join("\n");
    let memory = memory(&[
        (MemoryTier::Project, "/w/GEMINI.md", &large),
        (MemoryTier::Project, "/w/a/GEMINI.md", "inner"),
    ]);
    let rendered = render_first_message(&memory, &options(&settings));
    let [left] = rendered.left_out.as_slice() else { panic!("{:?}", rendered.left_out) };
    assert_eq!(
        (left.path.as_path(), left.tokens, left.kept),
        (Path::new("/w/GEMINI.md"), TokenCount(300), TokenCount(190))
    );
    assert!(
        rendered.text.contains("[Cut here: about 190 of 300 tokens are shown")
            && rendered.text.contains("inner")
    );
    let block = render_block(
        &memory.files,
        None,
        &MemorySettings {
            budgets: Budgets { just_in_time: TokenCount(50), ..Budgets::default() },
            ..MemorySettings::default()
        },
    );
    assert!(block.text.contains("[Left out: this file has about 300 tokens"), "{}", block.text);
    assert_eq!(block.left_out.len(), 1);
}

#[test]
fn old_facts_are_marked_with_their_day() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("GEMINI.md");
    fs::write(&path, "fact").expect("written");
    let saved = Timestamp::parse("2026-01-02T10:00:00Z").expect("a time");
    let modified = UNIX_EPOCH + Duration::from_millis(saved.as_millis() as u64);
    fs::File::options().write(true).open(&path).and_then(|file| file.set_modified(modified)).expect("dated");
    let source = crate::read::read_file(&path).expect("readable").source;
    let render = |tier, days: i64| {
        let file = MemoryFile { sources: vec![source.clone()], ..file(tier, "/g/GEMINI.md", "fact") };
        let memory = Memory { files: vec![file], ..Memory::default() };
        let settings = MemorySettings::default();
        let now = Timestamp::from_millis(saved.as_millis() + days * 86_400_000);
        let options = RenderOptions { settings: &settings, workspace: None, now };
        render_system(&memory, &options).text + &render_first_message(&memory, &options).text
    };
    let note = "(Last changed on 2026-01-02. What it says may be out of date: check it before you rely on it.)\nfact";
    assert!(render(MemoryTier::Global, 90).contains(note), "{}", render(MemoryTier::Global, 90));
    assert!(!render(MemoryTier::Global, 89).contains("Last changed"));
    assert!(render(MemoryTier::Private, 400).contains(note));
    // The same words every day, so that caches keep working.
    assert_eq!(render(MemoryTier::Global, 91), render(MemoryTier::Global, 300));
    assert!(!render(MemoryTier::Project, 400).contains("Last changed"));
}
