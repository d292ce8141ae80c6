//! Measures how often a question finds its answer: `cargo run --release -p longhaul-archive --example recall -- FILE…`.
//! The files are conversations with questions and the turns that answer them, in the format of LoCoMo.

use longhaul_archive::{Search, SessionRef};
use longhaul_conversation::{Message, Part, Role};
use serde_json::Value;

/// The category of questions without an answer in the conversation.
const UNANSWERABLE: u64 = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut questions = 0;
    let mut found = [0; 3];
    let mut reciprocal = 0.0;
    for path in std::env::args().skip(1) {
        let file: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
        let messages: Vec<Message> = items(&file, "contents").filter_map(message).collect();
        let session = SessionRef::new(path);
        for question in items(&file, "qa") {
            let evidence: Vec<&str> = items(question, "evidence").filter_map(Value::as_str).collect();
            let is_answered = question["category"].as_u64() != Some(UNANSWERABLE);
            let Some(query) = question["question"].as_str().filter(|_| is_answered && !evidence.is_empty())
            else {
                continue;
            };
            let mut search = Search::new(query);
            messages.iter().for_each(|message| search.observe(&session, message));
            let hits = search.hits(50);
            let rank = hits.iter().position(|hit| evidence.contains(&hit.message.as_str()));
            questions += 1;
            reciprocal += rank.map_or(0.0, |rank| 1.0 / (rank as f64 + 1.0));
            for (place, limit) in [1, 5, 10].into_iter().enumerate() {
                found[place] += u32::from(rank.is_some_and(|rank| rank < limit));
            }
        }
    }
    let share = |count: u32| f64::from(count) / f64::from(questions.max(1)) * 100.0;
    println!(
        "{questions} questions: first {:.1} %, in 5 {:.1} %, in 10 {:.1} %, mean reciprocal rank {:.3}",
        share(found[0]),
        share(found[1]),
        share(found[2]),
        reciprocal / f64::from(questions.max(1))
    );
    Ok(())
}

fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

/// A turn of the conversation, named by its own id.
fn message(turn: &Value) -> Option<Message> {
    let text = turn["parts"][0]["text"].as_str()?;
    let id = turn["meta"]["dia_id"].as_str()?;
    let (role, part) = match turn["role"].as_str()? {
        "user" => (Role::User, Part::user_text(text)),
        _ => (Role::Model, Part::model_text(text)),
    };
    Some(Message::new(id, role, vec![part]))
}
