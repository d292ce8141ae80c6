//! Prints what is known of each name or statement of a session before a compaction, and whether it was needed afterwards:
//! the table to which `bench/fit-weights` fits the weights of `longhaul-extract`.
//!
//! usage: features names|statements FILE...
//!
//! One tab-separated line for each name or statement at each cut point: the session, 1 if it was needed, else 0, and its
//! features. What stays in the conversation anyway is left out.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use longhaul_conversation::Ordinal;
use longhaul_eval::{Class, CutNeeds, EvalSession, Settings, needs_at_cuts};
use longhaul_extract::Pool;
use serde_json::Value;

/// The features of one name or statement, by name. What is not named is zero.
type Features = BTreeMap<String, f64>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let table = arguments.next().unwrap_or_default();
    let features = match table.as_str() {
        "names" => name_features,
        "statements" => statement_features,
        _ => return Err("usage: features names|statements FILE...".into()),
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    for path in arguments {
        let read = File::open(&path).map_err(|error| format!("{path}: {error}"))?;
        let session = longhaul_formats::read_session(read).map_err(|error| format!("{path}: {error}"))?;
        let name = Path::new(&path).file_stem().unwrap_or_default().to_string_lossy();
        let session = EvalSession::new(name, &session);
        if session.class() != Class::Real {
            continue;
        }
        for cut in needs_at_cuts(&session, &Settings::default()) {
            let mut pool = Pool::default();
            session.directory.iter().for_each(|directory| pool.set_root(directory));
            cut.head.iter().zip(1..).for_each(|(message, at)| pool.observe(message, Ordinal(at)));
            for (is_needed, features) in features(&pool, &cut)? {
                let features: Vec<String> =
                    features.iter().map(|(name, value)| format!("{name}={value:.3}")).collect();
                writeln!(out, "{}\t{}\t{}", session.name, u8::from(is_needed), features.join(" "))?;
            }
        }
    }
    out.flush()?;
    Ok(())
}

/// The features by which `weigh_anchors` weighs names.
fn name_features(pool: &Pool, cut: &CutNeeds<'_>) -> Result<Vec<(bool, Features)>, serde_json::Error> {
    let newest = cut.head.len() as f64;
    let mut places = vec![Places::default(); pool.anchors().len()];
    let mut crowds: HashMap<u32, usize> = HashMap::new();
    for line in pool.candidates().iter() {
        *crowds.entry(line.at.0).or_default() += line.anchors.len();
    }
    for line in pool.candidates().iter() {
        for number in line.anchors {
            places[*number as usize].add(line.at, crowds[&line.at.0]);
        }
    }
    let mut rows = Vec::new();
    for (anchor, places) in pool.anchors().iter().zip(&places) {
        let Some(is_needed) = cut.is_needed(&anchor.text) else { continue };
        let known = serde_json::to_value(anchor)?;
        let count = |key: &str| known[key].as_f64().unwrap_or_default();
        let last = if places.last > 0 { f64::from(places.last) } else { count("last") };
        let mut features = Features::from([
            ("lines".to_string(), f64::from(places.lines).ln_1p()),
            ("age".to_string(), (newest - last).max(0.0).ln_1p()),
            ("crowd".to_string(), (places.crowd.unwrap_or(400) as f64).ln_1p()),
            ("typed".to_string(), count("typed").min(2.0)),
            ("only_shown".to_string(), f64::from(u8::from(count("used") + count("typed") == 0.0))),
        ]);
        add_words(&mut features, &known);
        rows.push((is_needed, features));
    }
    Ok(rows)
}

/// The features of statements: who said them, their form, their length and what they name.
fn statement_features(pool: &Pool, cut: &CutNeeds<'_>) -> Result<Vec<(bool, Features)>, serde_json::Error> {
    let newest = cut.head.len() as f64;
    let mut rows = Vec::new();
    for line in pool.candidates().iter() {
        let names = line.anchors.iter().map(|number| &*pool.anchors()[*number as usize].text);
        let needed: Vec<bool> = names.filter_map(|name| cut.is_needed(name)).collect();
        let characters = line.text.chars().count() as f64;
        let words = line.text.split_whitespace().filter(|word| word.chars().all(char::is_alphabetic)).count();
        let mut features = Features::from([
            ("names".to_string(), (needed.len() as f64).ln_1p()),
            ("length".to_string(), (characters / 4.0).ln_1p()),
            ("words".to_string(), (words as f64).ln_1p()),
            ("age".to_string(), (newest - f64::from(line.at.0)).max(0.0).ln_1p()),
        ]);
        add_words(&mut features, &serde_json::to_value(line)?);
        rows.push((needed.contains(&true), features));
    }
    Ok(rows)
}

/// Adds a feature for each property of an anchor or a candidate that is a word or true, whatever properties there are.
fn add_words(features: &mut Features, known: &Value) {
    for (key, value) in known.as_object().into_iter().flatten().filter(|(key, _)| *key != "text") {
        match value {
            Value::String(word) => drop(features.insert(format!("{key}:{}", word.to_lowercase()), 1.0)),
            Value::Bool(true) => drop(features.insert(key.clone(), 1.0)),
            _ => {}
        }
    }
}

/// The places of a name, as `weigh_anchors` counts them.
#[derive(Clone, Default)]
struct Places {
    lines: u32,
    last: u32,
    crowd: Option<usize>,
}

impl Places {
    fn add(&mut self, at: Ordinal, crowd: usize) {
        self.lines += 1;
        self.last = self.last.max(at.0);
        self.crowd = Some(self.crowd.map_or(crowd, |known| known.min(crowd)));
    }
}
