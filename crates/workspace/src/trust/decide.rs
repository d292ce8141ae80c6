//! The decision about trust in a folder: by the environment, a setting, the editor, or a rule.

use std::cmp::Reverse;
use std::path::Path;

use super::rule::{TrustLevel, TrustRule};
use crate::paths::canonical;
use crate::{Environment, WorkspaceError};

/// A question about trust, with all that may answer it before the rules do.
#[derive(Clone, Copy, Debug)]
pub struct TrustQuery<'a> {
    /// The folder in question.
    pub location: &'a Path,
    /// The variable `GEMINI_CLI_TRUST_WORKSPACE`: `true` or `false`, in any case of letters. Anything
    /// else counts as not set.
    pub environment: Option<&'a str>,
    /// True if folders need trust at all: the setting `security.folderTrust.enabled`.
    pub is_enabled: bool,
    /// The answer of the editor that Longhaul runs in.
    pub editor: Option<bool>,
}

impl<'a> TrustQuery<'a> {
    /// A question that only the rules answer.
    pub fn about(location: &'a Path) -> Self {
        Self { location, environment: None, is_enabled: true, editor: None }
    }

    /// The same question where the environment has a say.
    pub fn in_environment(self, environment: &'a Environment) -> Self {
        Self { environment: environment.trust_workspace.as_deref(), ..self }
    }
}

/// The answer, with who gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The folder's own files count.
    Trusted(Decider),
    /// They do not.
    Untrusted(Decider),
    /// Nobody has said: a person can be asked, and until then the folder is not trusted.
    Undecided,
}

/// The source of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decider {
    /// The environment.
    Environment,
    /// The setting by which no folder needs trust.
    FeatureDisabled,
    /// The editor.
    Editor,
    /// This rule.
    Rule(TrustRule),
}

impl Trust {
    /// True if the folder's own files count.
    pub fn is_trusted(&self) -> bool {
        matches!(self, Self::Trusted(_))
    }

    fn new(is_trusted: bool, decider: Decider) -> Self {
        if is_trusted { Self::Trusted(decider) } else { Self::Untrusted(decider) }
    }
}

/// Answers a question; `rules` is asked only if nothing else decides.
pub(super) fn decide(
    query: &TrustQuery<'_>,
    rules: impl FnOnce() -> Result<Vec<TrustRule>, WorkspaceError>,
) -> Result<Trust, WorkspaceError> {
    if let Some(is_trusted) = query.environment.and_then(parse_override) {
        return Ok(Trust::new(is_trusted, Decider::Environment));
    }
    if !query.is_enabled {
        return Ok(Trust::Trusted(Decider::FeatureDisabled));
    }
    if let Some(is_trusted) = query.editor {
        return Ok(Trust::new(is_trusted, Decider::Editor));
    }
    Ok(decide_by_rules(rules()?, query.location))
}

fn parse_override(value: &str) -> Option<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// The rule about the folder nearest to `location` decides, and of several about one folder that of less trust.
///
/// Decides by the folders that rules cover. The length of a path as written would let a rule about a long path,
/// or one that reaches its folder by a link, outweigh a distrust that is nearer.
fn decide_by_rules(rules: Vec<TrustRule>, location: &Path) -> Trust {
    if !location.is_absolute() {
        return Trust::Undecided;
    }
    let location = canonical(location);
    let covering = rules.into_iter().filter_map(|rule| {
        let folder = rule.covers().filter(|folder| location.starts_with(folder))?;
        let depth = folder.components().count();
        Some((depth, rule))
    });
    // The first of the best, so that of equal rules the earlier one is named.
    let nearest =
        covering.min_by_key(|(depth, rule)| (Reverse(*depth), rule.level != TrustLevel::DoNotTrust));
    match nearest {
        Some((_, rule)) => Trust::new(rule.level != TrustLevel::DoNotTrust, Decider::Rule(rule)),
        None => Trust::Undecided,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;

    use TrustLevel::{DoNotTrust, TrustFolder, TrustParent};

    fn rules(rules: &[(&str, TrustLevel)]) -> Vec<TrustRule> {
        rules.iter().map(|(path, level)| TrustRule { path: path.into(), level: *level }).collect()
    }

    /// Checks which rule decides, by its place in the list, and that it decides by its level.
    #[track_caller]
    fn check(written: &[(&str, TrustLevel)], location: &str, expected: Option<usize>) {
        let trust = decide_by_rules(rules(written), Path::new(location));
        let decider = expected.map(|place| rules(written).remove(place));
        match (decider, trust) {
            (None, trust) => assert_eq!(trust, Trust::Undecided, "{location}"),
            (Some(rule), trust) => {
                let is_trusted = rule.level != DoNotTrust;
                assert_eq!(trust, Trust::new(is_trusted, Decider::Rule(rule)), "{location}");
            }
        }
    }

    #[test]
    fn a_rule_covers_what_is_below_it() {
        let one = [("/no/work", TrustFolder)];
        check(&one, "/no/work", Some(0));
        check(&one, "/no/work/deep/er/", Some(0));
        check(&one, "/no", None);
        check(&one, "/no/workshop", None);
        check(&one, "/no/work/../else", None);
        check(&one, "work", None);
        check(&[], "/no/work", None);
        check(&[("/", TrustFolder)], "/no", Some(0));
    }

    #[test]
    fn the_parent_is_trusted_with_its_other_children() {
        let one = [("/no/work/app", TrustParent)];
        check(&one, "/no/work", Some(0));
        check(&one, "/no/work/other", Some(0));
        check(&one, "/no", None);
    }

    #[test]
    fn the_nearest_rule_decides() {
        let nested = [("/no/a", TrustFolder), ("/no/a/b", DoNotTrust), ("/no/a/b/c", TrustFolder)];
        check(&nested, "/no/a/x", Some(0));
        check(&nested, "/no/a/b/x", Some(1));
        check(&nested, "/no/a/b/c/x", Some(2));
    }

    #[test]
    fn a_long_path_does_not_outweigh_a_near_distrust() {
        let written = [("/no/a/a-very-long-name", TrustParent), ("/no/a/b", DoNotTrust)];
        check(&written, "/no/a/b/c", Some(1));
        check(&written, "/no/a/c", Some(0));
        // About one folder, distrust wins.
        check(&[("/no/a/b", TrustParent), ("/no/a", DoNotTrust)], "/no/a/c", Some(1));
    }

    #[test]
    fn links_lead_to_what_is_judged() {
        let root = tempfile::tempdir().expect("a folder");
        let real = root.path().canonicalize().expect("there");
        let at = |name: &str| real.join(name).to_str().expect("text").to_owned();
        for folder in ["trusted", "evil"] {
            fs::create_dir(at(folder)).expect("made");
        }
        std::os::unix::fs::symlink(at("evil"), at("trusted/link")).expect("linked");
        std::os::unix::fs::symlink(at("trusted"), at("alias")).expect("linked");
        let one = [(at("alias"), TrustFolder)];
        let one = one.each_ref().map(|(path, level)| (path.as_str(), *level));
        check(&one, &at("trusted/new"), Some(0));
        check(&one, &at("alias"), Some(0));
        check(&one, &at("trusted/link"), None);
        check(&one, &at("trusted/link/deeper"), None);
    }

    #[track_caller]
    fn check_order(environment: Option<&str>, is_enabled: bool, editor: Option<bool>, expected: &Trust) {
        let query = TrustQuery { location: Path::new("/no"), environment, is_enabled, editor };
        let answer = decide(&query, || Ok(rules(&[("/no", DoNotTrust)]))).expect("answered");
        assert_eq!(answer, *expected);
    }

    #[test]
    fn environment_setting_editor_and_rules_decide_in_this_order() {
        let by_rule = Trust::Untrusted(Decider::Rule(rules(&[("/no", DoNotTrust)]).remove(0)));
        check_order(Some("true"), true, Some(false), &Trust::Trusted(Decider::Environment));
        check_order(Some(" FALSE "), false, Some(true), &Trust::Untrusted(Decider::Environment));
        check_order(Some("1"), false, Some(false), &Trust::Trusted(Decider::FeatureDisabled));
        check_order(None, true, Some(true), &Trust::Trusted(Decider::Editor));
        check_order(None, true, Some(false), &Trust::Untrusted(Decider::Editor));
        check_order(Some(""), true, None, &by_rule);
        assert!(!by_rule.is_trusted() && !Trust::Undecided.is_trusted());
    }
}
