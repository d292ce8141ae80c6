//! Drives `longhaul blame` over a repository whose every line has a known author.

mod sandbox;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use sandbox::{Sandbox, check_has};
use serde_json::{Value, json};

/// The author of a line: the request of an agent, or anything else, which leaves no edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Author {
    Request { session: usize, request: usize },
    Other,
}

/// A session of an agent that works on the repository.
struct Session {
    id: String,
    is_codex: bool,
    log: String,
    requests: usize,
    calls: usize,
}

/// The commit of a line, and its session and request.
type SaidLine = (Option<String>, Option<(String, String)>);

/// A repository, what happens in it, and who wrote what.
struct World {
    sandbox: Sandbox,
    /// Seconds since 2026-11-01T08:00:00Z.
    clock: u64,
    random: u64,
    words: usize,
    sessions: Vec<Session>,
    files: Vec<(&'static str, Vec<(String, Author)>)>,
}

impl World {
    fn new() -> Self {
        let session = |number: usize, is_codex| {
            let id = format!("{number:08x}-0000-7000-8000-000000000000");
            Session { id, is_codex, log: String::new(), requests: 0, calls: 0 }
        };
        let sessions = vec![session(1, false), session(2, true), session(3, false)];
        let files = vec![("src/cart.rs", Vec::new()), ("src/price.rs", Vec::new()), ("notes.md", Vec::new())];
        let world = Self { sandbox: Sandbox::new(), clock: 0, random: 7, words: 0, sessions, files };
        std::fs::create_dir_all(world.path("src")).expect("made");
        world.git(&["init", "-q", "-b", "main"]);
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    fn root(&self) -> PathBuf {
        let root = self.sandbox.path("repository");
        std::fs::create_dir_all(&root).expect("made");
        root.canonicalize().expect("it is there")
    }

    fn at(&self) -> String {
        let (hours, rest) = (8 + self.clock / 3600, self.clock % 3600);
        format!("2026-11-{:02}T{:02}:{:02}:{:02}Z", 1 + hours / 24, hours % 24, rest / 60, rest % 60)
    }

    fn git(&self, arguments: &[&str]) {
        let at = self.at();
        let done = Command::new("git")
            .args(["-c", "user.name=Dev", "-c", "user.email=dev@example.org", "-c", "commit.gpgsign=false"])
            .args(arguments)
            .current_dir(self.root())
            .env("GIT_AUTHOR_DATE", &at)
            .env("GIT_COMMITTER_DATE", &at)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .expect("git runs");
        assert!(done.status.success(), "{arguments:?}: {}", sandbox::text(&done.stderr));
    }

    fn random(&mut self, below: usize) -> usize {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as usize % below.max(1)
    }

    /// Lines of code, some of which stand in every file.
    fn new_lines(&mut self) -> Vec<String> {
        self.words += 1;
        let word = self.words;
        let mut lines = vec![
            format!("fn step_{word}(cart: &mut Cart) {{"),
            format!("    cart.add(item_{word}, {word});"),
        ];
        for more in 0..self.random(4) {
            lines.push(format!("    cart.check_{more}(limit_{word});"));
        }
        lines.extend(["}".to_owned(), String::new()]);
        lines
    }

    fn text(&self, file: usize) -> String {
        self.files[file].1.iter().flat_map(|(line, _)| [line.as_str(), "\n"]).collect()
    }

    fn save(&self, file: usize) {
        std::fs::write(self.path(self.files[file].0), self.text(file)).expect("written");
    }

    /// A change somewhere in a file: the lines that go, those that come, and where.
    fn change(&mut self, file: usize) -> (usize, usize, Vec<String>) {
        let count = self.files[file].1.len();
        let new = self.new_lines();
        match self.random(3) {
            // In place of a few lines.
            0 if count > 6 => {
                let start = self.random(count - 3);
                (start, 1 + self.random(3), new)
            }
            // Behind a line.
            _ => (self.random(count + 1), 0, new),
        }
    }

    fn splice(&mut self, file: usize, (start, gone, new): &(usize, usize, Vec<String>), author: Author) {
        let new = new.iter().map(|line| (line.clone(), author));
        self.files[file].1.splice(*start..*start + *gone, new);
    }

    /// A request of a session.
    fn ask(&mut self, session: usize) {
        self.clock += 20;
        let at = self.at();
        let root = self.root();
        let Session { id, is_codex, log, requests, .. } = &mut self.sessions[session];
        *requests += 1;
        let asked = format!("request {requests} of {id}");
        let line = match is_codex {
            true => {
                if log.is_empty() {
                    let meta =
                        json!({"timestamp": at, "type": "session_meta", "payload": {"id": id, "cwd": root}});
                    writeln!(log, "{meta}").expect("text");
                }
                json!({"timestamp": at, "type": "response_item", "payload": {"type": "message", "role": "user",
                    "content": [{"type": "input_text", "text": asked}]}})
            }
            false => json!({"type": "user", "uuid": format!("u{requests}"), "sessionId": id, "cwd": root,
                "timestamp": at, "message": {"role": "user", "content": asked}}),
        };
        writeln!(log, "{line}").expect("text");
    }

    /// An edit by a session, which may fail.
    fn edit(&mut self, session: usize, file: usize, is_failure: bool) {
        self.clock += 10;
        let change = self.change(file);
        let (start, gone, new) = &change;
        let lines: Vec<String> = self.files[file].1.iter().map(|(line, _)| line.clone()).collect();
        let whole = lines.join("\n");
        // As much around the change as makes it the only such place.
        let (mut first, mut last) = (*start, start + gone);
        while first > 0 || last < lines.len() {
            let old = lines[first..last].join("\n");
            if !old.is_empty() && whole.matches(&old).count() == 1 {
                break;
            }
            first = first.saturating_sub(1);
            last = (last + 1).min(lines.len());
        }
        let before = lines[first..*start].iter();
        let after = lines[start + gone..last].iter();
        let new: Vec<String> = before.chain(new).chain(after).cloned().collect();
        let path = self.path(self.files[file].0);
        let number = {
            self.sessions[session].calls += 1;
            self.sessions[session].calls
        };
        let at = self.at();
        let root = self.root();
        let Session { id, is_codex, log, requests, .. } = &mut self.sessions[session];
        let is_new = lines.is_empty();
        if *is_codex {
            let mut patch = String::from("*** Begin Patch\n");
            match is_new {
                true => writeln!(patch, "*** Add File: {}", self.files[file].0).expect("text"),
                false => writeln!(patch, "*** Update File: {}\n@@", self.files[file].0).expect("text"),
            }
            lines[first..last].iter().for_each(|line| writeln!(patch, "-{line}").expect("text"));
            new.iter().for_each(|line| writeln!(patch, "+{line}").expect("text"));
            patch.push_str("*** End Patch");
            let exit = i32::from(is_failure);
            for payload in [
                json!({"type": "custom_tool_call", "name": "apply_patch", "input": patch, "call_id": format!("c{number}")}),
                json!({"type": "custom_tool_call_output", "call_id": format!("c{number}"),
                    "output": json!({"output": "done", "metadata": {"exit_code": exit}}).to_string()}),
            ] {
                let line = json!({"timestamp": at, "type": "response_item", "payload": payload});
                writeln!(log, "{line}").expect("text");
            }
        } else {
            let (name, input) = match is_new {
                true => ("Write", json!({"file_path": path, "content": new.join("\n") + "\n"})),
                false => (
                    "Edit",
                    json!({"file_path": path, "old_string": lines[first..last].join("\n"), "new_string": new.join("\n")}),
                ),
            };
            let call =
                json!([{"type": "tool_use", "id": format!("t{number}"), "name": name, "input": input}]);
            let result = json!([{"type": "tool_result", "tool_use_id": format!("t{number}"), "is_error": is_failure,
                "content": if is_failure { "String to replace not found" } else { "The file has been updated" }}]);
            for (kind, role, content) in [("assistant", "assistant", call), ("user", "user", result)] {
                let line = json!({"type": kind, "uuid": format!("{role}-{number}"), "sessionId": id, "cwd": root,
                    "timestamp": at, "message": {"role": role, "content": content, "id": format!("m{number}")}});
                writeln!(log, "{line}").expect("text");
            }
        }
        let author = Author::Request { session, request: *requests };
        if !is_failure {
            self.splice(file, &change, author);
            self.save(file);
        }
    }

    /// A change that no session knows of.
    fn type_by_hand(&mut self, file: usize) {
        self.clock += 10;
        let change = self.change(file);
        self.splice(file, &change, Author::Other);
        self.save(file);
    }

    fn commit(&mut self, files: &[usize]) {
        self.clock += 60;
        for file in files {
            if !self.files[*file].1.is_empty() {
                self.git(&["add", self.files[*file].0]);
            }
        }
        self.git(&["commit", "-q", "--allow-empty", "-m", "a step"]);
        self.clock += 60;
    }

    fn write_sessions(&self) {
        for Session { id, is_codex, log, .. } in &self.sessions {
            let path = match is_codex {
                true => format!("user/.codex/sessions/2026/11/01/rollout-2026-11-01T08-00-00-{id}.jsonl"),
                false => format!("user/.claude/projects/-repository/{id}.jsonl"),
            };
            let path = self.sandbox.path(&path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, log).expect("written");
        }
    }

    fn blame(&self, arguments: &[&str]) -> Value {
        let arguments = [&["blame", "--json"], arguments].concat();
        let output = self.sandbox.command(&arguments).current_dir(self.root()).output().expect("it runs");
        assert!(output.status.success(), "{}", sandbox::text(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("one object")
    }

    /// The commit, and the session and the request, that each line is said to be of.
    fn said(&self, name: &str) -> Vec<SaidLine> {
        let report = self.blame(&[name]);
        let mut lines = Vec::new();
        for hunk in report["hunks"].as_array().expect("hunks") {
            let text = |value: &Value| value.as_str().expect("text").to_owned();
            let by =
                hunk["by"].is_object().then(|| (text(&hunk["by"]["session"]), text(&hunk["by"]["request"])));
            let commit = hunk["commit"].as_str().map(str::to_owned);
            let count = hunk["last"].as_u64().expect("a line") - hunk["first"].as_u64().expect("a line") + 1;
            (0..count).for_each(|_| lines.push((commit.clone(), by.clone())));
        }
        lines
    }
}

#[test]
fn nine_of_ten_hunks_are_attributed_and_none_wrongly() {
    let mut world = World::new();
    for round in 0..60 {
        for _ in 0..=world.random(3) {
            let file = world.random(3);
            match world.random(10) {
                0 | 1 => world.type_by_hand(file),
                2 => {
                    world.ask(0);
                    world.edit(0, file, true);
                }
                _ => {
                    let session = world.random(3);
                    if world.sessions[session].requests == 0 || world.random(2) == 0 {
                        world.ask(session);
                    }
                    for _ in 0..=world.random(2) {
                        world.edit(session, file, false);
                    }
                }
            }
        }
        // What is left out of a commit comes with a later one.
        match round % 4 {
            3 => world.commit(&[0]),
            _ => world.commit(&[0, 1, 2]),
        }
    }
    world.commit(&[0, 1, 2]);
    world.write_sessions();
    let (mut hunks, mut attributed, mut by_hand, mut wrong) = (0, 0, 0, Vec::new());
    for (name, lines) in &world.files {
        let said = world.said(name);
        assert_eq!(said.len(), lines.len(), "{name}");
        let mut place = 0;
        while place < lines.len() {
            let author = lines[place].1;
            let mut end = place + 1;
            while end < lines.len() && lines[end].1 == author && said[end].0 == said[place].0 {
                end += 1;
            }
            let expected = match author {
                Author::Request { session, request } => {
                    let id = &world.sessions[session].id;
                    Some((id.clone(), format!("request {request} of {id}")))
                }
                Author::Other => None,
            };
            assert!(said[place].0.is_some(), "all is committed");
            for line in place..end {
                // Lines that all files have say little: `}` and empty ones may be taken for those of a neighbour.
                let is_telling = lines[line].0.len() > 2;
                if said[line].1.is_some() && said[line].1 != expected && is_telling {
                    wrong.push((
                        name,
                        line + 1,
                        lines[line].0.clone(),
                        said[line].1.clone(),
                        expected.clone(),
                    ));
                }
            }
            let telling: Vec<usize> = (place..end).filter(|line| lines[*line].0.len() > 2).collect();
            if !telling.is_empty() {
                match expected.is_some() {
                    true => {
                        hunks += 1;
                        attributed += usize::from(telling.iter().all(|line| said[*line].1 == expected));
                    }
                    false => by_hand += 1,
                }
            }
            place = end;
        }
    }
    println!(
        "{attributed} of {hunks} hunks of sessions attributed, {by_hand} by hand left unknown, {} lines wrong",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(hunks > 60 && by_hand > 10, "{hunks} {by_hand}");
    assert!(attributed * 10 >= hunks * 9, "{attributed} of {hunks}");
}

#[test]
fn a_line_names_its_request_and_how_to_open_it() {
    let mut world = World::new();
    world.ask(0);
    world.edit(0, 0, false);
    world.commit(&[0]);
    world.type_by_hand(0);
    world.ask(1);
    world.edit(1, 1, false);
    world.write_sessions();
    let committed =
        world.files[0].1.iter().position(|(_, author)| *author != Author::Other).expect("one") + 1;
    let run = |arguments: &[&str]| {
        let output = world.sandbox.command(arguments).current_dir(world.root()).output().expect("it runs");
        (output.status.success(), sandbox::text(&output.stdout), sandbox::text(&output.stderr))
    };
    let (is_done, said, _) = run(&["blame", &format!("src/cart.rs:{committed}")]);
    assert!(is_done);
    let id = &world.sessions[0].id;
    check_has(
        &said,
        &["claude", &format!("request 1 of {id}"), &format!("resume: claude --resume {id}"), "--around 2"],
    );
    // What is typed by hand is unknown, also before it is committed; a file that git does not know has no commit.
    let typed = world.files[0].1.iter().position(|(_, author)| *author == Author::Other).expect("one") + 1;
    check_has(&run(&["blame", &format!("src/cart.rs:{typed}")]).1, &["unknown", "not committed"]);
    check_has(&run(&["blame", "src/price.rs:1"]).1, &["codex", "not committed", "request 1 of"]);
    // A session that only the archive still has is known as well.
    assert!(run(&["archive", "sync"]).0);
    std::fs::remove_dir_all(world.sandbox.path("user/.claude")).expect("the agent deletes it");
    let (_, said, _) = run(&["blame", &format!("src/cart.rs:{committed}")]);
    check_has(&said, &["claude", &format!("request 1 of {id}")]);
    assert!(!said.contains("resume:"), "{said}");
    for (arguments, reason) in [
        (&["blame", "none.rs"], "none.rs"),
        (&["blame", "src/cart.rs:9999"], "no line 9999"),
        (&["blame", "../in.jsonl"], "not in a git repository"),
    ] {
        let (is_done, _, said) = run(arguments);
        assert!(!is_done && said.starts_with("error:") && said.contains(reason), "{said}");
    }
}
