//! The tool `save_memory`: adds a fact to a memory file.

use std::path::PathBuf;

use longhaul_conversation::{Timestamp, ToolDeclaration};
use longhaul_memory::{
    Fact, FactScope, KnownMemory, MemoryError, MemorySettings, Places, Proposal, ProposedScope, SAVE_TOOL,
    SaveCall, parse_save_call, propose_scope, save_fact, save_failure, save_in_folder, save_schema,
    save_target,
};
use longhaul_tools::{BoxFuture, Preview, Tool, ToolAnswer, ToolDisplay, ToolInvocation};
use longhaul_workspace::LockTimeout;
use serde_json::Value;

/// The tool `save_memory`. What it saves applies from the next turn on.
pub struct SaveMemory {
    places: Places,
    settings: MemorySettings,
    private: fn() -> Option<PathBuf>,
    now: fn() -> Timestamp,
}

impl SaveMemory {
    /// Saves to the files of these places. The folder of private memory is asked for when it is needed: a project has none
    /// before its first session is begun.
    pub fn new(
        places: Places,
        settings: MemorySettings,
        private: fn() -> Option<PathBuf>,
        now: fn() -> Timestamp,
    ) -> Self {
        Self { places, settings, private, now }
    }

    /// Parses a call.
    fn parse(&self, args: &Value) -> Result<SaveRequest, String> {
        let SaveCall { fact, scope: stated } = parse_save_call(args)?;
        let failed = |error: MemoryError| save_failure(&error).to_string();
        let fact = Fact::parse(&fact).map_err(failed)?;
        let proposed = propose_scope(fact.as_str(), &self.places);
        let note = match &stated {
            Some(_) => None,
            None => Some(note_of(&proposed)),
        };
        let scope = stated.unwrap_or(proposed.scope);
        let is_trusted = self.places.workspace().is_some_and(|workspace| workspace.is_trusted);
        if scope != FactScope::Global && !is_trusted {
            return Err("Nothing is saved for this project, because its folder is not trusted. \
                        Tell the user, who can run `longhaul trust add`; what holds in every project can be \
                        saved with the scope \"global\"."
                .to_string());
        }
        let private = self.places.private.clone().or_else(self.private);
        let places = Places { private, ..self.places.clone() };
        let target = |scope| save_target(scope, &places, &self.settings).map_err(failed);
        let lock = match &scope {
            FactScope::Folder(_) => Some(target(FactScope::Global)?),
            FactScope::Global | FactScope::Project => None,
        };
        let path = target(scope.clone())?;
        let known = KnownMemory::load(&scope, &path, &places, &self.settings);
        Ok(SaveRequest { path, fact, known, lock, note })
    }

    /// The change that a call would make.
    fn propose(&self, SaveRequest { path, fact, known, .. }: &SaveRequest) -> Result<Proposal, String> {
        Proposal::load(path, fact, known.clone(), (self.now)())
            .map_err(|error| save_failure(&error).to_string())
    }

    fn save(&self, args: &Value) -> Result<ToolAnswer, String> {
        // Somebody else may have changed the file since the user was asked: the fact is added to what it holds now.
        let target = self.parse(args)?;
        let diff = shown(&self.propose(&target)?, &target);
        let SaveRequest { path, fact, known, lock, note } = target;
        let saved = match &lock {
            Some(lock) => save_in_folder(&path, lock, &fact, known, (self.now)(), LockTimeout::default()),
            None => save_fact(&path, &fact, known, (self.now)(), LockTimeout::default()),
        };
        let saved = saved.map_err(|error| save_failure(&error).to_string())?;
        let mut message = saved.to_json();
        if let Some(note) = note {
            message["message"] = Value::from(format!("{saved} {note}"));
        }
        let answer =
            ToolAnswer::succeeded(message.to_string()).shown(ToolDisplay::Diff { path: path.clone(), diff });
        // What stands in a project is read again at once; the user's own memory with the next turn.
        Ok(if lock.is_some() { answer.touching([path]) } else { answer })
    }
}

/// The fact of a call and the file it is saved to.
struct SaveRequest {
    path: PathBuf,
    fact: Fact,
    /// What is remembered elsewhere.
    known: KnownMemory,
    /// The file beside which a lock is made, where that is another one.
    lock: Option<PathBuf>,
    /// A note on the scope that was chosen, if the call does not state one.
    note: Option<String>,
}

/// A note on the scope of a fact that does not state it.
fn note_of(ProposedScope { scope, is_clear }: &ProposedScope) -> String {
    let place = match scope {
        FactScope::Global => "It holds in every project".to_string(),
        FactScope::Project => "It holds in this project, for this user alone".to_string(),
        FactScope::Folder(folder) => format!("It holds in {}, for everybody", folder.display()),
    };
    match is_clear {
        true => format!("{place}, as its words say."),
        false => format!(
            "{place}, though its words leave that open: if it matters, ask the user, and state the scope next time."
        ),
    }
}

/// A change as a person reads it: the diff, and what the file says about it already.
fn shown(proposal: &Proposal, target: &SaveRequest) -> String {
    let remarks = proposal.remark().into_iter().chain(target.note.clone());
    remarks.fold(proposal.diff(), |diff, remark| format!("{diff}\\ {remark}\n"))
}

impl Tool for SaveMemory {
    fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: SAVE_TOOL.to_string(),
            description:
                "Remembers one fact beyond this session, in a memory file of the user or of the project."
                    .to_string(),
            parameters: save_schema(),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        let target = self.parse(args)?;
        let diff = shown(&self.propose(&target)?, &target);
        Ok(Preview::Change { path: target.path, diff })
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async move { self.save(call.args).unwrap_or_else(ToolAnswer::failed) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::CallId;
    use longhaul_memory::WorkFolder;
    use longhaul_tools::ToolOutcome;
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    /// A home, and the folder of a project in it.
    fn places(folder: &std::path::Path, is_trusted: bool) -> Places {
        let workspace = WorkFolder { path: folder.join("work"), is_trusted };
        let (home, private) = (Some(folder.to_path_buf()), Some(folder.join("private")));
        Places { home, private, folders: vec![workspace], ..Places::default() }
    }

    fn tool(places: Places) -> SaveMemory {
        SaveMemory::new(places, MemorySettings::default(), || None, || Timestamp::from_millis(0))
    }

    async fn run(tool: &SaveMemory, args: Value) -> ToolAnswer {
        let (id, cancel) = (CallId::from("c1"), CancellationToken::new());
        tool.run(ToolInvocation {
            id: &id,
            args: &args,
            progress: &|_| {},
            cancel: &cancel,
            permitted: longhaul_tools::PermittedEffects::Any,
        })
        .await
    }

    #[tokio::test]
    async fn a_fact_is_previewed_saved_once_and_never_a_secret() {
        let folder = tempfile::tempdir().unwrap();
        let tool = tool(places(folder.path(), true));
        let args = json!({"fact": "Prefers tabs."});
        let Ok(Preview::Change { path, diff }) = tool.preview(&args) else { panic!("a change") };
        assert!(diff.contains("+- Prefers tabs.") && !path.exists());
        assert!(matches!(run(&tool, args.clone()).await.outcome, ToolOutcome::Succeeded(_)));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(run(&tool, args).await.outcome.text().contains("already"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        let secret = json!({"fact": "The key is ghp_16C7e42F292c6912E7710c838347Ae178B4a"});
        let refused = tool.preview(&secret).unwrap_err();
        assert!(refused.contains("secret (github)") && refused.contains("\"success\":false"), "{refused}");
    }

    #[tokio::test]
    async fn what_the_file_says_already_is_told_to_the_user_and_the_model() {
        let folder = tempfile::tempdir().unwrap();
        let tool = tool(places(folder.path(), true));
        std::fs::write(folder.path().join("GEMINI.md"), "# Rules\n- Use tabs\n").unwrap();
        for (fact, remark) in [
            ("Never use tabs", "Line 2 seems to contradict it: \"Use tabs\"."),
            ("Please use tabs.", "Line 2 says so already: \"Use tabs\"."),
        ] {
            let args = json!({"fact": fact, "scope": "global"});
            let Ok(Preview::Change { diff, .. }) = tool.preview(&args) else { panic!("a change") };
            assert_eq!(diff.lines().last(), Some(format!("\\ {remark}").as_str()));
        }
        let answer = run(&tool, json!({"fact": "Never use tabs", "scope": "global"})).await;
        assert!(answer.outcome.text().contains("Ask the user which one holds"), "{:?}", answer.outcome);
        assert!(
            matches!(answer.shown, ToolDisplay::Diff { diff, .. } if diff.contains("seems to contradict it"))
        );
    }

    #[tokio::test]
    async fn a_project_has_its_own_facts_where_it_is_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let args = json!({"fact": "Tests run with pnpm", "scope": "project"});
        let untrusted = tool(places(folder.path(), false));
        assert!(untrusted.preview(&args).unwrap_err().contains("not trusted"));
        assert!(matches!(run(&untrusted, args.clone()).await.outcome, ToolOutcome::Failed(_)));
        assert!(!folder.path().join("private").exists());
        // What is the user's own does not depend on the folder.
        assert!(untrusted.preview(&json!({"fact": "Prefers tabs"})).is_ok());
        assert!(matches!(
            run(&tool(places(folder.path(), true)), args).await.outcome,
            ToolOutcome::Succeeded(_)
        ));
        let saved = std::fs::read_to_string(folder.path().join("private/GEMINI.md")).unwrap();
        assert!(saved.contains("- Tests run with pnpm"), "{saved}");
    }

    /// A home beside the project.
    fn apart(folder: &std::path::Path) -> Places {
        Places { home: Some(folder.join("home")), ..places(folder, true) }
    }

    #[track_caller]
    fn check_proposed(fact: &str, file: &str, told: &str) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("work/docs")).unwrap();
        let tool = tool(apart(folder.path()));
        let args = json!({"fact": fact});
        let Ok(Preview::Change { path, diff }) = tool.preview(&args) else { panic!("a change") };
        assert!(path.ends_with(file) && diff.trim_end().ends_with(told), "{diff}");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let answer = runtime.block_on(run(&tool, args));
        assert!(answer.outcome.text().contains(told), "{answer:?}");
        assert!(std::fs::read_to_string(folder.path().join(file)).unwrap().contains(fact));
        // No lock is left in a project.
        assert_eq!(
            std::fs::read_dir(folder.path().join("work/docs")).unwrap().count(),
            usize::from(file.contains("docs"))
        );
    }

    #[test]
    fn words_say_where_a_fact_holds_that_has_no_scope() {
        check_proposed("I prefer tabs", "home/GEMINI.md", "It holds in every project, as its words say.");
        check_proposed(
            "In this project use tabs",
            "private/GEMINI.md",
            "for this user alone, as its words say.",
        );
        check_proposed(
            "In docs/ use tabs",
            "work/docs/GEMINI.md",
            "work/docs, for everybody, as its words say.",
        );
        check_proposed(
            "The port is 8080",
            "private/GEMINI.md",
            "ask the user, and state the scope next time.",
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_whose_file_is_a_link_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("work/docs")).unwrap();
        std::os::unix::fs::symlink("../../.bashrc", folder.path().join("work/docs/GEMINI.md")).unwrap();
        let refused = tool(apart(folder.path())).preview(&json!({"fact": "In docs/ use tabs"}));
        assert!(refused.unwrap_err().contains("which is a link"));
    }
}
