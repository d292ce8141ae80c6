//! A crate uses only crates of lower levels; ARCHITECTURE.md says which level each has.

use std::collections::BTreeMap;
use std::path::Path;

/// What a manifest says about its package: level and the packages of ours it is built from.
struct Package {
    name: String,
    level: Option<u32>,
    uses: Vec<String>,
}

fn read_manifest(text: &str) -> Package {
    let mut package = Package { name: String::new(), level: None, uses: Vec::new() };
    let mut section = "";
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = name;
            continue;
        }
        let Some((key, value)) = line.split_once('=').map(|(key, value)| (key.trim(), value.trim())) else {
            continue;
        };
        match (section, key) {
            ("package", "name") => package.name = value.trim_matches('"').to_string(),
            ("package.metadata.longhaul", "level") => package.level = value.parse().ok(),
            ("dependencies" | "build-dependencies", key) if key.starts_with("longhaul-") => {
                package.uses.push(key.split('.').next().unwrap_or(key).to_string());
            }
            _ => {}
        }
    }
    package
}

fn faults(packages: &[Package]) -> Vec<String> {
    let levels: BTreeMap<&str, Option<u32>> =
        packages.iter().map(|package| (package.name.as_str(), package.level)).collect();
    let mut faults = Vec::new();
    for package in packages.iter().filter(|package| package.name != "longhaul-testkit") {
        let Some(level) = package.level else {
            faults.push(format!("{} states no level", package.name));
            continue;
        };
        for used in &package.uses {
            match levels.get(used.as_str()).copied().flatten() {
                Some(lower) if lower < level => {}
                Some(other) => {
                    faults.push(format!("{} (level {level}) uses {used} (level {other})", package.name));
                }
                None => faults.push(format!("{} uses {used}, which has no level", package.name)),
            }
        }
    }
    faults
}

#[test]
fn crates_use_only_lower_levels() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of all crates");
    let packages: Vec<Package> = std::fs::read_dir(crates)
        .expect("the crates can be listed")
        .map(|entry| entry.expect("the crates can be listed").path().join("Cargo.toml"))
        .filter(|manifest| manifest.exists())
        .map(|manifest| read_manifest(&std::fs::read_to_string(manifest).expect("a manifest is text")))
        .collect();
    assert!(packages.len() >= 5, "only {} crates were found", packages.len());
    assert_eq!(faults(&packages), Vec::<String>::new());
}

#[test]
fn a_wrong_use_is_found() {
    let package = |name: &str, level, uses: &[&str]| Package {
        name: name.into(),
        level,
        uses: uses.iter().map(ToString::to_string).collect(),
    };
    let good = [package("longhaul-a", Some(0), &[]), package("longhaul-b", Some(1), &["longhaul-a"])];
    assert!(faults(&good).is_empty());
    let same = [package("longhaul-a", Some(1), &[]), package("longhaul-b", Some(1), &["longhaul-a"])];
    assert_eq!(faults(&same), ["longhaul-b (level 1) uses longhaul-a (level 1)"]);
    assert_eq!(faults(&[package("longhaul-a", None, &[])]), ["longhaul-a states no level"]);
}
