//! Completion of slash commands.

use super::{ALL, SlashCommand, Subcommand, commands_of, find, offered};
use crate::inbox::SkillChoice;
use crate::offers::Offers;

/// The completions of a typed command or its subcommands, each with a description.
pub(crate) fn complete(typed: &str, offers: &Offers, skills: &[SkillChoice]) -> Vec<(String, String)> {
    let Some(typed) = typed.strip_prefix('/') else { return Vec::new() };
    match typed.split_once(' ') {
        None => {
            let fits = |slash: &&SlashCommand| {
                slash.name.starts_with(typed) || slash.aliases.iter().any(|alias| alias.starts_with(typed))
            };
            let own =
                ALL.iter().filter(fits).map(|slash| (format!("/{}", slash.name), slash.does.to_string()));
            let custom = offered(&offers.commands);
            let learned =
                commands_of(skills, &custom).into_iter().filter(|skill| skill.name.starts_with(typed));
            let learned = learned.map(|skill| (format!("/{}", skill.name), skill.does));
            let written = custom.iter().filter(|custom| custom.name.starts_with(typed));
            let written = written.map(|custom| (format!("/{}", custom.name), custom.does.clone()));
            own.chain(written).chain(learned).collect()
        }
        Some((name, rest)) => {
            let Some(slash) = find(name) else { return Vec::new() };
            let fits = |sub: &&Subcommand| {
                sub.words.starts_with(rest) && sub.words != rest && depth(sub.words) == depth(rest)
            };
            let subs = slash.subs.iter().filter(fits);
            let mut found: Vec<(String, String)> =
                subs.map(|sub| (format!("/{name} {}", sub.words), described(sub))).collect();
            found.extend(names(slash, name, rest, skills));
            found.extend(complete_value(slash, name, rest, offers));
            found
        }
    }
}

/// The number of words, including the one being typed.
fn depth(words: &str) -> usize {
    words.split(' ').count()
}

fn described(sub: &Subcommand) -> String {
    match sub.needs {
        "" => sub.does.to_string(),
        needs => format!("{needs}: {}", sub.does),
    }
}

/// The keys of settings and the themes that complete `rest`; a part of a key's name is enough.
fn complete_value(slash: &SlashCommand, name: &str, rest: &str, offers: &Offers) -> Vec<(String, String)> {
    let (choices, lead, begun) = match (slash.name, rest.split_once(' ')) {
        ("theme", None) => (&offers.themes, String::new(), rest),
        ("config", Some((word @ ("show" | "set" | "unset"), begun))) => {
            (&offers.settings, format!("{word} "), begun)
        }
        _ => return Vec::new(),
    };
    let begun = begun.to_lowercase();
    let fits = |known: &&(String, String)| {
        let known = known.0.to_lowercase();
        known.contains(&begun) && known != begun
    };
    let fitting = choices.iter().filter(fits);
    fitting.map(|(choice, does)| (format!("/{name} {lead}{choice}"), does.clone())).collect()
}

/// The skill names that complete `rest`.
fn names(slash: &SlashCommand, name: &str, rest: &str, skills: &[SkillChoice]) -> Vec<(String, String)> {
    let Some((word, begun)) = rest.split_once(' ').filter(|_| slash.name == "skills") else {
        return Vec::new();
    };
    let is_meant = |skill: &&SkillChoice| match word {
        "show" => true,
        "enable" => !skill.is_enabled,
        "disable" => skill.is_enabled,
        _ => false,
    };
    let fits = |skill: &&SkillChoice| {
        let (known, begun) = (skill.name.to_lowercase(), begun.to_lowercase());
        known.starts_with(&begun) && known != begun
    };
    let meant = skills.iter().filter(is_meant).filter(fits);
    meant.map(|skill| (format!("/{name} {word} {}", skill.name), skill.description.clone())).collect()
}

/// True if a chosen command needs an argument.
pub(crate) fn needs_more(chosen: &str) -> bool {
    let typed = chosen.strip_prefix('/').and_then(|typed| typed.split_once(' '));
    let Some((name, words)) = typed else { return false };
    find(name).is_some_and(|slash| slash.subs.iter().any(|sub| sub.words == words && !sub.needs.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offers::CustomCommand;

    fn skills() -> Vec<SkillChoice> {
        let skill = |name: &str, is_enabled| SkillChoice {
            name: name.into(),
            description: format!("does {name}"),
            is_enabled,
            is_builtin: false,
        };
        vec![skill("Tide tables", true), skill("waves", false)]
    }

    fn offers() -> Offers {
        let named = |name: &str| (name.to_string(), format!("about {name}"));
        let command = |name: &str| CustomCommand {
            name: name.into(),
            takes: String::new(),
            does: format!("does {name}"),
        };
        Offers {
            commands: vec![command("git:commit"), command("git:fixup")],
            settings: vec![named("general.vimMode"), named("ui.theme")],
            themes: vec![named("dark"), named("light")],
        }
    }

    #[track_caller]
    fn check(typed: &str, expected: &[&str]) {
        let found: Vec<String> =
            complete(typed, &offers(), &skills()).into_iter().map(|(text, _)| text).collect();
        assert_eq!(found, expected, "{typed}");
    }

    #[test]
    fn names_are_completed() {
        check("/co", &["/compress", "/context", "/stats", "/config", "/copy"]);
        check("/compact", &["/compress"]);
        check("/compress u", &["/compress undo"]);
        check("/compress undo", &[]);
        check("/memory re", &["/memory reload", "/memory remove"]);
        check("/memory rel", &["/memory reload"]);
        check(
            "/memory inbox ",
            &["show", "accept", "edit", "dismiss", "undo"]
                .map(|w| format!("/memory inbox {w}"))
                .each_ref()
                .map(String::as_str),
        );
        check("/zz", &[]);
        check("no", &[]);
        assert_eq!(complete("/", &Offers::default(), &[]).len(), ALL.len());
    }

    #[test]
    fn custom_commands_settings_and_themes_are_completed() {
        check("/git:f", &["/git:fixup"]);
        check("/theme ", &["/theme dark", "/theme light"]);
        check("/theme dark", &[]);
        check("/config s", &["/config show", "/config set"]);
        check("/config set vim", &["/config set general.vimMode"]);
        check("/config unset ui.theme", &[]);
    }

    #[test]
    fn skills_are_completed() {
        check("/ti", &["/tide-tables"]);
        check("/wav", &[]);
        check("/skills l", &["/skills list"]);
        check("/skills show ", &["/skills show Tide tables", "/skills show waves"]);
        check("/skills show tide t", &["/skills show Tide tables"]);
        check("/skills enable ", &["/skills enable waves"]);
        check("/skills disable w", &[]);
    }

    #[test]
    fn everything_that_is_offered_says_what_it_does() {
        for slash in ALL {
            assert!(!slash.does.is_empty(), "{}", slash.name);
            for (text, does) in complete(&format!("/{} ", slash.name), &offers(), &skills()) {
                assert!(!does.is_empty(), "{text}");
            }
        }
        assert_eq!(complete("/ti", &offers(), &skills())[0].1, "does Tide tables");
    }

    #[test]
    fn some_words_need_more_behind_them() {
        for chosen in
            ["/rules add", "/memory add", "/skills show", "/skills inbox accept", "/memory inbox edit"]
        {
            assert!(needs_more(chosen), "{chosen}");
        }
        for chosen in
            ["/rules", "/memory list", "/skills inbox", "/skills inbox undo", "/model", "/skills show waves"]
        {
            assert!(!needs_more(chosen), "{chosen}");
        }
    }
}
