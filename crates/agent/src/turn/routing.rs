//! Routing: a small model chooses, for each prompt, which of two models answers it.

use longhaul_compaction::{EmptyMessages, curate, routing_window, scoring_window};
use longhaul_conversation::{Message, Model, ModelError};
use longhaul_policy::ApprovalMode;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::session::AgentSession;
use crate::deps::AgentDeps;
use crate::event::Event;
use crate::excerpt::{render_excerpt, truncate_middle};
use crate::models::{ModelProfile, ModelTier, Router};
use crate::side_model::{find_json, number};

/// The longest reason that is passed on, in characters.
const LONGEST_REASON: usize = 300;

/// The most messages of a history in which the part is found that is shown.
const CURATED: usize = 60;

/// The choice for the prompt under way. It holds until the next prompt.
#[derive(Clone, Debug)]
pub(super) struct ChosenRoute {
    tier: ModelTier,
    pub(super) profile: ModelProfile,
}

/// The answer of a classifier that names a model.
#[derive(Debug, Deserialize, PartialEq, Eq)]
struct RoutingDecision {
    #[serde(default)]
    reasoning: String,
    model_choice: ModelTier,
}

/// The answer of a classifier that scores difficulty.
#[derive(Debug, Deserialize)]
struct DifficultyScore {
    #[serde(default)]
    reasoning: String,
    #[serde(deserialize_with = "number")]
    score: f64,
}

impl DifficultyScore {
    /// The choice of a model; nothing where it is no score.
    fn decide(self, pro_from: u8) -> Option<RoutingDecision> {
        let is_hard = self.score >= f64::from(pro_from);
        let model_choice = if is_hard { ModelTier::Pro } else { ModelTier::Flash };
        let reasoning = format!("difficulty {:.0}/100. {}", self.score, self.reasoning.trim());
        (1.0..=100.0).contains(&self.score).then_some(RoutingDecision { reasoning, model_choice })
    }
}

/// The model that answers the prompt under way.
pub(super) fn answering_model<'a>(route: Option<&ChosenRoute>, deps: &AgentDeps<'a>) -> &'a dyn Model {
    let route = route.zip(deps.router).map(|(route, router)| router.route(route.tier));
    route.map_or(deps.model, |route| route.model)
}

/// Chooses the model for a prompt that was just said. Whatever goes wrong, the usual model answers.
pub(super) async fn choose_model(
    session: &mut AgentSession,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Option<ChosenRoute> {
    let (router, decision) = classify(session, deps, cancel).await?;
    let profile = router.route(decision.model_choice).profile.clone();
    let reason = truncate_middle(decision.reasoning.trim(), LONGEST_REASON);
    deps.emit(Event::Routed { model: profile.recorded_as.clone(), reason });
    Some(ChosenRoute { tier: decision.model_choice, profile })
}

/// Goes back to the usual model for the rest of the prompt, where the one that was chosen for it is another one and
/// failed; returns `true` if so.
pub(super) fn leave_route(
    route: &mut Option<ChosenRoute>,
    usual: &ModelProfile,
    error: &ModelError,
    deps: &AgentDeps<'_>,
) -> bool {
    let usual = &usual.recorded_as;
    let Some(left) = route.take_if(|route| route.profile.recorded_as != *usual) else {
        return false;
    };
    let reason = format!("{} failed: {error}", left.profile.recorded_as);
    deps.emit(Event::Routed { model: usual.clone(), reason });
    true
}

async fn classify<'a>(
    session: &mut AgentSession,
    deps: &AgentDeps<'a>,
    cancel: &CancellationToken,
) -> Option<(Router<'a>, RoutingDecision)> {
    let router = deps.router?;
    if session.settings.permissions.situation.mode == ApprovalMode::Plan {
        let reasoning = "plan mode".to_string();
        return Some((router, RoutingDecision { reasoning, model_choice: ModelTier::Pro }));
    }
    let messages = session.conversation.transcript().messages();
    let (task, question) = match router.pro_from {
        None => (include_str!("../prompts/routing.md"), render_question(messages, routing_window)?),
        Some(_) => (include_str!("../prompts/routing_score.md"), render_question(messages, scoring_window)?),
    };
    let answer = session.ask_side_model(router.classifier, task, &question, deps, cancel).await?;
    let decision = match router.pro_from {
        None => find_json(&answer)?,
        Some(least) => find_json::<DifficultyScore>(&answer)?.decide(least)?,
    };
    Some((router, decision))
}

/// The question to a classifier about the newest message; `None` where that is no prompt but results of tools.
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
    fn check_decision(answer: &str, expected: Option<ModelTier>) {
        assert_eq!(
            find_json::<RoutingDecision>(answer).map(|decision| decision.model_choice),
            expected,
            "{answer}"
        );
    }

    #[test]
    fn only_a_clear_answer_is_a_decision() {
        check_decision(r#"{"reasoning": "One file.", "model_choice": "flash"}"#, Some(ModelTier::Flash));
        check_decision("```json\n{\"model_choice\": \"pro\"}\n```", Some(ModelTier::Pro));
        check_decision(r#"{"reasoning": "?", "model_choice": "ultra"}"#, None);
        check_decision(r#"{"reasoning": "?"}"#, None);
        check_decision("pro", None);
    }

    #[track_caller]
    fn check_score(answer: &str, expected: Option<ModelTier>) {
        let decided = find_json::<DifficultyScore>(answer).and_then(|score| score.decide(90));
        assert_eq!(decided.map(|decision| decision.model_choice), expected, "{answer}");
    }

    #[test]
    fn a_score_decides_from_its_threshold_on() {
        check_score(r#"{"reasoning": "Many files.", "score": 90}"#, Some(ModelTier::Pro));
        check_score(r#"{"score": 89}"#, Some(ModelTier::Flash));
        check_score(r#"{"score": "97"}"#, Some(ModelTier::Pro));
        check_score(r#"{"score": 1}"#, Some(ModelTier::Flash));
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
