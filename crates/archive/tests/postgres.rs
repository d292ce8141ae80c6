//! The team's archive on a real server: the hits of a scan, tenants that never see each other, lost connections.
#![cfg(all(unix, feature = "postgres"))]

#[path = "support/mod.rs"]
mod support;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use longhaul_archive::{
    Archive, ArchiveError, ArchivedSession, PushOptions, PushReport, Question, Redaction, Retention,
    SyncOptions, TeamArchive, TeamOptions,
};
use longhaul_recall::SearchFilter;
use proptest::prelude::*;
use support::place::{Place, lines, now, options, scan, sentence};
use support::server::{Database, Pooler, Server};

fn push(archive: &Archive, team: &mut TeamArchive) -> Result<PushReport, ArchiveError> {
    let sessions: Vec<(&ArchivedSession, Option<&str>)> =
        archive.sessions().into_iter().map(|session| (session, Some("/srv/shop"))).collect();
    team.push(archive, &sessions, &PushOptions { machine: "dev@test".into() })
}

fn open(database: &Database, role: &str) -> TeamArchive {
    TeamArchive::open(&team_of(database, role)).expect("the team's archive opens")
}

fn team_of(database: &Database, role: &str) -> TeamOptions {
    TeamOptions { url: database.url(role), tenant: String::new() }
}

fn delete_all(team: &mut TeamArchive) {
    let sessions: Vec<ArchivedSession> =
        team.sessions().expect("sessions").into_iter().map(|session| session.session).collect();
    team.delete(&sessions).expect("they are deleted");
}

const TABLES: [&str; 9] =
    ["source", "block", "source_block", "chain", "passage", "posting", "frequency", "total", "deleted"];

/// A server with a database and the roles of two tenants; none where there is no PostgreSQL.
fn database(name: &str) -> Option<Database> {
    let database = Server::shared()?.database(name, &["alice", "bob"]);
    let owner = TeamOptions { url: database.url("postgres"), tenant: String::new() };
    assert_eq!(TeamArchive::migrate(&owner).expect("migrated"), (0, 1));
    Some(database)
}

fn write_sessions(place: &Place, sessions: &[Vec<String>]) {
    for (number, texts) in sessions.iter().enumerate() {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        place.write(&format!("s{number}"), &texts);
    }
}

/// Each tenant finds what a scan of its own sessions finds, in the same order, whatever the other one has.
#[test]
fn each_tenant_has_the_hits_of_a_scan_of_its_own() {
    let Some(database) = database("hits") else { return };
    let mut alice = open(&database, "alice");
    let mut bob = open(&database, "bob");
    let sessions = || prop::collection::vec(prop::collection::vec(sentence(), 1..10), 1..4);
    let input = (sessions(), sessions(), sentence(), prop::collection::vec(sentence(), 1..4));
    let config = ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() };
    type Sessions = Vec<Vec<String>>;
    let check = |(hers, his, more, queries): (Sessions, Sessions, String, Vec<String>)| {
        let places = [Place::new(), Place::new()];
        let mut archives = [places[0].archive(), places[1].archive()];
        let teams = [&mut alice, &mut bob];
        for (((place, archive), team), own) in places.iter().zip(&mut archives).zip(teams).zip([&hers, &his])
        {
            write_sessions(place, own);
            place.sync(archive);
            push(archive, team).expect("pushed");
            // What grew, what was deleted and what came later is pushed as it is.
            place.append("s0", &lines("s0", own[0].len(), &[&more]));
            place.write("gone", &["ring buffer config 設定"]);
            place.sync(archive);
            push(archive, team).expect("pushed");
            let gone = team.find("gone").expect("found").expect("it is there");
            team.delete(&[gone.session]).expect("deleted");
            archive.delete(&["gone"]).expect("deleted");
            let report = push(archive, team).expect("pushed");
            prop_assert_eq!((report.pushed, report.deleted), (0, 0));
        }
        for (archive, team) in archives.iter_mut().zip([&mut alice, &mut bob]) {
            let with_fixed =
                queries.iter().map(String::as_str).chain(["m2", "config last week", "ring buffer"]);
            for query in with_fixed {
                for kinds in [vec![], vec![longhaul_recall::Kind::Model]] {
                    let filter = SearchFilter { kinds, since: None };
                    let question = Question { filter: filter.clone(), ..Question::new(query, now()) };
                    let expected = scan(archive, query, &filter);
                    prop_assert_eq!(&team.ranking(&question).expect("a ranking"), &expected, "{}", query);
                    prop_assert_eq!(&archive.ranking(&question).expect("a ranking"), &expected, "{}", query);
                    let hits = team.recall(&question, 5).expect("hits");
                    prop_assert_eq!(hits, archive.recall(&question, 5).expect("hits"));
                }
            }
        }
        for team in [&mut alice, &mut bob] {
            delete_all(team);
        }
        Ok(())
    };
    let mut check = check;
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let cell = std::cell::RefCell::new(&mut check);
    runner.run(&input, |input| (cell.borrow_mut())(input)).expect("equal hits");
    // Nothing is left of what was deleted, but that it was.
    for table in TABLES.iter().filter(|table| !["deleted", "total"].contains(table)) {
        assert_eq!(
            database.ask("postgres", &format!("SELECT count(*) FROM longhaul.{table}")),
            "0",
            "{table}"
        );
    }
    assert_eq!(database.ask("postgres", "SELECT sum(passages) + sum(bytes) FROM longhaul.total"), "0");
}

/// Whatever a tenant asks, it gets rows of its own only, and changes no others.
#[test]
fn no_query_of_a_tenant_reaches_rows_of_another() {
    let Some(database) = database("tenants") else { return };
    for role in ["alice", "bob"] {
        let place = Place::new();
        place.write("one", &[&format!("the walrus of {role}"), "yes"]);
        let mut archive = place.archive();
        place.sync(&mut archive);
        let mut team = open(&database, role);
        push(&archive, &mut team).expect("pushed");
    }
    let everything =
        |role: &str, table: &str| database.ask(role, &format!("SELECT count(*) FROM longhaul.{table}"));
    let asked = prop::sample::select(TABLES.to_vec());
    let setting =
        prop::sample::select(vec!["", "bob", "postgres", "BOB", "bob ", "'; SELECT 1; --", "nobody"]);
    let statement = prop::sample::select(vec![
        "SELECT count(*) FROM longhaul.{table} WHERE tenant <> 'alice'",
        "SELECT count(*) FROM longhaul.{table} WHERE tenant = 'bob'",
        "SELECT count(*) FROM longhaul.{table} WHERE tenant LIKE '%b%'",
        "SELECT count(*) FROM (SELECT * FROM longhaul.{table} UNION ALL SELECT * FROM longhaul.{table}) AS twice WHERE tenant = 'bob'",
        "WITH gone AS (DELETE FROM longhaul.{table} WHERE tenant = 'bob' RETURNING 1) SELECT count(*) FROM gone",
        "WITH changed AS (UPDATE longhaul.{table} SET tenant = 'alice' WHERE tenant = 'bob' RETURNING 1) SELECT count(*) FROM changed",
    ]);
    let before: Vec<String> = TABLES.iter().map(|table| everything("postgres", table)).collect();
    let config = ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    runner
        .run(&(asked, setting, statement), |(table, setting, statement)| {
            let setting = setting.replace('\'', "''");
            let statement = statement.replace("{table}", table);
            let found = database.ask("alice", &format!("SET longhaul.tenant = '{setting}'; {statement}"));
            prop_assert_eq!(found, "0", "{} with {}", statement, setting);
            Ok(())
        })
        .expect("no row of another tenant");
    let after: Vec<String> = TABLES.iter().map(|table| everything("postgres", table)).collect();
    assert_eq!(before, after);
    for table in TABLES {
        let insert = format!("INSERT INTO longhaul.{table}(tenant) VALUES('bob')");
        assert!(database.try_ask("alice", &insert).unwrap_err().contains("row-level security"), "{table}");
    }
    // A tenant is a role that one is a member of.
    let other = TeamOptions { tenant: "bob".into(), ..team_of(&database, "alice") };
    let refused = TeamArchive::open(&other).expect("it connects").sessions();
    assert!(matches!(refused, Err(ArchiveError::NoTenant { tenant }) if tenant == "bob"));
    database.ask("postgres", "GRANT bob TO alice");
    let mut shared = TeamArchive::open(&other).expect("it opens");
    assert_eq!(shared.sessions().expect("sessions").len(), 1);
    let hits = shared.recall(&Question::new("walrus", now()), 5).expect("hits");
    assert!(hits[0].excerpt.text.contains("bob"));
    database.ask("postgres", "REVOKE bob FROM alice");
    assert!(matches!(shared.sessions(), Err(ArchiveError::NoTenant { .. })));
    // Whom row-level security does not bind is refused.
    let above = TeamArchive::open(&team_of(&database, "postgres"));
    assert!(matches!(above, Err(ArchiveError::AboveSecurity { role }) if role == "postgres"));
}

#[test]
fn several_write_at_once() {
    let Some(database) = database("writers") else { return };
    let places: Vec<Place> = (0..4).map(|_| Place::new()).collect();
    std::thread::scope(|scope| {
        for (writer, place) in places.iter().enumerate() {
            let database = &database;
            scope.spawn(move || {
                for number in 0..12 {
                    // The names of two machines may be the same.
                    place
                        .write(&format!("s{number}"), &[&format!("ring buffer {writer} of {number}"), "yes"]);
                }
                let mut archive = place.archive();
                place.sync(&mut archive);
                let mut team = open(database, "alice");
                assert_eq!(push(&archive, &mut team).expect("pushed").pushed, 12);
            });
        }
    });
    let mut team = open(&database, "alice");
    let sessions = team.sessions().expect("sessions");
    let names: BTreeSet<&str> = sessions.iter().map(|one| one.session.source.session.as_str()).collect();
    assert_eq!((sessions.len(), names.len()), (48, 48));
    assert_eq!(database.ask("alice", "SELECT passages FROM longhaul.total"), "96");
    assert_eq!(database.ask("alice", "SELECT passages FROM longhaul.frequency WHERE token = 'ring'"), "48");
    let hits = team.recall(&Question::new("ring buffer", now()), 100).expect("hits");
    assert_eq!(hits.iter().filter(|hit| hit.excerpt.text.starts_with("ring")).count(), 48);
    assert_eq!(team.rebuild().expect("made anew"), 48);
    assert_eq!(team.recall(&Question::new("ring buffer", now()), 100).expect("hits").len(), hits.len());
    let now = longhaul_conversation::Timestamp::parse("2096-01-01T00:00:00Z").expect("a time");
    let old = Retention { max_days: Some(30), project: Some("/srv/shop".into()), ..Retention::default() };
    assert_eq!(team.expired(&old, now).expect("sessions").len(), 48);
    let other = Retention { project: Some("/elsewhere".into()), ..old };
    assert_eq!(team.expired(&other, now).expect("sessions").len(), 0);
}

#[test]
fn a_lost_connection_loses_nothing() {
    let Some(database) = database("lost") else { return };
    let place = Place::new();
    for number in 0..60 {
        let text = format!("word{number} {}", "and some more words of it ".repeat(40));
        place.write(&format!("s{number}"), &[&text, "yes", &text]);
    }
    let mut archive = place.archive();
    place.sync(&mut archive);
    let is_done = AtomicBool::new(false);
    let (kills, pushed) = std::thread::scope(|scope| {
        let killer = scope.spawn(|| {
            let mut kills = 0;
            while !is_done.load(Ordering::Acquire) && kills < 40 {
                // One that is at work; what is idle has nothing to lose.
                kills += database
                    .ask(
                        "postgres",
                        "SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                         WHERE usename = 'alice' AND datname = current_database() AND state <> 'idle' \
                         AND backend_xid IS NOT NULL) AS killed",
                    )
                    .parse::<usize>()
                    .expect("a number");
            }
            kills
        });
        let mut pushed = 0;
        loop {
            let done = TeamArchive::open(&team_of(&database, "alice"))
                .and_then(|mut team| push(&archive, &mut team));
            match done {
                Ok(report) => {
                    pushed += report.pushed;
                    break;
                }
                Err(ArchiveError::PushStopped { sessions, .. }) => pushed += sessions,
                Err(_) => {}
            }
        }
        is_done.store(true, Ordering::Release);
        (killer.join().expect("the killer"), pushed)
    });
    assert!(kills > 0, "no connection was lost");
    assert!(pushed <= 60);
    let mut team = open(&database, "alice");
    assert_eq!(push(&archive, &mut team).expect("pushed").pushed, 0);
    assert_eq!(team.sessions().expect("sessions").len(), 60);
    for query in ["word7", "word7 words", "some more words"] {
        let question = Question::new(query, now());
        assert_eq!(team.ranking(&question).expect("one"), archive.ranking(&question).expect("another"));
    }
    let mut text = Vec::new();
    let session = team.find("s7").expect("found").expect("it is there");
    team.export(&session.session, &mut text).expect("exported");
    assert_eq!(text, std::fs::read(place.source("s7").path).expect("the file"));
}

#[test]
fn what_was_copied_exactly_is_pushed_redacted() {
    let Some(database) = database("redacted") else { return };
    let place = Place::new();
    let token = ["ghp_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat();
    place.write("one", &[&format!("deploy with GH={token} please")]);
    let mut archive = place.archive();
    archive.sync(&place.sources(), &SyncOptions { redaction: Redaction::Off, ..options() }).expect("a sync");
    let mut team = open(&database, "alice");
    push(&archive, &mut team).expect("pushed");
    let session = team.find("one").expect("found").expect("it is there").session;
    let mut text = Vec::new();
    team.export(&session, &mut text).expect("exported");
    let text = String::from_utf8(text).expect("text");
    assert!(text.contains("[REDACTED]") && !text.contains(&token));
    let found =
        format!("SELECT count(*) FROM longhaul.posting WHERE token LIKE '%{}%'", &token[4..].to_lowercase());
    assert_eq!(database.ask("postgres", &found), "0");
}

/// Nothing is used that a pooler would break which gives each transaction another connection.
#[test]
fn statements_suit_a_pooler() {
    let Some(database) = database("pooled") else { return };
    let place = Place::new();
    place.write("one", &["the walrus plan", "yes"]);
    let mut archive = place.archive();
    place.sync(&mut archive);
    let mut team = open(&database, "alice");
    push(&archive, &mut team).expect("pushed");
    team.recall(&Question::new("walrus", now()), 5).expect("hits");
    delete_all(&mut team);
    let log = database.log();
    let statements = log.lines().filter(|line| line.contains("[alice@pooled]"));
    let (mut unnamed, mut settings) = (0, 0);
    for line in statements {
        assert!(!line.contains("execute ") || line.contains("execute <unnamed>"), "{line}");
        unnamed += usize::from(line.contains("execute <unnamed>"));
        settings += usize::from(line.contains("set_config('longhaul.tenant', $1, true)"));
        let statement = line.split("statement: ").nth(1).unwrap_or_default();
        assert!(!statement.to_uppercase().starts_with("SET ") && !statement.contains("PREPARE"), "{line}");
    }
    assert!(unnamed > 20 && settings > 3, "{unnamed} {settings}\n{log}");
}

/// Six clients of two tenants share two connections each.
#[test]
fn clients_of_a_pooler_see_their_own() {
    let Some(database) = database("pooler") else { return };
    let Some(pooler) = Pooler::start(&database, &["alice", "bob"]) else { return };
    std::thread::scope(|scope| {
        for (role, writer) in [("alice", 0), ("bob", 1), ("alice", 2), ("bob", 3), ("alice", 4), ("bob", 5)] {
            let pooler = &pooler;
            scope.spawn(move || {
                let place = Place::new();
                for number in 0..5 {
                    place.write(&format!("{role}{writer}{number}"), &[&format!("walrus of {role}"), "yes"]);
                }
                let mut archive = place.archive();
                place.sync(&mut archive);
                let options = TeamOptions { url: pooler.url(role), tenant: String::new() };
                let mut team = TeamArchive::open(&options).expect("it opens");
                assert_eq!(push(&archive, &mut team).expect("pushed").pushed, 5);
                for hit in team.recall(&Question::new("walrus", now()), 50).expect("hits") {
                    assert!(hit.session.as_str().starts_with(role), "{role} found {}", hit.session);
                }
            });
        }
    });
    for role in ["alice", "bob"] {
        assert_eq!(open(&database, role).sessions().expect("sessions").len(), 15);
    }
}

#[test]
fn migrations_go_forward() {
    let Some(server) = Server::shared() else { return };
    let database = server.database("migrations", &["alice"]);
    let owner = TeamOptions { url: database.url("postgres"), tenant: String::new() };
    let alice = team_of(&database, "alice");
    let refused = TeamArchive::open(&alice);
    assert!(matches!(refused, Err(ArchiveError::OlderSchema { found: 0, known: 1 })), "{refused:?}");
    // Two at once make it once.
    let versions: Vec<(i32, i32)> = std::thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| TeamArchive::migrate(&owner).expect("migrated")));
        both.map(|one| one.join().expect("a thread")).into()
    });
    assert!(versions.contains(&(0, 1)) && versions.contains(&(1, 1)), "{versions:?}");
    assert_eq!(database.ask("postgres", "SELECT count(*) FROM longhaul.migration"), "1");
    assert_eq!(TeamArchive::open(&alice).expect("it opens").sessions().expect("sessions").len(), 0);
    database.ask("postgres", "INSERT INTO longhaul.migration(version) VALUES(7)");
    for refused in [TeamArchive::open(&alice).map(drop), TeamArchive::migrate(&owner).map(drop)] {
        assert!(matches!(refused, Err(ArchiveError::NewerSchema { found: 7, known: 1 })), "{refused:?}");
    }
    // A role that may create schemas needs no administrator.
    let database = server.database("own_schema", &["alice"]);
    database.ask("postgres", "GRANT CREATE ON DATABASE own_schema TO alice");
    assert!(open(&database, "alice").sessions().expect("sessions").is_empty());
}

#[test]
fn what_is_no_server_is_named() {
    for url in ["nonsense", "postgres://nobody@127.0.0.1:1/none"] {
        let failed = TeamArchive::open(&TeamOptions { url: url.into(), tenant: String::new() });
        assert!(matches!(failed, Err(ArchiveError::Connect { .. })), "{url}");
    }
}
