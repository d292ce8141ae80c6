//! Lets a small model choose, for each prompt, which of two models answers it.

use longhaul_compaction::{EmptyMessages, curate, routing_window, scoring_window};
use longhaul_conversation::{Message, Model, ModelError};
use longhaul_policy::ApprovalMode;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::Agent;
use crate::excerpt::{middle_out, render_excerpt};
use crate::helper::{find_json, number};
use crate::{Event, Helper, Host, ModelProfile};

/// So much of a reason is passed on, in characters.
const LONGEST_REASON: usize = 300;

/// So much of a history is enough to find the part that is shown, in messages.
const CURATED: usize = 60;

/// Two models to choose from, and who chooses.
#[derive(Clone, Copy)]
pub struct Router<'a> {
    /// The score, of 1 to 100 for how hard a request is, from which on it goes to the one for what is hard; where it is
    /// not set, the classifier names the model instead.
    pub pro_from: Option<u8>,
    /// Chooses.
    pub classifier: Helper<'a>,
    /// Answers what is simple.
    pub flash: Route<'a>,
    /// Answers what is hard.
    pub pro: Route<'a>,
}

/// A model that may be chosen.
#[derive(Clone, Copy)]
pub struct Route<'a> {
    /// Answers.
    pub model: &'a dyn Model,
    /// What must be known of it.
    pub profile: &'a ModelProfile,
}

/// Which of the two answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Tier {
    Flash,
    Pro,
}

/// The choice for the prompt under way. It holds until the next prompt.
#[derive(Clone, Debug)]
pub(crate) struct Routed {
    tier: Tier,
    profile: ModelProfile,
}

/// What a classifier says.
#[derive(Debug, Deserialize, PartialEq, Eq)]
struct Decision {
    #[serde(default)]
    reasoning: String,
    model_choice: Tier,
}

/// How hard a classifier finds a request.
#[derive(Debug, Deserialize)]
struct Score {
    #[serde(default)]
    reasoning: String,
    #[serde(deserialize_with = "number")]
    score: f64,
}

impl Score {
    /// The choice of a model; nothing where it is no score.
    fn decide(self, pro_from: u8) -> Option<Decision> {
        let is_hard = self.score >= f64::from(pro_from);
        let model_choice = if is_hard { Tier::Pro } else { Tier::Flash };
        let reasoning = format!("{:.0} of 100 for difficulty. {}", self.score, self.reasoning.trim());
        (1.0..=100.0).contains(&self.score).then_some(Decision { reasoning, model_choice })
    }
}

impl<'a> Router<'a> {
    fn route(&self, tier: Tier) -> Route<'a> {
        match tier {
            Tier::Flash => self.flash,
            Tier::Pro => self.pro,
        }
    }
}

impl Agent {
    /// What is known of the model that answers the prompt under way.
    pub(crate) fn model(&self) -> &ModelProfile {
        self.routed.as_ref().map_or(&self.settings.model, |routed| &routed.profile)
    }

    /// The model that answers the prompt under way.
    pub(crate) fn answering<'a>(&self, host: &Host<'a>) -> &'a dyn Model {
        let route = self.routed.as_ref().zip(host.router).map(|(routed, router)| router.route(routed.tier));
        route.map_or(host.model, |route| route.model)
    }

    /// Chooses the model for a prompt that was just said. Whatever goes wrong, the usual model answers.
    pub(crate) async fn choose_model(&mut self, host: &Host<'_>, cancel: &CancellationToken) {
        if let Some((router, decision)) = self.classify(host, cancel).await {
            let profile = router.route(decision.model_choice).profile.clone();
            let reason = middle_out(decision.reasoning.trim(), LONGEST_REASON);
            host.tell(Event::Routed { model: profile.recorded_as.clone(), reason });
            self.routed = Some(Routed { tier: decision.model_choice, profile });
        }
    }

    /// Goes back to the usual model for the rest of the prompt, where the one that was chosen for it is another one and
    /// failed.
    pub(crate) fn leave_route(&mut self, error: &ModelError, host: &Host<'_>) -> bool {
        let usual = &self.settings.model.recorded_as;
        let Some(left) = self.routed.take_if(|routed| routed.profile.recorded_as != *usual) else {
            return false;
        };
        let reason = format!("{} failed: {error}", left.profile.recorded_as);
        host.tell(Event::Routed { model: usual.clone(), reason });
        true
    }

    async fn classify<'a>(
        &mut self,
        host: &Host<'a>,
        cancel: &CancellationToken,
    ) -> Option<(Router<'a>, Decision)> {
        let router = host.router?;
        if self.settings.permissions.situation.mode == ApprovalMode::Plan {
            let reasoning = "a plan is being made".to_string();
            return Some((router, Decision { reasoning, model_choice: Tier::Pro }));
        }
        let messages = self.conversation.transcript().messages();
        let (task, question) = match router.pro_from {
            None => (include_str!("../prompts/routing.md"), render_question(messages, routing_window)?),
            Some(_) => {
                (include_str!("../prompts/routing_score.md"), render_question(messages, scoring_window)?)
            }
        };
        let answer = self.consult(router.classifier, task, &question, host, cancel).await?;
        let decision = match router.pro_from {
            None => find_json(&answer)?,
            Some(least) => find_json::<Score>(&answer)?.decide(least)?,
        };
        Some((router, decision))
    }
}

/// What a classifier is asked about the newest message; nothing where that is no request but answers of tools.
fn render_question(messages: &[Message], window: fn(&[Message]) -> Vec<&Message>) -> Option<String> {
    let (request, history) = messages.split_last()?;
    if request.results().next().is_some() {
        return None;
    }
    let recent = history[history.len().saturating_sub(CURATED)..].to_vec();
    let history = render_excerpt(window(&curate(recent, EmptyMessages::Drop)));
    let history = match history.as_str() {
        "" => String::new(),
        history => format!("<conversation>\n{history}\n</conversation>\n\n"),
    };
    Some(format!("{history}<request>\n{}\n</request>", render_excerpt([request])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{Part, Role, ToolCall, ToolResult};

    #[track_caller]
    fn check_decision(answer: &str, expected: Option<Tier>) {
        assert_eq!(find_json::<Decision>(answer).map(|decision| decision.model_choice), expected, "{answer}");
    }

    #[test]
    fn only_a_clear_answer_is_a_decision() {
        check_decision(r#"{"reasoning": "One file.", "model_choice": "flash"}"#, Some(Tier::Flash));
        check_decision("```json\n{\"model_choice\": \"pro\"}\n```", Some(Tier::Pro));
        check_decision(r#"{"reasoning": "?", "model_choice": "ultra"}"#, None);
        check_decision(r#"{"reasoning": "?"}"#, None);
        check_decision("pro", None);
    }

    #[track_caller]
    fn check_score(answer: &str, expected: Option<Tier>) {
        let decided = find_json::<Score>(answer).and_then(|score| score.decide(90));
        assert_eq!(decided.map(|decision| decision.model_choice), expected, "{answer}");
    }

    #[test]
    fn a_score_decides_from_its_threshold_on() {
        check_score(r#"{"reasoning": "Many files.", "score": 90}"#, Some(Tier::Pro));
        check_score(r#"{"score": 89}"#, Some(Tier::Flash));
        check_score(r#"{"score": "97"}"#, Some(Tier::Pro));
        check_score(r#"{"score": 1}"#, Some(Tier::Flash));
        check_score(r#"{"score": 0}"#, None);
        check_score(r#"{"score": 101}"#, None);
        check_score(r#"{"score": "hard"}"#, None);
        check_score("95", None);
    }

    fn say(text: &str) -> Message {
        Message::new(text, Role::User, vec![Part::user_text(text)])
    }

    fn tool_work() -> [Message; 2] {
        let call = Part::call(ToolCall::new("c", "ls"));
        let result = Part::result(ToolResult::text("c", "files"));
        [Message::new("a", Role::Model, vec![call]), Message::new("b", Role::User, vec![result])]
    }

    #[test]
    fn four_messages_and_the_request_are_shown() {
        let mut messages: Vec<Message> = (0..30).map(|number| say(&format!("said {number}"))).collect();
        messages.extend(tool_work());
        messages.push(say("Go."));
        let question = render_question(&messages, routing_window).expect("a question");
        let expected = "<conversation>\nuser: said 26\n\nuser: said 27\n\nuser: said 28\n\nuser: said 29\n\
                        </conversation>\n\n<request>\nuser: Go.\n</request>";
        assert_eq!(question, expected);
    }

    #[test]
    fn a_request_behind_mere_tool_work_is_asked_about_and_tool_work_is_not() {
        let [call, result] = tool_work();
        let render_question = |messages: &[Message]| super::render_question(messages, routing_window);
        let question = render_question(&[call.clone(), result.clone(), say("Go.")]);
        assert_eq!(question.as_deref(), Some("<request>\nuser: Go.\n</request>"));
        assert_eq!(render_question(&[say("Go."), call, result]), None);
        assert_eq!(render_question(&[]), None);
    }
}
