//! What holds whatever the files of trust and of projects contain. Property tests and fuzzers call these.

use std::fs;
use std::path::Path;

use longhaul_workspace::{
    Environment, Home, IdOrigin, LockTimeout, Note, Projects, TrustLevel, TrustQuery, TrustRule,
    TrustedFolders, WorkspaceError, canonical_workspace,
};
use serde_json::Value;

/// A file of trust rules with a mistake decides nothing and stays as it is; any other takes a rule and gives it back,
/// with everything else left alone.
pub(crate) fn check_trust(bytes: &[u8]) {
    let root = tempfile::tempdir().expect("a folder");
    let file = root.path().join("trustedFolders.json");
    fs::write(&file, bytes).expect("written");
    let folders = TrustedFolders::at(&file);
    let (folder, inside) = (Path::new("/no/k"), Path::new("/no/k/x"));
    let set = |level| folders.set(folder, level, LockTimeout::default());
    let rules = match folders.rules() {
        Ok(rules) => rules,
        Err(_) => {
            assert!(folders.decide(&TrustQuery::about(inside)).is_err());
            for change in
                [set(TrustLevel::TrustFolder), folders.remove(folder, LockTimeout::default()).map(drop)]
            {
                assert!(matches!(change, Err(WorkspaceError::Invalid { .. })), "{change:?}");
            }
            assert_eq!(fs::read(&file).expect("there"), bytes);
            return;
        }
    };
    assert!(folders.decide(&TrustQuery::about(inside)).is_ok());
    let is_other = |rule: &&TrustRule| canonical_workspace(&rule.path).map_or(true, |path| path != folder);
    let others: Vec<&TrustRule> = rules.iter().filter(is_other).collect();
    for level in [TrustLevel::DoNotTrust, TrustLevel::TrustFolder] {
        set(level).expect("it can be changed");
        let changed = folders.rules().expect("still valid");
        assert_eq!(changed.iter().filter(is_other).collect::<Vec<_>>(), others);
        assert!(changed.iter().filter(|rule| !is_other(rule)).all(|rule| rule.level == level));
        // A rule about the folder above may name it, too, but none is longer.
        let is_inner = |rule: &&TrustRule| rule.path.as_os_str().len() > folder.as_os_str().len();
        if !others.iter().any(is_inner) {
            let decided = folders.decide(&TrustQuery::about(inside)).expect("decided");
            assert_eq!(decided.is_trusted(), level == TrustLevel::TrustFolder, "{decided:?}");
        }
    }
    assert!(folders.remove(folder, LockTimeout::default()).expect("it can be changed"));
    assert_eq!(folders.rules().expect("still valid").iter().collect::<Vec<_>>(), others);
}

/// Whatever the registry holds, looking changes nothing, each project has an id of its own and keeps it, and what could
/// not be understood is kept.
pub(crate) fn check_registry(bytes: &[u8]) {
    let root = tempfile::tempdir().expect("a folder");
    let environment = Environment { longhaul_home: Some(root.path().join("home")), ..Environment::default() };
    let home = Home::resolve(&environment).expect("a home");
    fs::create_dir_all(home.root()).expect("made");
    fs::write(home.projects(), bytes).expect("written");
    let projects = Projects::of(&home);
    let (one, other) = (root.path().join("one"), root.path().join("two/one"));
    let is_sound = projects.look_up(&one).expect("looked up").is_registry_sound;
    assert_eq!(fs::read(home.projects()).expect("there"), bytes);

    let identity = projects.identify(&one, LockTimeout::default()).expect("an id");
    let aside = identity.notes.iter().find_map(|note| match note {
        Note::RegistryKeptAside(path) => Some(path),
        _ => None,
    });
    assert_eq!(aside.is_none(), is_sound);
    if let Some(aside) = aside {
        assert_eq!(fs::read(aside).expect("kept"), bytes);
    }
    assert!(home.project(&identity.id).root().starts_with(home.tmp()));
    let again = projects.identify(&one, LockTimeout::default()).expect("an id");
    assert_eq!((&again.id, again.found), (&identity.id, IdOrigin::Registered));
    assert_ne!(projects.identify(&other, LockTimeout::default()).expect("an id").id, identity.id);
    let written = fs::read(home.projects()).expect("there");
    let written: Value = serde_json::from_slice(&written).expect("JSON");
    assert_eq!(written["projects"][identity.project.to_str().expect("text")], identity.id.as_str());
}
