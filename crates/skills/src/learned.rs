//! Skills that were learned: what each of them must have, whoever wrote it, and those that a model wrote.

use longhaul_redact::{has_secret, redact};

use crate::manifest::one_line;
use crate::neutralise::neutralise;
use crate::{SkillName, parse_manifest, render_manifest};

/// The parts that every learned skill has, in order.
pub(crate) const PARTS: [&str; 4] = ["When to Use", "Procedure", "Pitfalls and Fixes", "Verification"];

/// A learned skill is read by people before it counts, and is no longer than they read, in characters.
const LONGEST_TEXT: usize = 20_000;

/// One or two lines, in characters.
pub(crate) const LONGEST_DESCRIPTION: usize = 320;

/// The longest name, in characters.
const LONGEST_NAME: usize = 64;

/// So many scripts may come with it.
const MOST_SCRIPTS: usize = 4;

/// So long may a script be, in characters.
const LONGEST_SCRIPT: usize = 10_000;

/// The extensions of scripts.
const SCRIPT_ENDS: [&str; 3] = ["sh", "bash", "py"];

/// A skill that a model wrote after past sessions. It has all its parts and no secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearnedSkill {
    name: SkillName,
    text: String,
    commands: Vec<String>,
    scripts: Vec<LearnedScript>,
}

/// A script that comes with a learned skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearnedScript {
    name: String,
    text: String,
}

impl LearnedScript {
    /// Takes a script for the folder `scripts/`. Secrets in it are replaced.
    ///
    /// # Errors
    /// The fault, in words.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let plain = name.strip_prefix("scripts/").unwrap_or(name);
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        let is_name = plain.rsplit_once('.').is_some_and(|(stem, end)| {
            !stem.is_empty()
                && stem.len() <= LONGEST_NAME
                && stem.chars().all(is_plain)
                && SCRIPT_ENDS.contains(&end)
        });
        if !is_name {
            return Err(format!(
                "{name:?} is no name for a script: letters, digits, - and _, then .sh, .bash or .py"
            ));
        }
        if text.chars().count() > LONGEST_SCRIPT || text.contains('\0') {
            return Err(format!("{plain} is longer than {LONGEST_SCRIPT} characters, or no text"));
        }
        if !text.to_lowercase().contains("usage") {
            return Err(format!("{plain} does not show its usage"));
        }
        Ok(Self { name: plain.to_string(), text: clean(text) })
    }

    /// The name of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl LearnedSkill {
    /// Takes a whole SKILL.md and its scripts. Secrets in them are replaced.
    ///
    /// # Errors
    /// The missing or wrong parts, in words for the author.
    pub fn parse(text: &str, scripts: Vec<LearnedScript>) -> Result<Self, String> {
        if text.chars().count() > LONGEST_TEXT {
            return Err(format!("it is longer than {LONGEST_TEXT} characters"));
        }
        let mut manifest = parse_manifest(text).map_err(|error| error.to_string())?;
        let name = manifest.name.as_str();
        if !is_kebab(name) {
            return Err(format!("its name {name:?} is not in kebab case, such as release-the-server"));
        }
        if manifest.description.chars().count() > LONGEST_DESCRIPTION {
            return Err(format!("its description is longer than {LONGEST_DESCRIPTION} characters"));
        }
        manifest.description = clean(&manifest.description);
        manifest.body = clean(&neutralise(&manifest.body));
        let text = render_manifest(&manifest);
        check_learned(&text)?;
        if scripts.len() > MOST_SCRIPTS {
            return Err(format!("it has more than {MOST_SCRIPTS} scripts"));
        }
        let is_twice =
            |script: &LearnedScript| scripts.iter().filter(|other| other.name == script.name).count() > 1;
        if let Some(script) = scripts.iter().find(|script| is_twice(script)) {
            return Err(format!("there are two scripts {}", script.name));
        }
        let commands = procedure_code(&manifest.body);
        if commands.is_empty() {
            return Err("no step of its procedure names a command or a path as `code`".into());
        }
        Ok(Self { name: manifest.name, text, commands, scripts })
    }

    /// Its name.
    pub fn name(&self) -> &SkillName {
        &self.name
    }

    /// The whole SKILL.md.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The code of its procedure, in order.
    pub fn commands(&self) -> &[String] {
        &self.commands
    }

    /// Its scripts.
    pub fn scripts(&self) -> &[LearnedScript] {
        &self.scripts
    }
}

fn clean(text: &str) -> String {
    redact(text).text.into_owned()
}

fn is_kebab(name: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit())
    };
    name.len() <= LONGEST_NAME && name.split('-').all(is_word)
}

/// Checks that a learned skill has all that makes it worth having.
///
/// # Errors
/// The missing parts, in words.
pub(crate) fn check_learned(text: &str) -> Result<(), String> {
    let manifest = parse_manifest(text).map_err(|error| error.to_string())?;
    if let Some(kind) = has_secret(text) {
        return Err(format!("it holds a secret ({})", kind.name()));
    }
    let section = |number: usize| section(&manifest.body, PARTS[number]);
    let has_item = |text: String| text.lines().any(|line| is_item(line.trim_start()));
    if !section(0).is_some_and(has_item) {
        return Err("it does not say when to use it, in a list below \"## When to Use\"".into());
    }
    if !section(1).is_some_and(|text| text.lines().any(|line| line.starts_with("1. "))) {
        return Err("it has no numbered procedure below \"## Procedure\"".into());
    }
    if ![2, 3].into_iter().any(|number| section(number).is_some_and(has_item)) {
        return Err("it names neither a pitfall nor a way to check the result, in a list below \
                    \"## Pitfalls and Fixes\" or \"## Verification\""
            .into());
    }
    Ok(())
}

/// The code in the procedure of a skill, in order.
pub(crate) fn procedure_code(body: &str) -> Vec<String> {
    code_in(&section(body, PARTS[1]).unwrap_or_default())
}

/// The text below a heading.
fn section(body: &str, title: &str) -> Option<String> {
    let mut lines = body.lines().skip_while(|line| heading(line) != Some(title));
    lines.next()?;
    Some(lines.take_while(|line| heading(line).is_none()).collect::<Vec<_>>().join("\n"))
}

fn heading(line: &str) -> Option<&str> {
    Some(line.strip_prefix("## ")?.trim())
}

fn is_item(line: &str) -> bool {
    line.starts_with("- ")
        || line.starts_with("* ")
        || line.starts_with(|letter: char| letter.is_ascii_digit())
}

/// The code in a text: the lines of blocks, and the spans between back-ticks.
fn code_in(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut is_block = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") {
            is_block = !is_block;
        } else if is_block {
            found.push(one_line(trimmed.trim_start_matches('$')));
        } else {
            found.extend(spans(trimmed).map(one_line));
        }
    }
    found.retain(|code| !code.is_empty() && !code.starts_with('#'));
    found
}

/// The spans between runs of back-ticks of the same length.
fn spans(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find('`')?;
            let inside = rest[start..].trim_start_matches('`');
            let fence = &rest[start..rest.len() - inside.len()];
            match inside.find(fence) {
                Some(end) => {
                    rest = &inside[end + fence.len()..];
                    return Some(inside[..end].trim());
                }
                None => rest = inside,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WHOLE: &str = "---\nname: release-it\ndescription: Use when a version is released.\n---\n## When to Use\n- x\n\
                         ## Procedure\n1. Run `make dist`.\n```\n$ ./up.sh\n# never\n```\n## Verification\n- z\n";

    #[track_caller]
    fn check_refused(text: &str, reason: &str) {
        let refused = LearnedSkill::parse(text, Vec::new()).unwrap_err();
        assert!(refused.contains(reason), "{refused}");
    }

    #[test]
    fn a_learned_skill_has_all_its_parts() {
        let learned = LearnedSkill::parse(WHOLE, Vec::new()).expect("whole");
        assert_eq!(learned.name().as_str(), "release-it");
        assert_eq!(learned.commands(), ["make dist", "./up.sh"]);
        assert_eq!(check_learned(learned.text()), Ok(()));
        check_refused(&WHOLE.replace("- x", "x"), "does not say when");
        check_refused(&WHOLE.replace("1. Run", "Run"), "no numbered procedure");
        check_refused(&WHOLE.replace("- z", "z"), "neither a pitfall nor");
        check_refused(&WHOLE.replace("name: release-it", ""), "\"name\" is missing");
        check_refused(&WHOLE.replace("release-it", "Release It"), "kebab case");
        check_refused(&WHOLE.replace("release-it", "../x"), "starts with a dot");
        check_refused(&WHOLE.replace("release-it", "a/../x"), "kebab case");
        check_refused(&WHOLE.replace("Use when", &"Use when ".repeat(50)), "its description is longer");
        check_refused(&WHOLE.replace("- z", &"- z\n".repeat(10_000)), "it is longer");
        check_refused(&WHOLE.replace("`make dist`", "it").replace("./up.sh", ""), "as `code`");
        check_refused("", "no front matter");
    }

    #[test]
    fn secrets_are_replaced_or_refused() {
        let secret = ["ghp_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat();
        let text = WHOLE.replace("make dist", &format!("GH_TOKEN={secret} make dist"));
        let script =
            LearnedScript::parse("up.sh", &format!("# usage: up.sh\nexport T={secret}\n")).expect("one");
        let learned = LearnedSkill::parse(&text, vec![script]).expect("whole");
        for text in [learned.text(), learned.scripts()[0].text(), &learned.commands()[0]] {
            assert!(!text.contains(&secret) && text.contains("[REDACTED]"), "{text}");
        }
        assert!(check_learned(&text).unwrap_err().contains("it holds a secret"));
    }

    #[track_caller]
    fn check_script(name: &str, text: &str, expected: Option<&str>) {
        assert_eq!(
            LearnedScript::parse(name, text).ok().map(|script| script.name),
            expected.map(str::to_string)
        );
    }

    #[test]
    fn scripts_have_plain_names_and_show_their_usage() {
        check_script("up.sh", "# Usage: up.sh", Some("up.sh"));
        check_script("scripts/check_it.py", "\"\"\"usage\"\"\"", Some("check_it.py"));
        for name in
            ["../up.sh", "/up.sh", "scripts/../up.sh", "a/b.sh", "up", ".sh", "up.exe", "a\0.sh", "ü.sh"]
        {
            check_script(name, "usage", None);
        }
        check_script("up.sh", "echo", None);
        let twice = vec![LearnedScript::parse("a.sh", "usage").unwrap(); 2];
        assert!(LearnedSkill::parse(WHOLE, twice).unwrap_err().contains("two scripts"));
    }

    #[test]
    fn code_is_found_whatever_marks_it_has() {
        assert_eq!(code_in("1. `a` then `` b `c` `` and ` d"), ["a", "b `c`"]);
        assert_eq!(code_in("```sh\nx\n\n```\n- `y`"), ["x", "y"]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(---\n|name: a\n|description: b\n|## (When to Use|Procedure|Verification)\n|[-1`. \n#é]{0,8}){0,20}") {
            if let Ok(learned) = LearnedSkill::parse(&text, Vec::new()) {
                let again = LearnedSkill::parse(learned.text(), Vec::new());
                prop_assert_eq!(again, Ok(learned));
            }
        }
    }
}
