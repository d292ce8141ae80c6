//! Splits a shell script into its simple commands.
//!
//! This is no shell: nothing is expanded or run. It understands enough (quotes, operators, redirects, heredocs,
//! comments, keywords) to tell which programs a script names, with which words, and where their output goes.

/// One program with its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Simple<'a> {
    /// The program and its arguments, without quotes.
    pub(super) words: Vec<String>,
    /// Files its output goes to.
    pub(super) outputs: Vec<Redirect>,
    /// The text of its first heredoc.
    pub(super) heredoc: Option<&'a str>,
    /// How it is tied to the command behind it.
    pub(super) joint: Joint,
}

/// A file that output goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Redirect {
    pub(super) path: String,
    pub(super) appends: bool,
    /// Whether only messages go there and not the output itself.
    pub(super) is_stderr: bool,
}

/// What stands between two commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Joint {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`
    Pipe,
    /// `&`
    Background,
    /// `;`, a line end, or the end of the script.
    #[default]
    Then,
}

/// Words of the shell's own grammar that may stand before a command.
const KEYWORDS: &[&str] =
    &["if", "then", "elif", "else", "while", "until", "do", "!", "time", "{", "fi", "done", "}"];

/// The simple commands of a script, in order.
pub(super) fn split(script: &str) -> Vec<Simple<'_>> {
    let mut splitter = Splitter {
        script,
        at: 0,
        word: None,
        current: Simple::default(),
        pending: Vec::new(),
        done: Vec::new(),
        target: None,
    };
    splitter.run();
    splitter.done
}

/// What the next word is to be.
#[derive(Clone, Copy)]
enum Target {
    Output {
        appends: bool,
        is_stderr: bool,
    },
    Heredoc {
        strips_tabs: bool,
    },
    /// A file to read from, or a here-string.
    Input,
}

struct Splitter<'a> {
    script: &'a str,
    at: usize,
    /// The word being read; `Some("")` is an empty word in quotes.
    word: Option<String>,
    current: Simple<'a>,
    /// Heredocs whose text begins on the next line: the delimiter, whether tabs are stripped, whose it is.
    pending: Vec<(String, bool, usize)>,
    done: Vec<Simple<'a>>,
    target: Option<Target>,
}

impl<'a> Splitter<'a> {
    fn run(&mut self) {
        while let Some(next) = self.peek() {
            match next {
                '\n' => {
                    self.end_command(Joint::Then);
                    self.at += 1;
                    self.take_heredocs();
                    continue;
                }
                ' ' | '\t' | '\r' => self.end_word(),
                '#' if self.word.is_none() => {
                    self.at = self.rest().find('\n').map_or(self.script.len(), |end| self.at + end);
                    continue;
                }
                '\'' => {
                    let end = self.script[self.at + 1..]
                        .find('\'')
                        .map_or(self.script.len(), |end| self.at + 1 + end);
                    let inner = &self.script[self.at + 1..end];
                    self.word.get_or_insert_default().push_str(inner);
                    self.at = (end + 1).min(self.script.len());
                    continue;
                }
                '"' => {
                    self.double_quoted();
                    continue;
                }
                '`' => {
                    let end = self.script[self.at + 1..]
                        .find('`')
                        .map_or(self.script.len(), |end| self.at + 2 + end);
                    self.copy_to(end);
                    continue;
                }
                '$' if self.rest().starts_with("$(") => {
                    let end = self.at + balanced(self.rest());
                    self.copy_to(end);
                    continue;
                }
                '\\' => {
                    self.at += 1;
                    if let Some(escaped) = self.peek() {
                        if escaped != '\n' {
                            self.word.get_or_insert_default().push(escaped);
                        }
                        self.at += escaped.len_utf8();
                    }
                    continue;
                }
                '<' | '>' => {
                    self.redirect();
                    continue;
                }
                '&' | '|' | ';' | '(' | ')' => {
                    self.operator();
                    continue;
                }
                _ => {
                    let more = self.rest().bytes().skip(1).position(has_meaning);
                    self.copy_to(more.map_or(self.script.len(), |more| self.at + 1 + more));
                    continue;
                }
            }
            self.at += next.len_utf8();
        }
        self.end_command(Joint::Then);
    }

    fn rest(&self) -> &'a str {
        &self.script[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn copy_to(&mut self, end: usize) {
        let end = end.min(self.script.len());
        self.word.get_or_insert_default().push_str(&self.script[self.at..end]);
        self.at = end;
    }

    fn double_quoted(&mut self) {
        self.at += 1;
        self.word.get_or_insert_default();
        while let Some(next) = self.peek() {
            let rest = self.rest();
            match next {
                '"' => {
                    self.at += 1;
                    return;
                }
                '$' if rest.starts_with("$(") => self.copy_to(self.at + balanced(rest)),
                '\\' if rest[1..].starts_with('\n') => self.at += 2,
                '\\' if rest[1..].starts_with(['"', '\\', '$', '`']) => {
                    self.at += 1;
                    self.copy_to(self.at + 1);
                }
                _ => {
                    let more = rest.bytes().skip(1).position(|byte| matches!(byte, b'"' | b'$' | b'\\'));
                    self.copy_to(more.map_or(self.script.len(), |more| self.at + 1 + more));
                }
            }
        }
    }

    fn operator(&mut self) {
        let rest = self.rest();
        let (joint, length) = match rest {
            _ if rest.starts_with("&>") => return self.redirect(),
            _ if rest.starts_with("&&") => (Joint::And, 2),
            _ if rest.starts_with("||") => (Joint::Or, 2),
            _ if rest.starts_with("|&") => (Joint::Pipe, 2),
            _ if rest.starts_with(";;") => (Joint::Then, 2),
            _ if rest.starts_with('|') => (Joint::Pipe, 1),
            _ if rest.starts_with('&') => (Joint::Background, 1),
            _ => (Joint::Then, 1),
        };
        self.end_command(joint);
        self.at += length;
    }

    fn redirect(&mut self) {
        // A number directly before the sign says which stream is meant.
        let stream =
            self.word.take_if(|word| word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_digit()));
        self.end_word();
        let rest = self.rest();
        let is_stderr = stream.as_deref() == Some("2");
        let signs: &[(&str, Option<Target>)] = &[
            ("&>>", Some(Target::Output { appends: true, is_stderr: false })),
            ("&>", Some(Target::Output { appends: false, is_stderr: false })),
            (">>", Some(Target::Output { appends: true, is_stderr })),
            (">&", None),
            (">|", Some(Target::Output { appends: false, is_stderr })),
            (">(", None),
            (">", Some(Target::Output { appends: false, is_stderr })),
            ("<<<", Some(Target::Input)),
            ("<<-", Some(Target::Heredoc { strips_tabs: true })),
            ("<<", Some(Target::Heredoc { strips_tabs: false })),
            ("<&", None),
            ("<(", None),
            ("<", Some(Target::Input)),
        ];
        let Some((sign, target)) = signs.iter().find(|(sign, _)| rest.starts_with(sign)) else {
            self.at += 1;
            return;
        };
        self.at += sign.len();
        match sign.as_bytes() {
            // `2>&1` and `>&-` name no file.
            [_, b'&'] if target.is_none() => {
                let digits = self.rest().find(|c: char| !(c.is_ascii_digit() || c == '-'));
                self.at += digits.unwrap_or(self.rest().len());
            }
            [_, b'('] => {
                self.at -= 1;
                self.at += balanced(self.rest());
            }
            _ => self.target = *target,
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match self.target.take() {
            Some(Target::Output { appends, is_stderr }) => {
                self.current.outputs.push(Redirect { path: word, appends, is_stderr });
            }
            Some(Target::Heredoc { strips_tabs }) => self.pending.push((word, strips_tabs, self.done.len())),
            Some(Target::Input) => {}
            None => self.current.words.push(word),
        }
    }

    fn end_command(&mut self, joint: Joint) {
        self.end_word();
        self.target = None;
        let mut simple = std::mem::take(&mut self.current);
        let own = simple.words.iter().take_while(|word| KEYWORDS.contains(&word.as_str())).count();
        simple.words.drain(..own);
        let has_heredoc = self.pending.iter().any(|(.., of)| *of == self.done.len());
        if !simple.words.is_empty() || !simple.outputs.is_empty() || has_heredoc {
            simple.joint = joint;
            self.done.push(simple);
        } else if let Some(last) = self.done.last_mut()
            && matches!(joint, Joint::And | Joint::Or | Joint::Pipe | Joint::Background)
        {
            // `(a; b) && c`: the operator stands behind the closing bracket.
            last.joint = joint;
        }
    }

    /// Reads the texts of the heredocs that the line before announced.
    fn take_heredocs(&mut self) {
        for (delimiter, strips_tabs, of) in std::mem::take(&mut self.pending) {
            let start = self.at;
            let mut end = self.script.len();
            while self.at < self.script.len() {
                let line_end = self.rest().find('\n').map_or(self.script.len(), |end| self.at + end);
                let line = self.script[self.at..line_end].trim_end_matches('\r');
                let line = if strips_tabs { line.trim_start_matches('\t') } else { line };
                if line == delimiter {
                    end = self.at;
                    self.at = (line_end + 1).min(self.script.len());
                    break;
                }
                self.at = (line_end + 1).min(self.script.len());
            }
            if let Some(simple) = self.done.get_mut(of) {
                simple.heredoc.get_or_insert(&self.script[start..end]);
            }
        }
    }
}

/// Whether a byte may mean something other than itself.
fn has_meaning(byte: u8) -> bool {
    matches!(
        byte,
        b'\n'
            | b' '
            | b'\t'
            | b'\r'
            | b'#'
            | b'\''
            | b'"'
            | b'`'
            | b'$'
            | b'\\'
            | b'<'
            | b'>'
            | b'&'
            | b'|'
            | b';'
            | b'('
            | b')'
    )
}

/// The length of `$(…)` or `<(…)` at the start of `text`, brackets included.
fn balanced(text: &str) -> usize {
    let mut depth = 0usize;
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), byte) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'\'') => quote = Some(byte),
            (None, b'(') => depth += 1,
            (None, b')') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words are joined by `_`, commands by their joints, outputs follow as `>path`.
    fn shape(script: &str) -> String {
        let mut shape = String::new();
        for simple in split(script) {
            shape.push_str(&simple.words.join("_"));
            for output in &simple.outputs {
                let stream = if output.is_stderr { "2" } else { "" };
                let sign = if output.appends { ">>" } else { ">" };
                shape.push_str(&format!("{stream}{sign}{}", output.path));
            }
            if let Some(text) = simple.heredoc {
                shape.push_str(&format!("<{text:?}"));
            }
            shape.push_str(match simple.joint {
                Joint::And => " && ",
                Joint::Or => " || ",
                Joint::Pipe => " | ",
                Joint::Background => " & ",
                Joint::Then => " ; ",
            });
        }
        shape.trim_end_matches(" ; ").trim_end().to_string()
    }

    #[track_caller]
    fn check(script: &str, expected: &str) {
        assert_eq!(shape(script), expected, "{script}");
    }

    #[test]
    fn operators_part_commands() {
        check("ls -la", "ls_-la");
        check("cd a && make test || echo no; pwd", "cd_a && make_test || echo_no ; pwd");
        check("a | b |& c", "a | b | c");
        check("server & sleep 1", "server & sleep_1");
        check("server &", "server &");
        check("a\nb\n\n# remark\nc", "a ; b ; c");
        check("(cd x; make) && ls", "cd_x ; make && ls");
        check("if test -f a; then cat a; fi", "test_-f_a ; cat_a");
        check("", "");
    }

    #[test]
    fn quotes_keep_words_together() {
        check("echo 'a && b' \"c; $x\" d\\ e", "echo_a && b_c; $x_d e");
        check("echo \"say \\\"hi\\\"\" ''", "echo_say \"hi\"_");
        check(
            "git commit -m \"$(cat <<'EOF'\nfix; it\nEOF\n)\" && ls",
            "git_commit_-m_$(cat <<'EOF'\nfix; it\nEOF\n) && ls",
        );
        check("echo `date | cat` x", "echo_`date | cat`_x");
        check("a \\\n b", "a_b");
        check("echo 'open", "echo_open");
    }

    #[test]
    fn redirects_name_their_files() {
        check("a > x.txt", "a>x.txt");
        check("a >>x 2>&1", "a>>x");
        check("a 2> err.log | b", "a2>err.log | b");
        check("a &> all.log", "a>all.log");
        check("a < in > out", "a>out");
        check("diff <(a) <(b) > d", "diff>d");
        check("wc <<< 'x > y'", "wc");
        check("> empty", ">empty");
    }

    #[test]
    fn heredocs_hold_their_text() {
        check("cat > f <<'EOF'\na && b\nEOF\nls", "cat>f<\"a && b\\n\" ; ls");
        check("cat <<EOF > f && ls\nx\nEOF", "cat>f<\"x\\n\" && ls");
        check("cat <<-E\n\tx\n\tE\nls", "cat<\"\\tx\\n\" ; ls");
        check("cat <<EOF\nno end", "cat<\"no end\"");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_split(script in "(?s).{0,200}") {
            split(&script);
        }

        #[test]
        fn any_line_noise_is_split(script in "[a-c '\"\\\\$()`<>&|;#\n2-]{0,60}") {
            split(&script);
        }
    }
}
