//! Tests of what is found in sessions, and of what is not.

use super::trial::session;
use super::*;
use longhaul_conversation::Timestamp;

/// Checks the findings, each with its kind, sessions and times.
#[track_caller]
fn check(sessions: &[SessionDigest], expected: &[&str]) {
    let found: Vec<String> = mine(sessions)
        .iter()
        .map(|found| {
            format!(
                "{} {}/{}: {}",
                found.finding.kind(),
                found.sessions(),
                found.times(),
                found.finding.title()
            )
        })
        .collect();
    assert_eq!(found, expected);
}

const RELEASE: [&str; 6] = [
    "> release version 2",
    "$ ls",
    "$ ./bump.sh minor",
    "~ CHANGES.md",
    "$ make test 2>&1 | tail",
    "$ make publish",
];

#[test]
fn a_repeated_procedure_is_found_whole_and_once() {
    let other = session(
        "b",
        &["> please release", "$ ./bump.sh minor", "$ make test", "$ make publish", "$ cargo doc"],
    );
    check(&[session("a", &RELEASE), other], &["procedure 2/2: ./bump.sh minor → make test → make publish"]);
    let found = mine(&[session("a", &RELEASE), session("b", &RELEASE)]);
    assert_eq!(found[0].evidence[0].asked.as_deref(), Some("release version 2"));
    assert_eq!(found[0].evidence[1].marks, [Ordinal(3), Ordinal(5), Ordinal(6)]);
    let MinedPattern::Procedure { checks, .. } = &found[0].finding else { panic!("a procedure") };
    assert_eq!(checks, &["make test"]);
}

#[test]
fn a_procedure_is_found_once_however_its_pieces_were_run() {
    let whole = session("a", &["> a", "~ x.go", "$ run fmt && run lint", "$ run test"]);
    let repaired =
        session("b", &["> b", "~ y.go", "$ run fmt", "! run lint", "~ y.go", "$ run lint", "$ go vet ./y"]);
    let turned = session(
        "c",
        &["> c", "~ z.go", "$ run test", "$ run lint", "$ go test ./z", "$ run test", "$ git commit -m x"],
    );
    let found = mine(&[whole, repaired, turned]);
    let titles: Vec<String> = found.iter().map(|found| found.finding.title()).collect();
    assert_eq!(titles, ["run fmt → run lint → run test"]);
    assert_eq!(found[0].sessions(), 3);
    // Where nobody ran all of it in this order, it is not put together.
    let apart = session("d", &["> d", "~ z.go", "$ run fmt", "$ run lint"]);
    let twice =
        |session: SessionDigest| [SessionDigest { id: session.id.clone() + "2", ..session.clone() }, session];
    let turned = session("e", &["> e", "~ z.go", "$ run lint", "$ run test"]);
    check(&[twice(apart), twice(turned)].concat(), &["procedure 2/2: run fmt → run lint"]);
}

#[test]
fn work_that_lies_far_apart_is_no_procedure() {
    let filler: Vec<String> = (0..30).map(|number| format!("> words {number}")).collect();
    let mut lines = vec!["$ make a"];
    lines.extend(filler.iter().map(String::as_str));
    lines.push("$ make b");
    check(&[session("a", &lines), session("b", &lines)], &[]);
}

#[track_caller]
fn check_occasions(sessions: &[SessionDigest], expected: &[ProcedureOccasion]) {
    let found = mine(sessions);
    let MinedPattern::Procedure { occasions, .. } = &found[0].finding else { panic!("a procedure") };
    assert_eq!(occasions, expected);
}

#[test]
fn what_comes_before_and_after_tells_when() {
    let checked = |id: &str, file: &str| {
        let changed = format!("~ {file}");
        let lines = ["> do something about the upload", "~ NOTES.md", &changed, "$ make lint", "$ make test"];
        session(id, &[&lines[..], &["$ git -C x commit -m y"]].concat())
    };
    let endings = vec![".rs".to_string()];
    check_occasions(
        &[checked("a", "src/a.rs"), checked("b", "b.rs")],
        &[ProcedureOccasion::AfterChanges { endings }, ProcedureOccasion::BeforeCommit],
    );
    check_occasions(
        &[checked("a", "src/a.rs"), checked("b", "b.py")],
        &[ProcedureOccasion::AfterChanges { endings: Vec::new() }, ProcedureOccasion::BeforeCommit],
    );
}

#[test]
fn a_request_tells_when_by_what_only_such_requests_say() {
    let released = |id: &str, request: &str| {
        session(
            id,
            &[
                "> please look at the parser in /work/parser",
                "$ ls",
                request,
                "$ ./bump.sh",
                "$ make publish",
            ],
        )
    };
    let words = vec!["release".to_string()];
    let example = Some("please release the parser".to_string());
    check_occasions(
        &[
            released("a", "> now release it to /srv/x with the usual steps"),
            released("b", "> please release the parser"),
        ],
        &[ProcedureOccasion::Requested { words, example }],
    );
    check_occasions(&[released("a", "> go on"), released("b", "> yes")], &[]);
}

#[test]
fn no_machine_is_named() {
    let at = |id: &str, root: &str| {
        let lines = [
            format!("$ cd {root} && ./bump.sh {root}/VERSION"),
            format!("$ go build -o /tmp/{id} ./cmd"),
            format!("$ cd {root}/web && make test"),
        ];
        session(id, &lines.each_ref().map(String::as_str))
    };
    check(
        &[at("a", "/Users/one/work/app"), at("b", "/home/two/app")],
        &["procedure 2/2: ./bump.sh VERSION → cd web && make test"],
    );
}

#[test]
fn one_session_is_no_evidence() {
    check(&[session("a", &[RELEASE, RELEASE].concat())], &[]);
    check(&[session("a", &RELEASE), session("b", &["$ make test", "$ ./bump.sh minor"])], &[]);
    check(&[], &[]);
}

#[test]
fn a_copy_confirms_nothing() {
    let mut first = session("a", &RELEASE);
    for (number, step) in first.steps.iter_mut().enumerate() {
        step.at = Some(Timestamp::from_millis(i64::try_from(number).unwrap()));
    }
    let mut fork = SessionDigest { id: "fork".into(), ..first.clone() };
    check(&[first.clone(), fork.clone()], &[]);
    // What the fork did later is its own.
    fork.steps.extend(session("x", &RELEASE).steps);
    check(&[first, fork], &["procedure 2/2: ./bump.sh minor → make test → make publish"]);
}

#[test]
fn failed_and_common_commands_are_no_procedure() {
    let failed = ["! make a", "! make b"];
    check(&[session("a", &failed), session("b", &failed)], &[]);
    let common = ["$ git add .", "$ git commit -m 'x'", "$ git push"];
    check(&[session("a", &common), session("b", &common)], &[]);
}

#[test]
fn a_repair_needs_the_same_remedy_twice() {
    let docker = ["! make test", "$ docker compose up -d", "$ make test"];
    check(
        &[session("a", &docker), session("b", &docker)],
        &[
            "procedure 2/2: docker compose up -d → make test",
            "repair 2/2: make test fails; docker compose up -d; make test passes",
        ],
    );
    let file = |path: &str| session(path, &["! make test", &format!("~ {path}"), "$ make test"]);
    check(&[file("a.rs"), file("b.rs")], &[]);
    // What was tried before it failed again did not help.
    let again = ["! make test", "$ docker compose up -d", "! make test", "~ fixed.rs", "$ make test"];
    check(
        &[session("a", &again), session("b", &again)],
        &[
            "procedure 2/2: docker compose up -d → make test",
            "repair 2/2: make test fails; fixed.rs is changed; make test passes",
        ],
    );
}

#[test]
fn corrections_are_found_across_sessions() {
    check(
        &[
            session("a", &["> No, use pnpm instead of npm in this repository"]),
            session("b", &["> please add a test", "> don't use npm, this repository has pnpm"]),
            session("c", &["> No, make it blue", "> the npm repository of pnpm is large"]),
        ],
        &["correction 2/2: don't use npm, this repository has pnpm"],
    );
}

#[test]
fn files_are_together_only_if_they_always_are() {
    let both = ["~ schema.sql", "~ models.py"];
    let sessions = [session("a", &both), session("b", &both), session("c", &both)];
    check(&sessions, &["together 3/3: models.py, schema.sql"]);
    check(&sessions[..2], &[]);
    let alone = session("d", &["~ schema.sql"]);
    check(&[sessions.as_slice(), &[alone]].concat(), &[]);
}

#[test]
fn secrets_are_gone_before_anything_is_compared() {
    let secret = ["ghp_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat();
    let line = format!("$ GH_TOKEN={secret} ./deploy.sh");
    let lines = [line.as_str(), "$ make test"];
    let found = mine(&[session("a", &lines), session("b", &lines)]);
    assert_eq!(found[0].finding.title(), "GH_TOKEN=[REDACTED] ./deploy.sh → make test");
}
