//! The tool `save_memory`: adds a fact to a memory file.

use longhaul_conversation::{Timestamp, ToolDeclaration};
use longhaul_memory::{
    Fact, MemorySettings, Places, Proposal, SAVE_TOOL, parse_save_call, save_fact, save_failure, save_schema,
    save_target,
};
use longhaul_tools::{Answer, BoxFuture, Call, Preview, Shown, Tool};
use longhaul_workspace::Patience;
use serde_json::Value;

/// The tool `save_memory`. What it saves counts from the next turn on.
pub struct SaveMemory {
    places: Places,
    settings: MemorySettings,
    now: fn() -> Timestamp,
}

impl SaveMemory {
    /// Saves to the files of these places.
    pub fn new(places: Places, settings: MemorySettings, now: fn() -> Timestamp) -> Self {
        Self { places, settings, now }
    }

    /// The change that a call would make.
    fn propose(&self, args: &Value) -> Result<Proposal, String> {
        let call = parse_save_call(args)?;
        let fact = Fact::parse(&call.fact).map_err(|error| error.to_string())?;
        let path =
            save_target(call.scope, &self.places, &self.settings).map_err(|error| error.to_string())?;
        Proposal::load(&path, &fact, (self.now)()).map_err(|error| error.to_string())
    }

    fn save(&self, args: &Value) -> Result<Answer, String> {
        let proposal = self.propose(args)?;
        let (path, diff) = (proposal.path().to_path_buf(), proposal.diff());
        let call = parse_save_call(args)?;
        let fact = Fact::parse(&call.fact).map_err(|error| error.to_string())?;
        let saved = save_fact(&path, &fact, (self.now)(), Patience::default());
        Ok(match saved {
            Ok(saved) => Answer::succeeded(saved.to_json().to_string()).shown(Shown::Diff { path, diff }),
            Err(error) => Answer::failed(save_failure(&error).to_string()),
        })
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
        let proposal = self.propose(args)?;
        Ok(Preview::Change { path: proposal.path().to_path_buf(), diff: proposal.diff() })
    }

    fn run<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async move { self.save(call.args).unwrap_or_else(Answer::failed) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::CallId;
    use longhaul_tools::Outcome;
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    #[tokio::test]
    async fn a_fact_is_previewed_saved_once_and_never_a_secret() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { home: Some(folder.path().to_path_buf()), ..Places::default() };
        let tool = SaveMemory::new(places, MemorySettings::default(), || Timestamp::from_millis(0));
        let args = json!({"fact": "Prefers tabs."});
        let Ok(Preview::Change { path, diff }) = tool.preview(&args) else { panic!("a change") };
        assert!(diff.contains("+- Prefers tabs.") && !path.exists());
        let (id, cancel) = (CallId::from("c1"), CancellationToken::new());
        let run =
            async |args: &Value| tool.run(Call { id: &id, args, progress: &|_| {}, cancel: &cancel }).await;
        assert!(matches!(run(&args).await.outcome, Outcome::Succeeded(_)));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(run(&args).await.outcome.text().contains("already"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        let secret = json!({"fact": "The key is ghp_16C7e42F292c6912E7710c838347Ae178B4a"});
        assert!(matches!(run(&secret).await.outcome, Outcome::Failed(reason) if reason.contains("secret")));
    }
}
