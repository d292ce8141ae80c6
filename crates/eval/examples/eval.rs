//! Evaluates the baselines on session files and folders of them: `eval [--json] [--sessions] [--small] PATH...`

use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};

use longhaul_eval::{
    Class, Settings, Subject, Summary, baselines, evaluate, render_sessions, render_table, to_json,
};

fn main() -> Result<(), Box<dyn Error>> {
    let (flags, paths): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let has = |flag: &str| flags.iter().any(|given| given == flag);
    let mut files = Vec::new();
    for path in &paths {
        collect_files(Path::new(path), &mut files)?;
    }
    let (methods, settings) = (baselines(), Settings::default());
    let (mut reports, mut skipped) = (Vec::new(), Vec::new());
    for file in &files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match longhaul_session::read_session(File::open(file)?) {
            Ok(session) => {
                let subject = Subject::new(name, &session);
                if subject.class() == Class::Small && !has("--small") {
                    skipped.push(format!("{} ({} tokens)", subject.name, subject.tokens));
                } else {
                    reports.push(evaluate(&subject, &methods, &settings));
                }
            }
            Err(error) => eprintln!("{}: {error}", file.display()),
        }
    }
    if has("--json") {
        println!("{:#}", to_json(&reports));
        return Ok(());
    }
    if has("--sessions") {
        println!("{}", render_sessions(&reports));
    }
    for class in [Class::Real, Class::Scripted, Class::Small] {
        let summary = Summary::of(&reports, class);
        if summary.sessions > 0 {
            println!("{} sessions, {}\n{}", summary.sessions, class.as_str(), render_table(&summary));
        }
    }
    if !skipped.is_empty() {
        println!("skipped as too small: {}", skipped.join(", "));
    }
    Ok(())
}

fn collect_files(path: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_path_buf());
        return Ok(());
    }
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    entries.sort();
    entries.iter().try_for_each(|entry| collect_files(entry, files))
}
