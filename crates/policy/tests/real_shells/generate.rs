//! Command lines made at random, of pieces that shells and their imitators have read differently, and of the ways in which
//! one program runs another.

/// A source of numbers that are the same for the same seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("below a usize")
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

/// Pieces that stand for themselves to some readers and mean something to others.
const PIECES: &[&str] = &[
    "'",
    "\"",
    "\\",
    "$",
    "`",
    "(",
    ")",
    "((",
    "))",
    "{",
    "}",
    "${",
    "${x",
    ":-",
    "[",
    "]",
    "<<",
    "<<-",
    "<",
    ">",
    ">/dev/null",
    "EOF",
    "'EOF'",
    "\n",
    "\nEOF\n",
    ";",
    "&",
    "|",
    "#",
    " ",
    " ",
    " ",
    "CMD",
    "\nCMD\n",
    ";CMD;",
    "&CMD",
    "echo",
    "cat",
    "$$",
    "$'",
    "$\"",
    "\\'",
    "\\\n",
    "\\\\",
    "=",
    "x",
    "1",
    "!",
    "case",
    "esac",
    "in",
    "if",
    "then",
    "fi",
    "for x in",
    "do",
    "done",
    "[[",
    "]]",
    "time",
    "coproc",
    "function",
    "~",
    "*",
    "?",
    ",",
    "..",
    "%",
    "+",
    "-",
    ":",
    "é",
    "\t",
    "<(",
    ">(",
    "&>",
    ">&",
    "2>&1",
    "|&",
    "<<<",
    "@",
    "^",
    "${x@P}",
    "${!x}",
    "$((",
    "$[",
    "$(",
    "${x:-",
    "${#x}",
    "0",
    "2",
    "\r",
    "/dev/null",
    "EOF\n",
    "\nEOF",
    "$(CMD)",
    "`CMD`",
    "echo x",
    "; echo ",
    " && cat ",
    "{ ",
    "; }",
    "a[",
    "]=",
    "x=",
    "=(",
    "-c",
    ";;",
    ";&",
    "\u{a0}",
    "à",
    "$x",
    "$((1<<2))",
    "<<E",
    "\nE\n",
    "\\E",
    "\"E\"",
    "$1",
    "$#",
    "$!",
    "%%",
    "##",
    "//",
    ",,",
    "^^",
    "extglob",
    "@(",
    "?(",
    "!(",
    "+(",
    "*(",
];

/// Text that is data where it stands, and commands where a reader has lost its place.
const DATA: &[&str] = &[
    "; CMD; ",
    "\nCMD\n",
    "&CMD&",
    "|CMD|",
    ")CMD(",
    "`CMD`",
    "$(CMD)",
    "}CMD{",
    "EOF",
    "\nEOF\nCMD\n",
    "a",
    " ",
    "b c",
    "1",
    "'",
    "\"",
    "\\",
    "$",
    "(",
    ")",
    "((",
    "))",
    "{",
    "}",
    "#",
    "\n",
    "<<",
    "<<EOF",
    "é",
    "é#",
    "$x",
    "${x",
    "esac",
    "done",
    "fi",
    "\\\n",
    "!",
    "*",
    "~",
    "$'",
    "$\"",
    "$$",
    "[",
    "]",
    "=",
    "${",
    "E\n",
    "\tE\n",
    "\tEOF\nCMD\n",
    "echo",
    "à#",
];

/// A line in which a reader may mistake data for commands, or commands for data.
pub(crate) fn line(random: &mut Random) -> String {
    match random.below(8) {
        0 => soup(random),
        1 | 2 => {
            let line = list(random, 0);
            mutated(random, &line)
        }
        3 => {
            let line = list(random, 0);
            let line = mutated(random, &line);
            mutated(random, &line)
        }
        _ => list(random, 0),
    }
}

/// Ways to name the program, `CMD`.
const NAMES: &[&str] = &[
    "CMD",
    "CMD",
    "CMD",
    "CMD",
    "C''MD",
    "\\CMD",
    "\"CMD\"",
    "$'CMD'",
    "$'\\x43MD'",
    "C[M]D",
    "$x",
    "\"$x\"",
    "${x}",
    "$(echo CMD)",
    "{CMD,a}",
    "C\\\nMD",
    "~+/CMD",
    "$BIN/CMD",
    "ls",
    "echo",
    "$1",
];

/// Ways to run a program, which stands for `@`.
const WAYS: &[&str] = &[
    "@",
    "@ a",
    "ls; @",
    "! @",
    "A=1 @",
    "{ @; }",
    "(@)",
    "if @; then ls; fi",
    "for y in @; do $y; done",
    "while @; do break; done",
    "time @",
    "time -p @",
    "exec @",
    "command @",
    "command -p @",
    "builtin eval @",
    "env @",
    "env A=1 @",
    "env -u A @",
    "env -i PATH=\"$PATH\" @",
    "env -S '@'",
    "nohup @",
    "nice @",
    "nice -n 1 @",
    "timeout 5 @",
    "timeout -s KILL 5 @",
    "xargs @",
    "echo a | xargs @",
    "echo @ | xargs env",
    "echo a | xargs -I{} @ {}",
    "echo @ | xargs -I{} {} a",
    "echo @ | xargs -I{} sh -c {}",
    "echo a | xargs sh -c '@'",
    "find . -exec @ \\;",
    "find . -exec @ {} +",
    "find . -exec sh -c '@' \\;",
    "sh -c '@'",
    "sh -c \"@\"",
    "sh -c @",
    "bash -c '@'",
    "bash -ec '@'",
    "bash -c 'sh -c \"@\"'",
    "sh -c '$0' @",
    "sh -c '\"$@\"' a @",
    "bash -c 'x=@; $x'",
    "sh <<< '@'",
    "sh <<< @",
    "sh <<EOF\n@\nEOF\n",
    "sh <<'EOF'\n@\nEOF\n",
    "bash -s <<EOF\n@\nEOF\n",
    "echo '@' | sh",
    "echo @ | bash -s",
    "eval @",
    "eval '@'",
    "eval \"@\"",
    "eval eval @",
    "trap @ EXIT",
    "trap '@' 0",
    ". /dev/stdin <<< '@'",
    "source <(echo @)",
    "bash <(echo @)",
    "x=@; $x",
    "set -- @; \"$@\"",
    "set -- @; $1",
    "read y <<< @; $y",
    "f() { @; }; f",
    "function f { @; }; f",
    "case a in a) @;; esac",
    "[[ -v 'a[$(@)]' ]]",
    "(( a[$(@)] ))",
    "let 'a[$(@)]'",
    "printf -v 'a[$(@)]' b",
    "test -v 'a[$(@)]'",
    "[ -v 'a[$(@)]' ]",
    "unset 'a[$(@)]'",
    "declare 'a[$(@)]=1'",
    "export 'a[$(@)]'",
    "mapfile -C @ -c 1 <<< a",
    "compgen -C @ a",
    "PS4='$(@)'; set -x; ls",
    "coproc @",
    "coproc a { @; }",
    "alias y=@\ny",
    "shopt -s expand_aliases; alias y=@\ny",
    "echo $(@)",
    "echo `@`",
    "echo \"$(@)\"",
    "echo ${y:-$(@)}",
    "cat <(@)",
    "cat <<EOF\n$(@)\nEOF\n",
    "echo $((a[$(@)]))",
    "y='a[$(@)]'; echo $((y))",
    "y='$(@)'; echo ${y@P}",
    "y='a[$(@)]'; echo ${!y}",
    "echo $(<<<a @)",
    "@ &",
    "hash -p $BIN/CMD ls; hash; ls",
    "BASH_ENV=<(echo @) bash -c :",
    "jobs -x @",
    "select y in @; do $y; done <<< 1",
    "exec -a b @",
    "env -C . @",
    "env -- @",
    "env - PATH=\"$PATH\" @",
    "find . -ok @ \\;",
    "sh -c '@' & wait",
    "sh -xc '@'",
    "bash -O extglob -c '@'",
    "bash +o posix -c '@'",
    "bash -c -e '@'",
    "sh -c 'exec \"$@\"' a @",
    "command eval @",
    "command exec @",
    "test -n \"$(@)\"",
    "y=(@); \"${y[@]}\"",
    "printf '%s\\n' @ | sh",
    "tee < /dev/null; @",
    "awk 'BEGIN { system(\"@\") }'",
    "sed '1e @' <<< a",
    "sed 's/a/@/e' <<< a",
    "sed -n '1!G;h;$p' <<< a",
];

/// A line that runs `CMD` in one way or another, or at least looks as if it did.
pub(crate) fn indirect(random: &mut Random) -> String {
    let mut text = random.pick(NAMES).to_owned();
    for _ in 0..=random.below(3) {
        text = random.pick(WAYS).replace('@', &text);
    }
    if random.below(4) == 0 { mutated(random, &text) } else { text }
}

/// Any pieces behind an allowed program.
fn soup(random: &mut Random) -> String {
    let mut line =
        random.pick(&["echo ", "cat ", "echo", "cat <<EOF", "echo \"", "echo '", "echo $("]).to_owned();
    for _ in 0..random.below(14) {
        line.push_str(random.pick(PIECES));
    }
    line
}

/// The line with a piece put in, taken out, or doubled.
fn mutated(random: &mut Random, line: &str) -> String {
    let places: Vec<usize> = line.char_indices().map(|(at, _)| at).chain([line.len()]).collect();
    let at = places[random.below(places.len())];
    let more = places.iter().copied().find(|place| *place > at).unwrap_or(at);
    match random.below(3) {
        0 => format!("{}{}{}", &line[..at], random.pick(PIECES), &line[at..]),
        1 => format!("{}{}", &line[..at], &line[more..]),
        _ => format!("{}{}", &line[..more], &line[at..]),
    }
}

/// Commands as a grammar has them.
fn list(random: &mut Random, depth: usize) -> String {
    let mut text = command(random, depth);
    for _ in 0..random.below(3) {
        text.push_str(
            random.pick(&["; ", " && ", " || ", " | ", "\n", " & ", ";", "&&", "\\\n; ", " |\n", "\n\n"]),
        );
        text.push_str(&command(random, depth));
    }
    text
}

fn command(random: &mut Random, depth: usize) -> String {
    if depth < 3 {
        match random.below(14) {
            0 => return format!("({})", list(random, depth + 1)),
            1 => return format!("{{ {}; }}", list(random, depth + 1)),
            2 => return format!("if {}; then {}; fi", simple(random, depth + 1), simple(random, depth + 1)),
            3 => {
                let word = word(random, depth + 1);
                let body = random.pick(&[
                    "$x", "\"$x\"", "$((x))", "${!x}", "${x@P}", "${x:x}", "${a[$x]}", "${x[0]}", "$[x]",
                ]);
                let value = random.pick(&["'a[$(CMD)]'", "'$(CMD)'", "CMD", "a", "';CMD'", "'`CMD`'"]);
                return format!("for x in {word} {value}; do echo {body}; done");
            }
            4 => {
                return format!(
                    "{}{}",
                    random.pick(&["! ", "time ", "time -p ", "A=1 ", "\\\n"]),
                    simple(random, depth + 1)
                );
            }
            5 => return format!("cat x && {} || echo", simple(random, depth + 1)),
            _ => {}
        }
    }
    simple(random, depth)
}

/// A program that is allowed, its arguments, and perhaps a here-document.
fn simple(random: &mut Random, depth: usize) -> String {
    let mut text =
        random.pick(&["echo", "cat", "echo -n", "'echo'", "ec\"h\"o", "e\\cho", "$'echo'"]).to_owned();
    for _ in 0..random.below(4) {
        text.push_str(random.pick(&[" ", "  ", "\t", " \\\n", " "]));
        text.push_str(&word(random, depth));
    }
    match random.below(12) {
        0 => text.push_str(random.pick(&[
            " 2>&1",
            " >/dev/null",
            " < x",
            " 2>/dev/null",
            " >&2",
            " &>/dev/null",
            " <<< x",
        ])),
        1 | 2 => document(random, &mut text),
        3 => {
            text.push_str(" #");
            text.push_str(random.pick(DATA).lines().next().unwrap_or_default());
            text.push_str(random.pick(DATA).lines().next().unwrap_or_default());
        }
        _ => {}
    }
    text
}

fn document(random: &mut Random, text: &mut String) {
    let (delimiter, end) = [
        ("<<EOF", "EOF"),
        ("<<'EOF'", "EOF"),
        ("<<\"EOF\"", "EOF"),
        ("<<\\EOF", "EOF"),
        ("<<-EOF", "\tEOF"),
        ("<< EOF", "EOF"),
        ("<<-'E'", "E"),
        ("<<E\"O\"F", "EOF"),
        ("<<$'EOF'", "EOF"),
        ("<<$EOF", "$EOF"),
        ("<<E$(x)F", "E$(x)F"),
        ("<<`x`", "`x`"),
        ("<<'E F'", "E F"),
        ("<<EOF\\\n", "EOF"),
        ("<<\"E\nF\"", "E\nF"),
        ("<<${x}", "${x}"),
        ("<<é", "é"),
        ("3<<EOF", "EOF"),
    ][random.below(18)];
    text.push(' ');
    text.push_str(delimiter);
    text.push_str(random.pick(&[
        "",
        "",
        "",
        " | cat",
        "; echo",
        " x",
        " && echo 'a'",
        " # '",
        " \\\n",
        " \"a\nb\"",
        " $(echo\n)",
    ]));
    text.push('\n');
    for _ in 0..random.below(4) {
        text.push_str(random.pick(DATA));
    }
    text.push('\n');
    text.push_str(end);
    text.push('\n');
}

fn word(random: &mut Random, depth: usize) -> String {
    let mut text = String::new();
    for _ in 0..=random.below(2) {
        let piece = piece(random, depth);
        text.push_str(&piece);
    }
    text
}

fn piece(random: &mut Random, depth: usize) -> String {
    let data = |random: &mut Random| {
        let count = random.below(4);
        (0..count).map(|_| random.pick(DATA)).collect::<String>()
    };
    let is_deep = depth > 2;
    match random.below(if is_deep { 12 } else { 20 }) {
        0 | 1 => random
            .pick(&["a", "b.rs", "-x", "*", "a#b", "[a]", "{a,b}", "~", "=", "%", "é", "@{u}", "a[1]", "!"])
            .to_owned(),
        2 | 3 => format!("'{}'", data(random).replace('\'', "")),
        4 => {
            let text: String = data(random).chars().filter(|c| !"\"\\$`".contains(*c)).collect();
            format!("\"{text}\"")
        }
        5 => {
            let text = data(random).replace('\'', "\\'");
            format!("$'{text}'")
        }
        6 => format!(
            "\"{}\\{}{}\"",
            random.pick(&["a", "$x", " "]),
            random.pick(&["\"", "\\", "$", "`", "\n", "a"]),
            random.pick(&["(CMD)", "", "a"])
        ),
        7 => format!(
            "\\{}",
            random.pick(&["'", "\"", "$", "`", "\\", ";", "&", "|", "(", "#", "\n", "<", " ", "é"])
        ),
        8 => random
            .pick(&[
                "$x", "${x}", "$$", "$1", "$@", "$#", "$?", "$!", "$-", "$", "$_", "${#}", "${##}", "${#x}",
                "$$x", "${x}x",
            ])
            .to_owned(),
        9 => {
            let operator = random.pick(&[
                ":-", "-", ":+", ":=", "%", "##", "/", "//", ":", "^^", "@", "[", ":?", "!", " ", "|", "\n",
            ]);
            let word = random.pick(&[
                "a", "", "$y", "a b", "'}CMD'", "\"}\"", "\\}", "`CMD`", "}", "{", "<(CMD)", "1", "$(echo)",
                "#", "CMD; ",
            ]);
            format!("${{x{operator}{word}}}")
        }
        10 => {
            let sum = random.pick(&[
                "1+1",
                "1<<2",
                " 2 * 3 ",
                "x",
                "(1)",
                "1))",
                "x=1",
                "a[$(CMD)]",
                "1\n",
                "'1'",
                "1<<E\nE",
                "#",
                "08",
                "",
            ]);
            let (open, close) =
                [("$((", "))"), ("$[", "]"), ("$(( ", " ))"), ("$((", ") )"), ("$(", ")")][random.below(5)];
            format!("{open}{sum}{close}")
        }
        11 => data(random),
        12 | 13 => format!("$({})", list(random, depth + 1)),
        14 => format!("\"$({})\"", list(random, depth + 1)),
        15 => format!("`{}`", list(random, depth + 2).replace('`', "\\`")),
        16 => format!("\"`{}`\"", simple(random, depth + 2).replace('`', "\\`")),
        17 => format!("<({})", simple(random, depth + 1)),
        18 => format!(
            "\"{}{}\"",
            piece(random, depth + 1).replace(['"', '\\'], ""),
            random.pick(&["", "'", "#", ")"])
        ),
        _ => format!("${{x:-{}}}", piece(random, depth + 1)),
    }
}
