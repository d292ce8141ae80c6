//! Recognises an answer in which a model declines to write a summary, or asks for what it was given.

/// A refusal is short: longer answers are judged by what they say.
const MOST_WORDS: usize = 80;
/// So many characters of it are told.
const TOLD: usize = 160;

/// The refusal that these lines of an answer are, in its own words.
pub(super) fn refusal_in(lines: &[&str]) -> Option<String> {
    let words: usize = lines.iter().map(|line| line.split_whitespace().count()).sum();
    let first = lines.iter().find(|line| !line.trim().is_empty())?;
    if words > MOST_WORDS || !declines(first) {
        return None;
    }
    let told: String = first.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(match told.char_indices().nth(TOLD) {
        Some((end, _)) => format!("{}…", &told[..end]),
        None => told,
    })
}

fn declines(line: &str) -> bool {
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase().replace(['’', '‘'], "'");
    let line = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    let mut phrases = include_str!("refusals.txt").lines().map(str::trim);
    phrases.any(|phrase| !phrase.is_empty() && !phrase.starts_with('#') && line.starts_with(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(answer: &str, is_refusal: bool) {
        let lines: Vec<&str> = answer.lines().collect();
        assert_eq!(refusal_in(&lines).is_some(), is_refusal, "{answer}");
    }

    #[test]
    fn refusals_and_apologies_are_recognised() {
        for answer in [
            "I'm sorry, but I can't help with that.",
            "I’m sorry, I cannot assist with this request.",
            "Sorry, I am not able to summarise this conversation.",
            "I cannot fulfil this request.",
            "I can't comply with that.\nPlease ask something else.",
            "**I am unable to process this content.**",
            "As an AI language model, I do not keep memories.",
            "I apologize, but the conversation is missing.",
            "I'd be happy to help! Please provide the conversation.",
            "Please provide the conversation that you want me to summarise.",
            "There is no conversation to summarize.",
            "No conversation history was provided.",
            "It seems that you have not provided a record.",
            "Es tut mir leid, aber dabei kann ich nicht helfen.",
            "Je suis désolé, je ne peux pas vous aider.",
            "Lo siento, no puedo ayudar con eso.",
            "Desculpe, não posso ajudar com isso.",
            "К сожалению, я не могу помочь с этим.",
            "抱歉，我无法协助处理此请求。",
            "申し訳ありませんが、お手伝いできません。",
            "죄송하지만 도와드릴 수 없습니다.",
        ] {
            check(answer, true);
        }
    }

    #[test]
    fn summaries_are_none() {
        for answer in [
            "Fix the upload.",
            "I cannot reproduce the failure on Linux; it needs the ARM runner.",
            "The user is sorry for the noise and asks to remove retry_count.",
            "The assistant said: I'm sorry, but I can't push to main.",
            "Please note: never push to main.",
            "No conversation partner may be blocked by the lock.",
            "抱歉的提示文案已改为英文。",
            "",
        ] {
            check(answer, false);
        }
        let long = format!(
            "I'm sorry, but I can't tell all of it. {}",
            "The reader was fixed in src/a.rs. ".repeat(20)
        );
        check(&long, false);
    }

    #[test]
    fn a_refusal_is_told_in_its_words_and_briefly() {
        assert_eq!(refusal_in(&["", "  I cannot  assist."]).as_deref(), Some("I cannot assist."));
        let long = format!("I cannot assist {}", "x".repeat(500));
        assert_eq!(refusal_in(&[&long]).map(|told| told.chars().count()), Some(TOLD + 1));
    }
}
