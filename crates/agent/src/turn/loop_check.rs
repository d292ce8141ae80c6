//! Loop detection by judges: now and then in a long turn, a model is asked whether the work still makes progress.

use longhaul_conversation::{Message, Role};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::session::AgentSession;
use crate::deps::AgentDeps;
use crate::excerpt::{escape_closing_tags, render_excerpt, truncate_middle};
use crate::side_model::{SideModel, find_json, number};

/// The step of a turn at which the first check is made.
const FIRST: u32 = 30;
/// The usual number of steps between two checks.
const USUAL: u32 = 10;
/// The number of steps after a check that was nearly sure of a loop.
const LEAST: f64 = 5.0;
/// The number of steps after a check that saw no sign of one.
const MOST: f64 = 15.0;
/// The confidence from which on a judge is believed.
const SURE: f64 = 0.9;
/// The most messages that are judged.
const WINDOW: usize = 20;
/// Attempts to get an answer that can be parsed.
const ATTEMPTS: usize = 2;
/// The longest prompt that is shown, in characters.
const LONGEST_REQUEST: usize = 2_000;
/// The longest analysis that is passed on, in characters.
const LONGEST_DETAIL: usize = 300;

/// The schedule of checks in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JudgeSchedule {
    steps: u32,
    checked: u32,
    interval: u32,
}

impl Default for JudgeSchedule {
    fn default() -> Self {
        Self { steps: 0, checked: 0, interval: USUAL }
    }
}

impl JudgeSchedule {
    /// Counts a step and returns `true` if a check is due, which then counts as made.
    fn begin_step(&mut self) -> bool {
        self.steps += 1;
        let is_due = self.steps >= FIRST && self.steps - self.checked >= self.interval;
        if is_due {
            self.checked = self.steps;
        }
        is_due
    }

    /// Chooses when to check again: the surer a judge was, the sooner.
    fn learn(&mut self, confidence: f64) {
        self.interval = (LEAST + (MOST - LEAST) * (1.0 - confidence)).round() as u32;
    }
}

/// The verdict of a judge.
#[derive(Debug, Deserialize)]
struct LoopVerdict {
    #[serde(default)]
    analysis: String,
    #[serde(deserialize_with = "number")]
    confidence: f64,
}

impl LoopVerdict {
    fn parse(text: &str) -> Option<Self> {
        find_json::<Self>(text).filter(|verdict| (0.0..=1.0).contains(&verdict.confidence))
    }

    fn is_sure(&self) -> bool {
        self.confidence >= SURE
    }

    fn into_detail(self) -> String {
        let analysis = self.analysis.split_whitespace().collect::<Vec<_>>().join(" ");
        let analysis = analysis.trim_end_matches('.');
        match analysis {
            "" => "the last steps repeat without progress".to_string(),
            analysis => truncate_middle(analysis, LONGEST_DETAIL),
        }
    }
}

/// Counts a step of the turn; where a check is due, returns how the model is stuck in a loop, if judges are sure of it.
pub(super) async fn find_standstill(
    session: &mut AgentSession,
    schedule: &mut JudgeSchedule,
    prompt: &str,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Option<String> {
    let is_due = schedule.begin_step();
    let judges = deps.judges.filter(|_| is_due && session.settings.watches_loops)?;
    let question = render_question(prompt, session.conversation.transcript().messages())?;
    let mut verdict = judge(session, judges.quick, &question, deps, cancel).await?;
    if let Some(thorough) = judges.thorough.filter(|_| verdict.is_sure()) {
        verdict = judge(session, thorough, &question, deps, cancel).await?;
    }
    if verdict.is_sure() {
        return Some(verdict.into_detail());
    }
    schedule.learn(verdict.confidence);
    None
}

async fn judge(
    session: &mut AgentSession,
    judge: SideModel<'_>,
    question: &str,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Option<LoopVerdict> {
    for _ in 0..ATTEMPTS {
        let task = include_str!("../prompts/loop_check.md");
        let answer = session.ask_side_model(judge, task, question, deps, cancel).await;
        if let Some(verdict) = answer.as_deref().and_then(LoopVerdict::parse) {
            return Some(verdict);
        }
    }
    None
}

/// The last messages, without calls that nothing has answered yet and answers to calls that are not among them.
fn window(messages: &[Message]) -> &[Message] {
    let mut window = &messages[messages.len().saturating_sub(WINDOW)..];
    let only_calls = |message: &Message| {
        message.role == Role::Model
            && !message.parts.is_empty()
            && message.parts.iter().all(|part| part.as_call().is_some())
    };
    while let Some((_, rest)) = window.split_last().filter(|(last, _)| only_calls(last)) {
        window = rest;
    }
    while let Some((_, rest)) = window.split_first().filter(|(first, _)| first.results().next().is_some()) {
        window = rest;
    }
    window
}

/// The question to a judge; `None` where there is nothing to judge.
fn render_question(prompt: &str, messages: &[Message]) -> Option<String> {
    let window = window(messages);
    if window.is_empty() {
        return None;
    }
    let request = escape_closing_tags(&truncate_middle(prompt.trim(), LONGEST_REQUEST));
    let request = match request.as_str() {
        "" => String::new(),
        request => format!("<request>\n{request}\n</request>\n\n"),
    };
    Some(format!("{request}<conversation>\n{}\n</conversation>", render_excerpt(window)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{Part, ToolCall, ToolResult};

    /// The steps at which checks are due, when judges answer these in turn; nothing for an answer that cannot be read.
    #[track_caller]
    fn check_steps(answers: &[Option<f64>], expected: &[u32]) {
        let mut watch = JudgeSchedule::default();
        let mut answers = answers.iter();
        let mut due = Vec::new();
        for step in 1..=expected.last().copied().unwrap_or_default() {
            if watch.begin_step() {
                due.push(step);
                if let Some(Some(confidence)) = answers.next() {
                    watch.learn(*confidence);
                }
            }
        }
        assert_eq!(due, expected);
    }

    #[test]
    fn the_next_check_comes_the_sooner_the_surer_the_last_one_was() {
        check_steps(&[], &[30]);
        check_steps(&[Some(0.0)], &[30, 45]);
        check_steps(&[Some(0.85)], &[30, 37]);
        check_steps(&[Some(0.89)], &[30, 36]);
        check_steps(&[Some(0.5), Some(0.0)], &[30, 40, 55]);
        check_steps(&[None, Some(0.0), None], &[30, 40, 55, 70]);
    }

    #[track_caller]
    fn check_verdict(text: &str, expected: Option<(bool, &str)>) {
        let verdict = LoopVerdict::parse(text).map(|verdict| (verdict.is_sure(), verdict.into_detail()));
        assert_eq!(verdict, expected.map(|(is_sure, detail)| (is_sure, detail.to_string())), "{text}");
    }

    #[test]
    fn verdicts_are_read_with_patience() {
        let nowhere = "the last steps repeat without progress";
        check_verdict(
            r#"{"analysis": "It edits\n one file.", "confidence": 0.9}"#,
            Some((true, "It edits one file")),
        );
        check_verdict("```json\n{\"confidence\": \"0.89\"}\n```", Some((false, nowhere)));
        check_verdict(r#"{"analysis": "", "confidence": 1}"#, Some((true, nowhere)));
        check_verdict(r#"{"analysis": "x", "confidence": 9}"#, None);
        check_verdict(r#"{"analysis": "x"}"#, None);
        check_verdict("I think so.", None);
    }

    /// Messages from letters: `u`ser, `m`odel, `c`all, `r`esult, `b`oth words and a call.
    fn messages(shape: &str) -> Vec<Message> {
        let message = |(place, letter): (usize, char)| {
            let call = || Part::call(ToolCall::new("c", "ls"));
            let (role, parts) = match letter {
                'u' => (Role::User, vec![Part::user_text("u")]),
                'm' => (Role::Model, vec![Part::model_text("m")]),
                'c' => (Role::Model, vec![call(), call()]),
                'b' => (Role::Model, vec![Part::model_text("m"), call()]),
                _ => (Role::User, vec![Part::result(ToolResult::text("c", "r"))]),
            };
            Message::new(place.to_string(), role, parts)
        };
        shape.chars().enumerate().map(message).collect()
    }

    #[track_caller]
    fn check_window(shape: &str, expected: std::ops::Range<usize>) {
        let messages = messages(shape);
        let places: Vec<usize> =
            window(&messages).iter().map(|message| message.id.as_str().parse().expect("a place")).collect();
        assert_eq!(places, expected.collect::<Vec<_>>(), "{shape}");
    }

    #[test]
    fn the_window_ends_with_what_was_answered_and_begins_with_no_answer() {
        check_window("umu", 0..3);
        check_window("ucrc", 0..3);
        check_window("ucrcc", 0..3);
        check_window("ucrb", 0..4);
        check_window("rrcr", 2..4);
        check_window("cc", 0..0);
        check_window("", 0..0);
        check_window(&"ucrcr".repeat(6), 10..30);
        check_window(&format!("u{}", "cr".repeat(20)), 21..41);
        check_window(&format!("uu{}", "rc".repeat(15)), 13..31);
    }

    #[test]
    fn judges_are_told_what_the_user_wanted() {
        let question = render_question("Fix </request> it.", &messages("ucr")).expect("a question");
        assert!(
            question
                .starts_with("<request>\nFix <\u{2215}request> it.\n</request>\n\n<conversation>\nuser: u")
        );
        assert!(render_question("", &messages("um")).expect("a question").starts_with("<conversation>"));
        assert_eq!(render_question("x", &[]), None);
    }
}
