//! Measures how often a question finds its answer: `cargo run -p longhaul-recall --example locomo -- [--fit] FILE…`.
//! The files are conversations with questions and the turns that answer them, in the format of LoCoMo; each turn is
//! searched as `Speaker: text`. With `--fit`, each conversation is measured with the weights that are best on the others.

use std::collections::HashMap;

use longhaul_conversation::{Message, Part, Role};
use longhaul_recall::{PassageReader, RankWeights, Search, SearchFilter, SessionRef};
use serde_json::Value;

/// The category of questions without an answer in the conversation.
const UNANSWERABLE: u64 = 5;

struct Conversation {
    name: String,
    messages: Vec<(SessionRef, Message)>,
    questions: Vec<(String, Vec<String>)>,
}

/// Questions, those answered in the first 1, 5 and 10, and the sum of the reciprocal ranks.
#[derive(Clone, Copy, Default)]
struct Score(f64, [f64; 3], f64);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut is_fit, mut conversations) = (false, Vec::new());
    for argument in std::env::args().skip(1) {
        if argument == "--fit" {
            is_fit = true;
        } else {
            conversations.push(read(&argument)?);
        }
    }
    let candidates = if is_fit { candidates() } else { vec![RankWeights::default()] };
    let mut scores: Vec<Vec<Score>> = Vec::new();
    for conversation in &conversations {
        scores.push(measure(conversation, &candidates));
    }
    let mut total = Score::default();
    for (place, conversation) in conversations.iter().enumerate() {
        let on_others = |weights: usize| -> f64 {
            let others = scores.iter().enumerate().filter(|(other, _)| *other != place);
            others.map(|(_, scores)| scores[weights].1[1] + scores[weights].1[2]).sum()
        };
        let best =
            (0..candidates.len()).max_by(|a, b| on_others(*a).total_cmp(&on_others(*b)).then(b.cmp(a)));
        let best = best.unwrap_or_default();
        print(&conversation.name, scores[place][best]);
        if is_fit {
            println!("    {:?}", candidates[best]);
        }
        total = total.plus(scores[place][best]);
    }
    print("all", total);
    Ok(())
}

fn candidates() -> Vec<RankWeights> {
    let mut candidates = vec![RankWeights::default()];
    for before in [0.35, 0.45, 0.55] {
        for second in [0.1, 0.15, 0.2] {
            for question in [0.1, 0.2, 0.3] {
                for asking in [0.7, 0.8, 0.9] {
                    for after in [[0.2, 0.1], [0.2, 0.05], [0.3, 0.1]] {
                        let before = [before, second];
                        candidates.push(RankWeights {
                            before,
                            after,
                            question,
                            asking,
                            ..RankWeights::default()
                        });
                    }
                }
            }
        }
    }
    candidates
}

fn measure(conversation: &Conversation, candidates: &[RankWeights]) -> Vec<Score> {
    let mut scores = vec![Score::default(); candidates.len()];
    let mut readers: HashMap<&SessionRef, PassageReader> = HashMap::new();
    let mut messages: HashMap<(SessionRef, u32), String> = HashMap::new();
    for (session, message) in &conversation.messages {
        readers.entry(session).or_default().read(message, &mut |passage| {
            messages.insert((session.clone(), passage.sequence), message.id.to_string());
        });
    }
    for (question, evidence) in &conversation.questions {
        let mut search = Search::new(question);
        conversation.messages.iter().for_each(|(session, message)| search.observe(session, message));
        for (score, weights) in scores.iter_mut().zip(candidates) {
            let ranked = search.ranking_with(weights, &SearchFilter::default());
            let rank = ranked.iter().take(50).position(|passage| {
                let said = messages.get(&(passage.session.clone(), passage.sequence));
                said.is_some_and(|id| evidence.contains(id))
            });
            score.0 += 1.0;
            for (place, limit) in [1, 5, 10].into_iter().enumerate() {
                score.1[place] += f64::from(rank.is_some_and(|rank| rank < limit));
            }
            score.2 += rank.map_or(0.0, |rank| 1.0 / (rank as f64 + 1.0));
        }
    }
    scores
}

impl Score {
    fn plus(self, other: Self) -> Self {
        let found = [0, 1, 2].map(|place| self.1[place] + other.1[place]);
        Self(self.0 + other.0, found, self.2 + other.2)
    }
}

fn print(name: &str, Score(questions, found, reciprocal): Score) {
    let share = |count: f64| count / questions.max(1.0) * 100.0;
    println!(
        "{name}: {questions} questions, hit@1 {:.1}, hit@5 {:.1}, hit@10 {:.1}, mean reciprocal rank {:.3}",
        share(found[0]),
        share(found[1]),
        share(found[2]),
        reciprocal / questions.max(1.0)
    );
}

fn read(path: &str) -> Result<Conversation, Box<dyn std::error::Error>> {
    let file: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    let messages = items(&file, "contents").filter_map(message).collect();
    let mut questions = Vec::new();
    for question in items(&file, "qa") {
        let evidence: Vec<String> =
            items(question, "evidence").filter_map(Value::as_str).map(str::to_owned).collect();
        let is_answered = question["category"].as_u64() != Some(UNANSWERABLE);
        if let Some(text) = question["question"].as_str().filter(|_| is_answered && !evidence.is_empty()) {
            questions.push((text.to_owned(), evidence));
        }
    }
    let name = path.rsplit('/').next().unwrap_or(path).to_owned();
    Ok(Conversation { name, messages, questions })
}

fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

/// A turn of the conversation, named by its own id, with the sitting it belongs to.
fn message(turn: &Value) -> Option<(SessionRef, Message)> {
    let meta = &turn["meta"];
    let text = format!("{}: {}", meta["speaker"].as_str()?, turn["parts"][0]["text"].as_str()?);
    // Both are people here.
    let message = Message::new(meta["dia_id"].as_str()?, Role::User, vec![Part::user_text(text)]);
    Some((SessionRef::new(meta["session"].as_str().unwrap_or_default()), message))
}
