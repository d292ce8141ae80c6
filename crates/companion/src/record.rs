//! The record of a session: what its user said and what was done, whatever the agent compacted away.

use std::io::Read;

use longhaul_conversation::{Body, Message, Ordinal, Origin, Part, Role, TokenCount};
use longhaul_directives::{QuotedRule, UserRequest, UserRequests, UserRule, UserRules};
use longhaul_formats::{HistoryStep, ReadError, read_history};
use longhaul_ledger::Ledger;

use crate::text::GUARD_TAG;

/// An error of the guard.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// The session cannot be read.
    #[error("could not read the session")]
    Session(#[from] ReadError),
    /// The file of the session cannot be opened.
    #[error("could not open the session's file")]
    Open(#[source] std::io::Error),
}

/// Rules, requests and work of a session, from everything that was said in it.
#[derive(Clone, Debug, Default)]
pub struct SessionRecord {
    /// The user's rules.
    pub rules: UserRules,
    /// The user's requests.
    pub requests: UserRequests,
    /// The work done by tools.
    pub ledger: Ledger,
    /// The newest message.
    pub last: Option<Ordinal>,
    /// The user's newest prompt, until the model has ended its turn with an answer.
    pub prompt: Option<Directive>,
    /// The agent's own compactions, oldest first.
    pub compactions: Vec<AgentCompaction>,
    /// True if the guard has spoken since the last compaction.
    pub is_guarded: bool,
}

/// A rule or a request of the user, word for word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// The message that says it first.
    pub message: Option<Ordinal>,
    /// Its words.
    pub text: String,
}

/// One of the agent's own compactions, with what held just before it.
#[derive(Clone, Debug, Default)]
pub struct AgentCompaction {
    /// The newest message before it.
    pub at: Option<Ordinal>,
    /// The size of the conversation before, estimated.
    pub before: TokenCount,
    /// The rules in force.
    pub rules: Vec<Directive>,
    /// The open requests.
    pub requests: Vec<Directive>,
    /// The changed files, by path.
    pub files: Vec<String>,
    /// The texts that the agent kept: its summary and what it left of the conversation.
    pub kept: Vec<String>,
}

impl SessionRecord {
    /// Reads the session of any agent.
    ///
    /// # Errors
    /// If it cannot be read, or is no session of a known format.
    pub fn read(input: impl Read) -> Result<Self, GuardError> {
        Self::read_with(input, &[])
    }

    /// As [`Self::read`], with sentences that were kept as rules of this session.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_with(input: impl Read, kept: &[QuotedRule]) -> Result<Self, GuardError> {
        let history = read_history(input)?;
        Ok(Self::of_steps(&history.steps, kept))
    }

    /// The record as it stood at the last compaction, or as it stands now if there was none.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_to_last_compaction(input: impl Read, kept: &[QuotedRule]) -> Result<Self, GuardError> {
        let history = read_history(input)?;
        let is_compaction = |step: &HistoryStep| matches!(step, HistoryStep::Compacted { .. });
        let end = history.steps.iter().rposition(is_compaction).map_or(history.steps.len(), |last| last + 1);
        Ok(Self::of_steps(&history.steps[..end], kept))
    }

    /// The record with what was said behind it: further lines of the same session, in which nothing of before is taken back.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn goes_on_with(mut self, lines: &[u8]) -> Result<Self, GuardError> {
        let mut history = read_history(lines)?;
        let before = self.last.map_or(0, |last| last.0);
        for step in &mut history.steps {
            if let HistoryStep::Said(message) = step
                && let Some(ordinal) = &mut message.ordinal
            {
                *ordinal = Ordinal(ordinal.0 + before);
            }
        }
        self.take(&history.steps);
        Ok(self)
    }

    fn of_steps(steps: &[HistoryStep], kept: &[QuotedRule]) -> Self {
        let mut record = Self::default();
        record.rules.expect_quoted(kept.iter().cloned());
        record.take(steps);
        record
    }

    fn take(&mut self, steps: &[HistoryStep]) {
        for step in remaining(steps) {
            match step {
                HistoryStep::Said(message) => self.observe(message),
                HistoryStep::Compacted { before, messages } => self.compacted(*before, messages),
                HistoryStep::TakenBack(_) => {}
            }
        }
    }

    fn observe(&mut self, message: &Message) {
        let next = Ordinal(self.last.map_or(0, |last| last.0) + 1);
        self.last = message.ordinal.or(Some(next));
        self.is_guarded |= message.parts.iter().any(is_guard_text);
        self.observe_prompt(message);
        self.rules.observe(message);
        self.requests.observe(message);
        self.ledger.observe(message);
    }

    fn observe_prompt(&mut self, message: &Message) {
        let typed = message.parts.iter().filter(|part| part.origin == Origin::User).filter_map(Part::as_text);
        let typed: Vec<&str> = typed.map(str::trim).filter(|text| !text.is_empty()).collect();
        let is_answer = || {
            let texts = message.parts.iter().filter_map(Part::as_text);
            message.role == Role::Model
                && message.calls().next().is_none()
                && texts.map(str::len).sum::<usize>() > 0
        };
        if !typed.is_empty() {
            self.prompt = Some(Directive { message: self.last, text: typed.join(" ") });
        } else if is_answer() {
            self.prompt = None;
        }
    }

    fn compacted(&mut self, before: TokenCount, messages: &[Message]) {
        self.is_guarded = messages.iter().flat_map(|message| &message.parts).any(is_guard_text);
        let changed = self.ledger.files().filter(|(_, file)| file.state.is_change());
        self.compactions.push(AgentCompaction {
            at: self.last,
            before,
            rules: self.active_rules(),
            requests: self.open_requests(),
            files: changed.map(|(path, _)| path.to_string()).collect(),
            kept: messages.iter().flat_map(|message| &message.parts).filter_map(kept_text).collect(),
        });
    }
}

impl SessionRecord {
    /// The rules in force, in the order in which they were last said.
    pub fn active_rules(&self) -> Vec<Directive> {
        let of_rule = |rule: &UserRule| Directive::new(rule.messages.first(), &rule.text);
        self.rules.active().map(of_rule).collect()
    }

    /// The open requests, the one in work last.
    pub fn open_requests(&self) -> Vec<Directive> {
        let of_request = |request: &UserRequest| Directive::new(request.messages.first(), &request.text);
        self.requests.open_requests().map(of_request).collect()
    }
}

impl Directive {
    fn new(message: Option<&Ordinal>, text: &str) -> Self {
        Self { message: message.copied(), text: text.to_string() }
    }
}

/// The steps without messages that were taken back before the next compaction.
fn remaining(steps: &[HistoryStep]) -> Vec<&HistoryStep> {
    let mut remaining: Vec<&HistoryStep> = Vec::with_capacity(steps.len());
    for step in steps {
        let HistoryStep::TakenBack(first) = step else {
            remaining.push(step);
            continue;
        };
        let is_first =
            |step: &&HistoryStep| matches!(step, HistoryStep::Said(message) if message.id == *first);
        if let Some(index) = remaining.iter().position(is_first) {
            remaining.truncate(index);
        }
    }
    remaining
}

/// The text of a part as the agent's model reads it: results and calls included.
fn kept_text(part: &Part) -> Option<String> {
    if is_guard_text(part) {
        return None;
    }
    match &part.body {
        Body::Text(text) => Some(text.clone()),
        Body::Result(result) => Some(result.readable().into_owned()),
        Body::Call(call) => Some(call.args.to_string()),
        _ => None,
    }
}

fn is_guard_text(part: &Part) -> bool {
    part.as_text().is_some_and(|text| text.contains(&format!("<{GUARD_TAG}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A session of Claude Code, one line for each of these: `u` a prompt, `a` an answer, `t` a call, `r` its result, `c` a compaction.
    fn record(lines: &[(&str, &str)]) -> SessionRecord {
        let mut text = String::new();
        let mut parent = "null".to_string();
        for (index, (kind, said)) in lines.iter().enumerate() {
            let head = format!(
                r#""uuid":"n{index}","parentUuid":{parent},"sessionId":"s","cwd":"/app","timestamp":"2026-01-02T03:04:05Z""#
            );
            let user = |more: &str| {
                format!(
                    r#"{{"type":"user",{head}{more},"message":{{"role":"user","content":{}}}}}"#,
                    serde_json::json!(said)
                )
            };
            let model = |content: serde_json::Value| {
                format!(
                    r#"{{"type":"assistant",{head},"message":{{"id":"m{index}","role":"assistant","model":"x","content":[{content}]}}}}"#
                )
            };
            let line = match *kind {
                "u" => user(""),
                "a" => model(serde_json::json!({"type": "text", "text": said})),
                "t" => model(
                    serde_json::json!({"type": "tool_use", "id": format!("t{index}"), "name": "Write", "input": {"file_path": said, "content": "x"}}),
                ),
                "c" => {
                    let boundary = format!(
                        r#"{{"type":"system","subtype":"compact_boundary","uuid":"b{index}","parentUuid":null,"logicalParentUuid":{parent},"sessionId":"s","timestamp":"2026-01-02T03:04:05Z","content":"Conversation compacted"}}"#
                    );
                    text.push_str(&boundary);
                    text.push('\n');
                    user(r#","isCompactSummary":true"#)
                        .replace(&format!(r#""parentUuid":{parent}"#), &format!(r#""parentUuid":"b{index}""#))
                }
                "r" => format!(
                    r#"{{"type":"user",{head},"message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{}","content":"{said}"}}]}}}}"#,
                    index - 1
                ),
                kind => panic!("{kind} is no kind of line"),
            };
            text.push_str(&line);
            text.push('\n');
            parent = format!(r#""n{index}""#);
        }
        SessionRecord::read(text.as_bytes()).expect("a session")
    }

    #[test]
    fn what_was_said_before_a_compaction_counts() {
        let record = record(&[
            ("u", "Never touch prod.db. Rename the flag in the docs."),
            ("t", "/app/docs/flags.md"),
            ("r", "File created successfully at: /app/docs/flags.md"),
            ("c", "This session is being continued from a previous conversation. The flag is renamed."),
        ]);
        let rules: Vec<String> = record.active_rules().into_iter().map(|rule| rule.text).collect();
        assert_eq!(rules, ["Never touch prod.db."]);
        let [compaction] = &record.compactions[..] else { panic!("{:?}", record.compactions) };
        assert_eq!(compaction.rules.len(), 1);
        assert_eq!(compaction.files.len(), 1, "{:?}", compaction.files);
        assert!(compaction.kept.iter().any(|text| text.contains("The flag is renamed")));
        assert!(!record.is_guarded);
    }

    #[test]
    fn a_prompt_is_in_work_until_its_turn_ends() {
        let prompt = |lines: &[(&str, &str)]| record(lines).prompt.map(|prompt| prompt.text);
        assert_eq!(prompt(&[("u", "look at main.ts"), ("t", "/a")]).as_deref(), Some("look at main.ts"));
        assert_eq!(prompt(&[("u", "look at main.ts"), ("t", "/a"), ("a", "It is a server.")]), None);
    }

    #[test]
    fn the_guards_own_text_is_recognised_and_is_no_rule() {
        let guard = format!("<{GUARD_TAG}>\n- [m1] Never touch prod.db.\n</{GUARD_TAG}>");
        let record = record(&[
            ("u", "Fix it."),
            ("c", "This session is being continued from a previous conversation."),
            ("u", &guard),
        ]);
        assert!(record.is_guarded);
        assert!(record.active_rules().is_empty());
    }
}
