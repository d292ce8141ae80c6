//! Whatever is called, with whatever arguments, nothing but sessions of the index and skills is read, and nothing but the inbox
//! is written.

use longhaul_conversation::CallId;
use longhaul_tools::{PermittedEffects, ToolInvocation, ToolOutcome};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// Stands in every file that must not be read.
const CANARY: &str = "the canary sings";

/// A trial with files that must not be read, and links that lead to them from places that may be.
fn cage() -> Trial {
    let trial = released().skill("skills", "tides");
    let root = trial.root.path();
    fs::create_dir_all(root.join("skills/tides/scripts")).unwrap();
    fs::write(root.join("skills/tides/scripts/up.sh"), "echo tide\n").unwrap();
    for place in ["outside.md", "home/settings.json", "chats.jsonl", "SKILL.md", "outside/SKILL.md"] {
        let file = root.join(place);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, CANARY).unwrap();
    }
    let skills = trial.project.extracted_skills();
    fs::create_dir_all(skills.join("waiting")).unwrap();
    fs::write(skills.join("waiting/SKILL.md"), skill_text("waiting")).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;

        symlink(root.join("outside.md"), root.join("skills/tides/link.md")).unwrap();
        symlink(root, root.join("skills/tides/up")).unwrap();
        symlink(root.join("outside"), skills.join("linked")).unwrap();
        symlink(root.join("outside.md"), skills.join("waiting/link.md")).unwrap();
        symlink(root.join("outside"), skills.join("waiting/scripts")).unwrap();
    }
    trial
}

fn tools(trial: &Trial) -> Vec<ExtractorTool> {
    let ExtractorTask { index, digests, skills, inbox, facts, read, .. } = trial.task();
    let review = Arc::new(DraftReview {
        library: SessionLibrary::new(index, &digests, read),
        skills,
        inbox,
        facts,
        at: Timestamp::from_millis(AT),
        work: Mutex::default(),
    });
    ExtractorToolKind::ALL
        .into_iter()
        .map(|kind| ExtractorTool { kind, review: Arc::clone(&review) })
        .collect()
}

fn call(tool: &ExtractorTool, args: &Value) -> ToolOutcome {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (id, cancel) = (CallId::from("c1"), CancellationToken::new());
    let _ = tool.preview(args);
    runtime
        .block_on(tool.run(ToolInvocation {
            id: &id,
            args,
            progress: &|_| {},
            cancel: &cancel,
            permitted: PermittedEffects::Any,
        }))
        .outcome
}

/// Paths and names, good and bad, in pieces that are put together.
fn names() -> impl Strategy<Value = String> {
    let pieces = vec![
        "..",
        "/",
        ".",
        "~",
        "SKILL.md",
        "outside.md",
        "outside",
        "scripts",
        "up.sh",
        "tides",
        "waiting",
        "linked",
        "link.md",
        "up",
        "chats",
        "a.jsonl",
        "a",
        "b",
        "%2e%2e%2f",
        "%00",
        "\0",
        "\\",
        "..\\",
        "file://",
        "home",
        "settings.json",
        "\u{2025}",
        "\u{ff0e}\u{ff0e}",
        " ",
        "\n",
        "{root}",
        "skills",
        ".inbox",
        "m1",
        "release-it",
        "chats/a.jsonl",
    ];
    vec(select(pieces), 1..5).prop_flat_map(|pieces| {
        select(vec![
            pieces.join("/"),
            pieces.concat(),
            format!("/{}", pieces.join("/")),
            format!("../{}", pieces.join("/../")),
        ])
    })
}

/// A call of any tool.
fn calls() -> impl Strategy<Value = (usize, Value)> {
    let confidence = select(vec!["high", "medium", "low"]);
    (0..ExtractorToolKind::ALL.len(), names(), names(), names(), confidence).prop_map(|(kind, one, two, three, confidence)| {
        let args = match ExtractorToolKind::ALL[kind] {
            ExtractorToolKind::ReadSession => json!({"session": one, "from": two}),
            ExtractorToolKind::SearchSessions => json!({"text": one}),
            ExtractorToolKind::ReadSkill => json!({"name": one, "file": two}),
            ExtractorToolKind::WriteSkill => json!({
                "content": skill_text(&one), "confidence": confidence, "reason": "It is of use.",
                "scripts": [{"name": two, "content": format!("usage: {three}")}],
                "evidence": [{"session": "a", "marks": ["m2", "m5"]}, {"session": three, "marks": ["m1"]}],
            }),
            ExtractorToolKind::ProposeFact => json!({
                "kind": if confidence == "high" { "private" } else { "global" }, "fact": format!("Always {one}"),
                "quote": two, "session": three, "mark": "m1",
            }),
        };
        (kind, args)
    })
}

/// Replaces what stands for the folder of the trial.
fn at_root(value: &Value, root: &str) -> Value {
    serde_json::from_str(&value.to_string().replace("{root}", root)).unwrap_or_else(|_| value.clone())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_sequence_of_calls_reads_or_writes_anything_else(sequence in vec(calls(), 1..12)) {
        let trial = cage();
        let root = trial.root.path().display().to_string();
        let before = trial.files();
        let tools = tools(&trial);
        // Some of what follows needs a session that was read.
        call(&tools[0], &json!({"session": "a"}));
        for (kind, args) in sequence {
            let outcome = call(&tools[kind], &at_root(&args, &root));
            prop_assert!(!outcome.text().contains(CANARY), "{args}: {}", outcome.text());
        }
        let memory = trial.project.memory();
        let (skills, inbox) = (trial.project.extracted_skills(), memory.join(".inbox"));
        for (path, text) in trial.files() {
            if before.get(&path) == Some(&text) {
                continue;
            }
            prop_assert!(path.starts_with(&skills) || path.starts_with(&inbox), "{} was written", path.display());
        }
        for path in before.keys() {
            prop_assert!(path.exists() || path.starts_with(&skills), "{} is gone", path.display());
        }
    }
}

#[test]
fn good_calls_still_get_somewhere() {
    let trial = cage();
    let tools = tools(&trial);
    let skill = |file: &str| call(&tools[2], &json!({"name": "tides", "file": file}));
    assert!(matches!(skill("scripts/up.sh"), ToolOutcome::Succeeded(text) if text.contains("echo tide")));
    for file in ["link.md", "up/outside.md", "../../outside.md", "/etc/passwd", "up"] {
        assert!(matches!(skill(file), ToolOutcome::Failed(_)), "{file}");
    }
    let waiting = |name: &str, file: &str| call(&tools[2], &json!({"name": name, "file": file}));
    assert!(matches!(waiting("waiting", "SKILL.md"), ToolOutcome::Succeeded(_)));
    assert!(matches!(waiting("waiting", "link.md"), ToolOutcome::Failed(_)));
    assert!(matches!(waiting("linked", "SKILL.md"), ToolOutcome::Failed(_)));
}

#[cfg(unix)]
#[test]
fn what_waits_is_not_written_through_a_link() {
    let trial = cage();
    let tools = tools(&trial);
    call(&tools[0], &json!({"session": "a"}));
    call(&tools[0], &json!({"session": "b"}));
    let before = fs::read_dir(trial.root.path().join("outside")).unwrap().count();
    for name in ["waiting", "linked"] {
        let mut args = write(name, BOTH).1;
        args["scripts"] = json!([{"name": "up.sh", "content": "usage"}]);
        assert!(matches!(call(&tools[3], &args), ToolOutcome::Failed(_)), "{name}");
    }
    assert_eq!(fs::read_dir(trial.root.path().join("outside")).unwrap().count(), before);
    assert_eq!(fs::read_to_string(trial.root.path().join("outside/SKILL.md")).unwrap(), CANARY);
}

#[cfg(unix)]
#[test]
fn a_file_that_becomes_a_link_meanwhile_leads_nowhere() {
    use std::sync::atomic::AtomicBool;

    let trial = cage();
    let tools = tools(&trial);
    let folder = trial.root.path().join("skills/tides");
    let outside = trial.root.path().join("outside.md");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let (file, next) = (folder.join("note.md"), folder.join("next.md"));
                fs::write(&next, "a note\n").unwrap();
                fs::rename(&next, &file).unwrap();
                std::os::unix::fs::symlink(&outside, &next).unwrap();
                fs::rename(&next, &file).unwrap();
            }
        });
        for _ in 0..400 {
            let outcome = call(&tools[2], &json!({"name": "tides", "file": "note.md"}));
            if outcome.text().contains(CANARY) {
                is_over.store(true, Ordering::Relaxed);
                panic!("it was read");
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
