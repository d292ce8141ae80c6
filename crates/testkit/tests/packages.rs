//! Every crate can be packaged: its manifest says what a registry wants, and it depends on published crates alone.

use std::path::Path;

/// A manifest as its lines: section, key and value.
struct Manifest {
    lines: Vec<(String, String, String)>,
}

impl Manifest {
    fn read(text: &str) -> Self {
        let mut section = String::new();
        let mut lines = Vec::new();
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                section = name.to_string();
            } else if let Some((key, value)) = line.split_once('=') {
                lines.push((section.clone(), key.trim().to_string(), value.trim().to_string()));
            }
        }
        Self { lines }
    }

    fn get(&self, section: &str, key: &str) -> Option<&str> {
        let found = self.lines.iter().find(|(place, name, _)| place == section && name == key);
        found.map(|(_, _, value)| value.as_str())
    }

    /// The number of items of a list on one line.
    fn items(&self, key: &str) -> usize {
        self.get("package", key).map_or(0, |list| list.matches('"').count() / 2)
    }
}

/// The reasons why a registry would refuse a package, or show it without a description.
fn package_faults(manifest: &Manifest) -> Vec<String> {
    let name = manifest.get("package", "name").unwrap_or("a crate without a name");
    let mut faults = Vec::new();
    for key in ["description", "license.workspace", "version.workspace", "authors.workspace"] {
        if manifest.get("package", key).is_none() {
            faults.push(format!("{name} has no {key}"));
        }
    }
    if manifest.get("package", "readme").or(manifest.get("package", "readme.workspace")).is_none() {
        faults.push(format!("{name} has no readme"));
    }
    for key in ["keywords", "categories"] {
        if !(1..=5).contains(&manifest.items(key)) {
            faults.push(format!("{name} needs one to five {key}"));
        }
    }
    for (section, key, value) in &manifest.lines {
        let is_ours = key.starts_with("longhaul-") && section.ends_with("dependencies");
        if is_ours && key.starts_with("longhaul-testkit") && !section.ends_with("dev-dependencies") {
            faults.push(format!("{name} needs longhaul-testkit, which is not published"));
        }
        if is_ours && !key.ends_with(".workspace") && !value.contains("workspace = true") {
            faults.push(format!("{name} names {key} without `workspace = true`"));
        }
    }
    faults
}

/// Crates of ours that a package could not find in a registry, as the workspace gives them no version or another one.
fn version_faults(workspace: &Manifest) -> Vec<String> {
    let version = workspace.get("workspace.package", "version").expect("the workspace has a version");
    let ours = workspace.lines.iter().filter(|(section, key, _)| {
        section == "workspace.dependencies" && key.starts_with("longhaul-") && key != "longhaul-testkit"
    });
    let wrong = ours.filter(|(_, _, value)| !value.contains(&format!("version = {version}")));
    wrong.map(|(_, key, _)| format!("{key} is not given version {version}")).collect()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn crates() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of all crates")
}

#[test]
fn every_crate_can_be_packaged() {
    let root = crates().parent().expect("the folder of the workspace");
    let mut faults = version_faults(&Manifest::read(&read(&root.join("Cargo.toml"))));
    let mut seen = 0;
    for folder in std::fs::read_dir(crates()).expect("the crates can be listed") {
        let path = folder.expect("the crates can be listed").path().join("Cargo.toml");
        if path.exists() && !path.starts_with(env!("CARGO_MANIFEST_DIR")) {
            faults.extend(package_faults(&Manifest::read(&read(&path))));
            seen += 1;
        }
    }
    assert!(seen >= 20, "only {seen} crates were found");
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn libraries_for_others_have_a_readme_whose_program_runs() {
    for name in ["conversation", "compaction", "formats", "memory", "skills", "redact", "policy"] {
        let folder = crates().join(name);
        assert!(read(&folder.join("README.md")).contains("\n```rust\nuse "), "{name} has a program");
        let library = read(&folder.join("src/lib.rs"));
        assert!(
            library.contains(r#"#[doc = include_str!("../README.md")]"#),
            "the doctests of {name} run it"
        );
    }
}

#[test]
fn what_is_missing_is_found() {
    let good = "[package]\nname = \"a\"\ndescription = \"d\"\nversion.workspace = true\nlicense.workspace = true\n\
                authors.workspace = true\nreadme.workspace = true\nkeywords = [\"k\"]\ncategories = [\"c\"]\n\
                [dependencies]\nlonghaul-text.workspace = true\n[dev-dependencies]\nlonghaul-testkit.workspace = true\n";
    assert_eq!(package_faults(&Manifest::read(good)), Vec::<String>::new());
    for (part, worse) in [
        ("description = \"d\"\n", ""),
        ("readme.workspace = true\n", ""),
        ("keywords = [\"k\"]", "keywords = []"),
        ("[dev-dependencies]\n", ""),
        ("longhaul-text.workspace = true", "longhaul-text = { path = \"../text\" }"),
    ] {
        assert_eq!(package_faults(&Manifest::read(&good.replace(part, worse))).len(), 1, "without {part}");
    }
    let workspace = "[workspace.package]\nversion = \"0.2.0\"\n[workspace.dependencies]\n\
                     longhaul-text = { path = \"crates/text\", version = \"0.2.0\" }\n";
    assert!(version_faults(&Manifest::read(workspace)).is_empty());
    assert_eq!(version_faults(&Manifest::read(&workspace.replace("version = \"0.2.0\" }", "}"))).len(), 1);
}
