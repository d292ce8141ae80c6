//! Prints the ledgers of session files: `cargo run -p longhaul-ledger --example ledger -- [--json] [--budget N] FILE...`

use std::error::Error;
use std::fs::File;

use longhaul_conversation::TokenCount;
use longhaul_ledger::Ledger;

fn main() -> Result<(), Box<dyn Error>> {
    let mut json = false;
    let mut budget = TokenCount(1000);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--json" => json = true,
            "--budget" => budget = TokenCount(words.next().unwrap_or_default().parse()?),
            path => match longhaul_formats::read_session(File::open(path)?) {
                Ok(session) => print(path, &session, json, budget)?,
                Err(error) => eprintln!("{path}: {error}"),
            },
        }
    }
    Ok(())
}

fn print(
    path: &str,
    session: &longhaul_formats::Session,
    json: bool,
    budget: TokenCount,
) -> Result<(), Box<dyn Error>> {
    let mut ledger = session.info.directory.as_deref().map(Ledger::in_directory).unwrap_or_default();
    let messages = session.transcript.messages();
    messages.iter().for_each(|message| ledger.observe(message));
    if json {
        println!("{}", serde_json::to_string_pretty(&ledger.summary())?);
        return Ok(());
    }
    println!(
        "== {path}: {} messages, {} files, {} commands, {} runs, {} errors, {} jobs, {} commits",
        messages.len(),
        ledger.files().count(),
        ledger.commands().len(),
        ledger.runs().len(),
        ledger.errors().len(),
        ledger.jobs().len(),
        ledger.commits().len(),
    );
    for line in ledger.render_lines(budget).into_iter().chain(ledger.plan_lines()) {
        let marks: Vec<String> = line.marks.iter().map(ToString::to_string).collect();
        println!("  {:?} [{}] {}", line.section, marks.join(" "), line.text);
    }
    Ok(())
}
