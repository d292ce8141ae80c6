//! A session that goes on and on in a small window.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use longhaul_conversation::{
    Estimator, FinishReason, Model, ModelStream, Request, ResponseEvent, TokenCount, ToolDeclaration,
    find_faults,
};
use longhaul_engine::Event as Compaction;
use longhaul_tools::{BoxFuture, Preview, Tool, ToolAnswer, ToolInvocation};
use serde_json::{Value, json};

use super::trial::{Trial, settings, texts};
use super::*;

const TURNS: u32 = 2_000;
const WINDOW: u64 = 8_000;
const RULES: [&str; 2] = ["Never push to main.", "always write tests"];

#[test]
fn a_session_of_2000_turns_never_outgrows_its_window_and_keeps_its_rules() {
    let mut trial = Trial::with(settings(WINDOW));
    trial.tools.push(Box::new(Library));
    let model = Reader { estimator: trial.agent.session.settings.estimator, ..Reader::default() };
    trial.run("Never push to main. And always write tests first. Now look at the first file.", &model);
    for turn in 1..TURNS {
        let end = trial.run(&format!("Now look at file {turn}, please; the last one was fine."), &model);
        assert_eq!(end, TurnEnd::Finished(FinishReason::Stop), "turn {turn}");
    }
    let largest = model.largest.lock().unwrap_or_else(PoisonError::into_inner).0;
    let passes = passes_before_each_step(&trial.events());
    let compacted: usize = passes.iter().sum();
    println!("{TURNS} turns, {compacted} compactions, the largest request {largest} of {WINDOW} tokens");
    assert_eq!(passes.len(), 2 * TURNS as usize);
    assert!(passes.iter().all(|passes| *passes <= 1), "more than one compaction for one request");
    assert!(compacted > 100, "hardly anything was compacted: {compacted}");
    trial.check_valid();
}

/// How often the conversation was shortened before each request.
fn passes_before_each_step(events: &[Event]) -> Vec<usize> {
    let is_pass = |event: &&Event| matches!(event, Event::Compaction(Compaction::Applied { .. }));
    let mut steps: Vec<usize> = events
        .split(|event| matches!(event, Event::StepBegan { .. }))
        .map(|between| between.iter().filter(is_pass).count())
        .collect();
    assert_eq!(steps.pop(), Some(0), "nothing is shortened behind the last request");
    steps
}

/// Reads a file in every turn, answers when it has read it, and checks every request.
#[derive(Default)]
struct Reader {
    asked: AtomicU32,
    largest: Mutex<TokenCount>,
    estimator: Estimator,
}

impl Reader {
    fn check(&self, request: &Request) {
        let faults = find_faults(&request.messages);
        assert!(faults.is_empty(), "{faults:?}");
        let said = texts(request).concat();
        RULES.iter().for_each(|rule| assert!(said.contains(rule), "{rule:?} is gone: {said}"));
        let tools = request
            .tools
            .iter()
            .map(|tool| format!("{} {} {}", tool.name, tool.description, tool.parameters));
        let system = request.system.iter().filter_map(Part::as_text).map(str::to_string);
        let beside: TokenCount = tools
            .chain(system)
            .map(|text| self.estimator.text(&text).tokens())
            .fold(TokenCount::ZERO, |sum, size| sum + size);
        let tokens = self.estimator.messages(&request.messages) + beside;
        assert!(tokens.0 <= WINDOW, "{tokens:?}");
        let mut largest = self.largest.lock().unwrap_or_else(PoisonError::into_inner);
        *largest = (*largest).max(tokens);
    }
}

impl Model for Reader {
    fn stream(&self, request: Request) -> ModelStream<'_> {
        self.check(&request);
        let number = self.asked.fetch_add(1, Ordering::Relaxed) / 2;
        let last = request.messages.last().expect("something was said");
        let event = match last.parts.iter().any(|part| part.as_result().is_some()) {
            true => ResponseEvent::TextDelta(format!("src/part{number}.rs has {} steps.", length_of(number))),
            false => ResponseEvent::Part(super::tool_tests::call(
                &format!("c{number}"),
                "read_file",
                json!({"file_path": format!("src/group{}/part{number}.rs", number % 17), "number": number}),
            )),
        };
        Box::pin(futures_util::stream::iter([Ok(event), Ok(ResponseEvent::Finished(FinishReason::Stop))]))
    }
}

/// Holds files: mostly short ones, and now and then one that takes half of the window.
struct Library;

/// How many lines the n-th file has.
fn length_of(number: u32) -> u32 {
    match number % 25 {
        0 => 320,
        place => 3 * place,
    }
}

impl Tool for Library {
    fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: "read_file".into(),
            description: "Reads a file.".into(),
            parameters: json!({"type": "object", "properties": {}}),
        }
    }

    fn preview(&self, _: &Value) -> Result<Preview, String> {
        Ok(Preview::Look("a file".into()))
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        let number = call.args["number"].as_u64().unwrap_or_default() as u32;
        let lines = (0..length_of(number))
            .map(|line| format!("pub fn step_{number}_{line}() {{ record({line}); }}\n"));
        Box::pin(std::future::ready(ToolAnswer::succeeded(lines.collect::<String>())))
    }
}
