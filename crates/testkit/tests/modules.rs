//! Inside a crate no cycle of modules is larger than three: small things stand low, what composes stands high.
//!
//! Modules are compared with their siblings, at the root of a crate and inside every folder: `a/b.rs` using `crate::c::d`
//! means that `a` needs `c`. What a file re-exports leads to where it is defined. Tests do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const LARGEST: usize = 3;

type ModulePath = Vec<String>;

/// The source of a crate: each module's tokens, without comments, literals and tests.
#[derive(Default)]
struct Crate {
    modules: BTreeMap<ModulePath, Vec<Token>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    /// `::` or one other character that matters for paths.
    Sign(&'static str),
}

/// One path of a `use` declaration and the name it brings in.
#[derive(Clone)]
struct Import {
    path: Vec<String>,
    name: String,
}

fn tokens_of(source: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let characters: Vec<char> = source.chars().collect();
    let mut index = 0;
    let at = |index: usize| characters.get(index).copied().unwrap_or('\0');
    while index < characters.len() {
        let character = characters[index];
        if character == '/' && at(index + 1) == '/' {
            while index < characters.len() && characters[index] != '\n' {
                index += 1;
            }
        } else if character == '/' && at(index + 1) == '*' {
            let mut depth = 0;
            while index < characters.len() {
                match (characters[index], at(index + 1)) {
                    ('/', '*') => (depth, index) = (depth + 1, index + 2),
                    ('*', '/') => (depth, index) = (depth - 1, index + 2),
                    _ => index += 1,
                }
                if depth == 0 {
                    break;
                }
            }
        } else if character.is_alphabetic() || character == '_' {
            let start = index;
            while index < characters.len()
                && (characters[index].is_alphanumeric() || characters[index] == '_')
            {
                index += 1;
            }
            let word: String = characters[start..index].iter().collect();
            let hashes = (index..).take_while(|index| at(*index) == '#').count();
            if matches!(word.as_str(), "r" | "br" | "cr") && at(index + hashes) == '"' {
                index += hashes + 1;
                let closes =
                    |index: usize| at(index) == '"' && (1..=hashes).all(|offset| at(index + offset) == '#');
                while index < characters.len() && !closes(index) {
                    index += 1;
                }
                index += hashes + 1;
            } else {
                tokens.push(Token::Word(word));
            }
        } else if character == '"' {
            index += 1;
            while index < characters.len() && characters[index] != '"' {
                index += if characters[index] == '\\' { 2 } else { 1 };
            }
            index += 1;
        } else if character == '\'' {
            // A lifetime is a quote and a word; a character is closed by a second quote.
            if at(index + 1) == '\\' {
                index += 3;
                while index < characters.len() && characters[index] != '\'' {
                    index += 1;
                }
                index += 1;
            } else if at(index + 2) == '\'' {
                index += 3;
            } else {
                index += 1;
            }
        } else if character == ':' && at(index + 1) == ':' {
            tokens.push(Token::Sign("::"));
            index += 2;
        } else {
            let sign = match character {
                '{' => "{",
                '}' => "}",
                ',' => ",",
                ';' => ";",
                '*' => "*",
                '#' => "#",
                '[' => "[",
                ']' => "]",
                '(' => "(",
                ')' => ")",
                character if character.is_whitespace() => "",
                _ => ".",
            };
            if !sign.is_empty() {
                tokens.push(Token::Sign(sign));
            }
            index += 1;
        }
    }
    tokens
}

fn is_sign(token: Option<&Token>, sign: &str) -> bool {
    matches!(token, Some(Token::Sign(found)) if *found == sign)
}

fn is_word(token: Option<&Token>, word: &str) -> bool {
    matches!(token, Some(Token::Word(found)) if found == word)
}

/// The index after the group that opens at `start`.
fn after_group(tokens: &[Token], start: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(start) {
        match token {
            Token::Sign("{" | "[" | "(") => depth += 1,
            Token::Sign("}" | "]" | ")") => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return index + 1;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

/// Takes items under `#[cfg(test)]` out, and names the modules among them that are files of their own.
fn without_tests(tokens: &[Token]) -> (Vec<Token>, Vec<String>) {
    let (mut kept, mut files) = (Vec::new(), Vec::new());
    let mut index = 0;
    while index < tokens.len() {
        let is_attribute = is_sign(tokens.get(index), "#") && is_sign(tokens.get(index + 1), "[");
        if is_attribute && is_word(tokens.get(index + 2), "cfg") && is_word(tokens.get(index + 4), "test") {
            index = after_group(tokens, index + 1);
            while is_sign(tokens.get(index), "#") {
                index = after_group(tokens, index + 1);
            }
            let start = index;
            while index < tokens.len() && !is_sign(tokens.get(index), "{") && !is_sign(tokens.get(index), ";")
            {
                index = if matches!(tokens[index], Token::Sign("(" | "[")) {
                    after_group(tokens, index)
                } else {
                    index + 1
                };
            }
            if is_sign(tokens.get(index), ";") {
                if let Some(position) = (start..index).find(|index| is_word(tokens.get(*index), "mod"))
                    && let Some(Token::Word(name)) = tokens.get(position + 1)
                {
                    files.push(name.clone());
                }
                index += 1;
            } else {
                index = after_group(tokens, index);
            }
            continue;
        }
        kept.push(tokens[index].clone());
        index += 1;
    }
    (kept, files)
}

/// The paths of the tree that begins at `index`, each after `prefix`; returns the index after it.
fn expand_use(tokens: &[Token], mut index: usize, prefix: &[String], imports: &mut Vec<Import>) -> usize {
    let mut path = prefix.to_vec();
    loop {
        match tokens.get(index) {
            Some(Token::Word(word)) if word == "as" => {
                if let Some(Token::Word(name)) = tokens.get(index + 1) {
                    imports.push(Import { path, name: name.clone() });
                }
                return index + 2;
            }
            Some(Token::Word(word)) => {
                path.push(word.clone());
                index += 1;
                if !is_sign(tokens.get(index), "::") && !is_word(tokens.get(index), "as") {
                    let name = path.last().cloned().unwrap_or_default();
                    let name = if name == "self" {
                        path.iter().rev().nth(1).cloned().unwrap_or_default()
                    } else {
                        name
                    };
                    imports.push(Import { path, name });
                    return index;
                }
            }
            Some(Token::Sign("::")) => index += 1,
            Some(Token::Sign("*")) => {
                imports.push(Import { path, name: "*".into() });
                return index + 1;
            }
            Some(Token::Sign("{")) => {
                index += 1;
                while index < tokens.len() && !is_sign(tokens.get(index), "}") {
                    index = if is_sign(tokens.get(index), ",") {
                        index + 1
                    } else {
                        expand_use(tokens, index, &path, imports).max(index + 1)
                    };
                }
                return index + 1;
            }
            _ => return index + 1,
        }
    }
}

/// All `use` declarations of a module, and the other paths in it that begin with `crate`, `super` or `self`.
fn paths_of(tokens: &[Token]) -> (Vec<Import>, Vec<Vec<String>>) {
    let (mut imports, mut paths) = (Vec::new(), Vec::new());
    let mut index = 0;
    while index < tokens.len() {
        if is_word(tokens.get(index), "use") {
            index = expand_use(tokens, index + 1, &[], &mut imports);
            continue;
        }
        let begins = ["crate", "super", "self"].iter().any(|word| is_word(tokens.get(index), word));
        if begins && is_sign(tokens.get(index + 1), "::") {
            let mut path = Vec::new();
            while let Some(Token::Word(word)) = tokens.get(index) {
                path.push(word.clone());
                index += 1;
                if !is_sign(tokens.get(index), "::") {
                    break;
                }
                index += 1;
            }
            paths.push(path);
            continue;
        }
        index += 1;
    }
    (imports, paths)
}

impl Crate {
    fn read(source: &Path) -> Self {
        let mut read = Self::default();
        let mut tests = Vec::new();
        for file in longhaul_testkit::files_below(source)
            .iter()
            .filter(|file| file.extension().is_some_and(|end| end == "rs"))
        {
            let module = module_path(file.strip_prefix(source).expect("it is below"));
            let text = std::fs::read_to_string(file).expect("a source file is text");
            let (tokens, test_files) = without_tests(&tokens_of(&text));
            tests.extend(test_files.into_iter().map(|name| [module.as_slice(), &[name]].concat()));
            read.modules.insert(module, tokens);
        }
        read.modules.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
        read
    }

    /// The module that defines what `path` names, seen from `module`; `None` if that is another crate's.
    fn resolve(&self, module: &[String], path: &[String], depth: usize) -> Option<ModulePath> {
        if depth > 8 {
            return None;
        }
        let mut place: ModulePath = module.to_vec();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => (place, rest) = (Vec::new(), &path[1..]),
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|word| word == "super") {
                    place.pop();
                    rest = &rest[1..];
                }
            }
            first => {
                let mut child = place.clone();
                child.push(first.to_owned());
                if !self.modules.contains_key(&child) {
                    return None;
                }
            }
        }
        while let Some(name) = rest.first() {
            let mut child = place.clone();
            child.push(name.clone());
            if self.modules.contains_key(&child) {
                place = child;
                rest = &rest[1..];
                continue;
            }
            let (imports, _) = paths_of(self.modules.get(&place)?);
            let named = imports
                .iter()
                .find(|import| import.name == *name && import.path.last() != Some(&"*".to_owned()));
            return match named {
                Some(import) => self.resolve(&place, &import.path, depth + 1).or(Some(place)),
                None => Some(place),
            };
        }
        Some(place)
    }

    /// Edges between siblings, by the folder they share.
    fn edges(&self) -> BTreeMap<ModulePath, BTreeSet<(String, String)>> {
        let mut edges: BTreeMap<ModulePath, BTreeSet<(String, String)>> = BTreeMap::new();
        for (module, tokens) in &self.modules {
            let (imports, mut paths) = paths_of(tokens);
            paths.extend(imports.into_iter().map(|import| import.path));
            for path in paths {
                let Some(target) = self.resolve(module, &path, 0) else { continue };
                let common = module.iter().zip(&target).take_while(|(one, other)| one == other).count();
                if let (Some(user), Some(used)) = (module.get(common), target.get(common)) {
                    edges.entry(module[..common].to_vec()).or_default().insert((user.clone(), used.clone()));
                }
            }
        }
        edges
    }
}

fn module_path(file: &Path) -> ModulePath {
    let mut path: ModulePath = file
        .with_extension("")
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    if path.last().is_some_and(|name| matches!(name.as_str(), "mod" | "lib" | "main")) {
        path.pop();
    }
    path
}

/// Groups of modules that all reach each other, larger than one.
fn cycles(edges: &BTreeSet<(String, String)>) -> Vec<Vec<String>> {
    let names: BTreeSet<&String> = edges.iter().flat_map(|(user, used)| [user, used]).collect();
    let reach = |start: &String| {
        let mut reached: BTreeSet<&String> = BTreeSet::new();
        let mut open = vec![start];
        while let Some(name) = open.pop() {
            for (user, used) in edges {
                if user == name && reached.insert(used) {
                    open.push(used);
                }
            }
        }
        reached
    };
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        names.iter().map(|name| (*name, reach(name))).collect();
    let mut seen: BTreeSet<&String> = BTreeSet::new();
    let mut cycles = Vec::new();
    for name in &names {
        let cycle: Vec<String> = names
            .iter()
            .filter(|other| reached[name].contains(**other) && reached[**other].contains(*name))
            .map(|other| (*other).clone())
            .collect();
        if cycle.len() > 1 && seen.insert(name) {
            seen.extend(names.iter().filter(|name| cycle.contains(name)));
            cycles.push(cycle);
        }
    }
    cycles
}

fn sources() -> Vec<(String, PathBuf)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of all crates");
    let mut sources: Vec<(String, PathBuf)> = std::fs::read_dir(crates)
        .expect("the crates can be listed")
        .map(|entry| entry.expect("the crates can be listed").path())
        .filter(|path| path.join("src").is_dir())
        .map(|path| {
            (path.file_name().expect("a folder has a name").to_string_lossy().into_owned(), path.join("src"))
        })
        .collect();
    sources.sort();
    sources
}

#[test]
fn no_cycle_of_modules_is_larger_than_three() {
    let mut faults = String::new();
    for (name, source) in sources() {
        let read = Crate::read(&source);
        for (folder, edges) in read.edges() {
            for cycle in cycles(&edges) {
                let place = [std::slice::from_ref(&name), folder.as_slice()].concat().join("/");
                println!("{place}: {} modules need each other: {}", cycle.len(), cycle.join(" "));
                if cycle.len() > LARGEST {
                    faults += &format!("{place}: {} modules need each other\n", cycle.len());
                    for (user, used) in
                        edges.iter().filter(|(user, used)| cycle.contains(user) && cycle.contains(used))
                    {
                        faults += &format!("    {user} -> {used}\n");
                    }
                }
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

#[test]
fn a_cycle_is_found_through_re_exports_and_tests_are_not_looked_at() {
    let folder = std::env::temp_dir().join(format!("longhaul-modules-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("b")).expect("a folder is made");
    for (file, text) in [
        ("lib.rs", "mod a; mod b; mod c; #[cfg(test)] mod shapes; pub use b::inner::Thing;"),
        (
            "a.rs",
            "use crate::{Thing, other::Nothing}; // use crate::c::X;\n const S: &str = \"crate::c::X\";",
        ),
        ("b/mod.rs", "pub mod inner; use inner::Thing;"),
        ("b/inner.rs", "pub struct Thing; fn f() -> crate::c::Made<'static> { super::super::c::made('\"') }"),
        ("c.rs", "pub use super::a::A as Made; #[cfg(test)] mod tests { use crate::b::inner::Thing; }"),
        ("shapes.rs", "use crate::c::Made;"),
    ] {
        std::fs::write(folder.join(file), text).expect("a file is written");
    }
    let edges = Crate::read(&folder).edges();
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    let edge = |user: &str, used: &str| (user.to_owned(), used.to_owned());
    assert_eq!(
        edges[&Vec::new()],
        BTreeSet::from([edge("a", "b"), edge("b", "a"), edge("b", "c"), edge("c", "a")])
    );
    assert_eq!(cycles(&edges[&Vec::new()]), [["a", "b", "c"]]);
    let ring =
        BTreeSet::from([edge("a", "b"), edge("b", "c"), edge("c", "d"), edge("d", "a"), edge("e", "a")]);
    assert_eq!(cycles(&ring), [["a", "b", "c", "d"]]);
}
