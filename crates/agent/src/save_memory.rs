//! The tool `save_memory`: adds a fact to a memory file.

use std::path::{Path, PathBuf};

use longhaul_conversation::{Timestamp, ToolDeclaration};
use longhaul_memory::{
    Fact, MemorySettings, Places, Proposal, SAVE_TOOL, SaveCall, Scope, parse_save_call, save_fact,
    save_failure, save_schema, save_target,
};
use longhaul_tools::{Answer, BoxFuture, Call, Preview, Shown, Tool};
use longhaul_workspace::Patience;
use serde_json::Value;

/// The tool `save_memory`. What it saves counts from the next turn on.
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

    /// The file and the fact that a call means.
    fn parse(&self, args: &Value) -> Result<(PathBuf, Fact), String> {
        let SaveCall { fact, scope } = parse_save_call(args)?;
        if scope == Scope::Project && !self.places.workspace().is_some_and(|workspace| workspace.is_trusted) {
            return Err("Nothing is saved for this project, because its folder is not trusted. \
                        Tell the user, who can run `longhaul trust add`."
                .to_string());
        }
        let private = self.places.private.clone().or_else(self.private);
        let places = Places { private, ..self.places.clone() };
        let fact = Fact::parse(&fact).map_err(|error| save_failure(&error).to_string())?;
        let path =
            save_target(scope, &places, &self.settings).map_err(|error| save_failure(&error).to_string())?;
        Ok((path, fact))
    }

    /// The change that a call would make.
    fn propose(&self, path: &Path, fact: &Fact) -> Result<Proposal, String> {
        Proposal::load(path, fact, (self.now)()).map_err(|error| save_failure(&error).to_string())
    }

    fn save(&self, args: &Value) -> Result<Answer, String> {
        // Somebody else may have changed the file since the user was asked: the fact is added to what it holds now.
        let (path, fact) = self.parse(args)?;
        let diff = shown(&self.propose(&path, &fact)?);
        let saved = save_fact(&path, &fact, (self.now)(), Patience::default())
            .map_err(|error| save_failure(&error).to_string())?;
        Ok(Answer::succeeded(saved.to_json().to_string()).shown(Shown::Diff { path, diff }))
    }
}

/// A change as a person reads it: the diff, and what the file says about it already.
fn shown(proposal: &Proposal) -> String {
    match proposal.remark() {
        Some(remark) => format!("{}\\ {remark}\n", proposal.diff()),
        None => proposal.diff(),
    }
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
        let (path, fact) = self.parse(args)?;
        let diff = shown(&self.propose(&path, &fact)?);
        Ok(Preview::Change { path, diff })
    }

    fn run<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async move { self.save(call.args).unwrap_or_else(Answer::failed) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::CallId;
    use longhaul_memory::WorkFolder;
    use longhaul_tools::Outcome;
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

    async fn run(tool: &SaveMemory, args: Value) -> Answer {
        let (id, cancel) = (CallId::from("c1"), CancellationToken::new());
        tool.run(Call { id: &id, args: &args, progress: &|_| {}, cancel: &cancel }).await
    }

    #[tokio::test]
    async fn a_fact_is_previewed_saved_once_and_never_a_secret() {
        let folder = tempfile::tempdir().unwrap();
        let tool = tool(places(folder.path(), true));
        let args = json!({"fact": "Prefers tabs."});
        let Ok(Preview::Change { path, diff }) = tool.preview(&args) else { panic!("a change") };
        assert!(diff.contains("+- Prefers tabs.") && !path.exists());
        assert!(matches!(run(&tool, args.clone()).await.outcome, Outcome::Succeeded(_)));
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
            ("Never use tabs", "Line 2 seems to say the opposite: \"Use tabs\"."),
            ("Please use tabs.", "Line 2 says so already: \"Use tabs\"."),
        ] {
            let Ok(Preview::Change { diff, .. }) = tool.preview(&json!({"fact": fact})) else {
                panic!("a change")
            };
            assert_eq!(diff.lines().last(), Some(format!("\\ {remark}").as_str()));
        }
        let answer = run(&tool, json!({"fact": "Never use tabs"})).await;
        assert!(answer.outcome.text().contains("Ask the user which one holds"), "{:?}", answer.outcome);
        assert!(matches!(answer.shown, Shown::Diff { diff, .. } if diff.contains("the opposite")));
    }

    #[tokio::test]
    async fn a_project_has_its_own_facts_where_it_is_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let args = json!({"fact": "Tests run with pnpm", "scope": "project"});
        let untrusted = tool(places(folder.path(), false));
        assert!(untrusted.preview(&args).unwrap_err().contains("not trusted"));
        assert!(matches!(run(&untrusted, args.clone()).await.outcome, Outcome::Failed(_)));
        assert!(!folder.path().join("private").exists());
        // What is the user's own does not depend on the folder.
        assert!(untrusted.preview(&json!({"fact": "Prefers tabs"})).is_ok());
        assert!(matches!(run(&tool(places(folder.path(), true)), args).await.outcome, Outcome::Succeeded(_)));
        let saved = std::fs::read_to_string(folder.path().join("private/GEMINI.md")).unwrap();
        assert!(saved.contains("- Tests run with pnpm"), "{saved}");
    }
}
