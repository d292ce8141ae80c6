//! The text of an HTML page: headings, paragraphs, lists, tables and code as they read, without scripts and styles.

use hyper::Uri;

use crate::address::resolve;
use crate::entities::unescape;

/// The text of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HtmlText {
    /// The title.
    pub title: String,
    /// The text.
    pub text: String,
}

/// Elements of which nothing is shown.
const HIDDEN: &[&str] = &[
    "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas", "select", "head",
];

/// Elements whose content is no markup.
const RAW: &[&str] = &["script", "style", "textarea", "title", "iframe", "noscript"];

/// Elements that stand on lines of their own.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "html",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "tbody",
    "tfoot",
    "thead",
    "title",
    "tr",
    "ul",
];

/// The most links that are written out.
const MOST_LINKS: usize = 500;

/// Reads the text of a page; links are shown with the address they lead to from `base`.
///
/// ```
/// use longhaul_fetch::html_to_text;
/// let page = "<title>Notes</title><h1>To do</h1><script>alert(1)</script><ul><li>Tea &amp; milk<li>Bread</ul>";
/// let read = html_to_text(page, None);
/// assert_eq!((read.title.as_str(), read.text.as_str()), ("Notes", "# To do\n\n- Tea & milk\n- Bread"));
/// ```
pub fn html_to_text(html: &str, base: Option<&Uri>) -> HtmlText {
    let mut reader = Reader { base: base.cloned(), ..Reader::default() };
    let mut rest = html;
    while !rest.is_empty() {
        let Some(start) = rest.find('<') else {
            reader.text(rest);
            break;
        };
        if start > 0 {
            reader.text(&rest[..start]);
            rest = &rest[start..];
        }
        rest = reader.markup(rest);
    }
    reader.finish()
}

#[derive(Default)]
struct Reader {
    base: Option<Uri>,
    title: String,
    out: String,
    /// Open elements of which nothing is shown.
    hidden: Vec<String>,
    is_title: bool,
    /// The number of open `pre`.
    pre: usize,
    /// The number of open lists.
    lists: usize,
    /// The addresses of open links, with where their text begins.
    links: Vec<(Option<String>, usize)>,
    linked: usize,
    /// Line breaks that are due before the next text.
    breaks: usize,
    /// The text due before the next one, such as the mark of a list item.
    lead: String,
    has_space: bool,
}

impl Reader {
    /// Reads what begins with `<`; returns what follows.
    fn markup<'h>(&mut self, html: &'h str) -> &'h str {
        if let Some(comment) = html.strip_prefix("<!--") {
            return comment.find("-->").map_or("", |end| &comment[end + 3..]);
        }
        let after = html[1..].chars().next();
        if !after.is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?')) {
            self.text("<");
            return &html[1..];
        }
        let end = tag_end(html);
        let (tag, rest) = html.split_at(end);
        let inner = tag[1..].trim_end_matches('>');
        let is_closing = inner.starts_with('/');
        let name: String = inner
            .trim_start_matches('/')
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '-')
            .collect::<String>()
            .to_ascii_lowercase();
        match is_closing {
            true => self.close(&name),
            false => self.open(&name, inner),
        }
        if !is_closing && RAW.contains(&name.as_str()) && !inner.ends_with('/') {
            return self.raw(&name, rest);
        }
        rest
    }

    /// Reads the content of an element that holds no markup.
    fn raw<'h>(&mut self, name: &str, html: &'h str) -> &'h str {
        let end = find_ignoring_case(html, &format!("</{name}")).unwrap_or(html.len());
        let (content, rest) = html.split_at(end);
        self.text(content);
        rest
    }

    fn open(&mut self, name: &str, tag: &str) {
        if name == "title" && self.title.is_empty() {
            self.is_title = true;
        }
        if name == "body" {
            // Whoever forgot to close the head.
            self.hidden.clear();
        }
        if HIDDEN.contains(&name) {
            if !tag.ends_with('/') {
                self.hidden.push(name.to_string());
            }
            return;
        }
        if !self.hidden.is_empty() {
            return;
        }
        match name {
            "br" => self.breaks = (self.breaks + 1).min(2),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.paragraph();
                let level = name.as_bytes()[1] - b'0';
                self.lead = format!("{} ", "#".repeat(usize::from(level)));
            }
            "li" => {
                self.line();
                self.lead = format!("{}- ", "  ".repeat(self.lists.saturating_sub(1).min(8)));
            }
            "ul" | "ol" => {
                match self.lists {
                    0 => self.paragraph(),
                    _ => self.line(),
                }
                self.lists += 1;
            }
            "pre" => {
                self.paragraph();
                self.push("```\n");
                self.pre += 1;
            }
            "td" | "th" if !self.out.is_empty() && self.breaks == 0 => self.push(" | "),
            "hr" => {
                self.paragraph();
                self.push("---");
                self.paragraph();
            }
            "a" => {
                let base = self.base.as_ref();
                let address = attribute(tag, "href").and_then(|href| match base {
                    Some(base) => resolve(base, &href),
                    None => None,
                });
                self.links.push((address, self.out.len()));
            }
            "p" | "table" | "blockquote" | "dl" | "figure" => self.paragraph(),
            _ if BLOCKS.contains(&name) => self.line(),
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        if name == "title" {
            self.is_title = false;
        }
        if HIDDEN.contains(&name) {
            if let Some(index) = self.hidden.iter().rposition(|open| open == name) {
                self.hidden.truncate(index);
            }
            return;
        }
        if !self.hidden.is_empty() {
            return;
        }
        match name {
            "a" => self.close_link(),
            "pre" if self.pre > 0 => {
                self.pre -= 1;
                if !self.out.ends_with('\n') {
                    self.out.push('\n');
                }
                self.out.push_str("```");
                self.paragraph();
            }
            "ul" | "ol" => {
                self.lists = self.lists.saturating_sub(1);
                match self.lists {
                    0 => self.paragraph(),
                    _ => self.line(),
                }
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "p" | "table" | "blockquote" | "dl" | "figure" => {
                self.paragraph();
            }
            _ if BLOCKS.contains(&name) => self.line(),
            _ => {}
        }
        if name.starts_with('h') && !self.lead.trim_start_matches('#').trim().is_empty() {
            return;
        }
        if matches!(name, "li" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6") {
            // An empty item or heading leaves no mark.
            self.lead.clear();
        }
    }

    fn close_link(&mut self) {
        let Some((Some(address), start)) = self.links.pop() else { return };
        let shown = self.out.get(start..).unwrap_or_default().trim();
        if shown.is_empty() || shown.contains(&address) || self.linked >= MOST_LINKS {
            return;
        }
        self.linked += 1;
        let pending = std::mem::take(&mut self.has_space);
        self.out.push_str(&format!(" ({address})"));
        self.has_space = pending;
    }

    fn text(&mut self, html: &str) {
        let text = unescape(html);
        if self.is_title {
            self.title.push_str(&text);
            return;
        }
        if !self.hidden.is_empty() {
            return;
        }
        if self.pre > 0 {
            let text = text.replace("\r\n", "\n");
            return self.push(&text);
        }
        for (index, word) in text.split(char::is_whitespace).enumerate() {
            self.has_space |= index > 0;
            if word.is_empty() {
                continue;
            }
            let is_at_start = self.breaks > 0 || self.out.is_empty() || self.out.ends_with(['\n', ' ']);
            if self.has_space && !is_at_start {
                self.out.push(' ');
            }
            self.push(word);
        }
    }

    /// Writes what is due, then the text.
    fn push(&mut self, text: &str) {
        if self.breaks > 0 && !self.out.is_empty() {
            self.out.truncate(self.out.trim_end_matches([' ', '\t']).len());
            let there = self.out.len() - self.out.trim_end_matches('\n').len();
            self.out.extend(std::iter::repeat_n('\n', self.breaks.saturating_sub(there)));
        }
        (self.breaks, self.has_space) = (0, false);
        let lead = std::mem::take(&mut self.lead);
        self.out.push_str(&lead);
        self.out.extend(text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')));
    }

    fn line(&mut self) {
        self.breaks = self.breaks.max(1);
    }

    fn paragraph(&mut self) {
        self.breaks = 2;
    }

    fn finish(self) -> HtmlText {
        let title: String = self.title.chars().filter(|c| !c.is_control() || c.is_whitespace()).collect();
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        HtmlText { title, text: self.out.trim().to_string() }
    }
}

/// The index behind the `>` that ends a tag: one in a quoted value does not.
fn tag_end(html: &str) -> usize {
    let mut quote = None;
    for (index, byte) in html.bytes().enumerate().skip(1) {
        match (quote, byte) {
            (None, b'>') => return index + 1,
            (None, b'"' | b'\'') if html.as_bytes()[index - 1] == b'=' => quote = Some(byte),
            (Some(open), byte) if byte == open => quote = None,
            _ => {}
        }
    }
    // A quote that never ends is none.
    html.find('>').map_or(html.len(), |end| end + 1)
}

/// The value of an attribute in a tag.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let mut rest = tag;
    while let Some(at) = find_ignoring_case(rest, name) {
        let is_word = rest[..at].ends_with(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '/'));
        let after = rest[at + name.len()..].trim_start();
        let value = after.strip_prefix('=').map(str::trim_start);
        if let Some(value) = value.filter(|_| is_word) {
            let value = match value.chars().next() {
                Some(quote @ ('"' | '\'')) => value[1..].split(quote).next(),
                _ => value.split(|c: char| c.is_whitespace() || c == '>').next(),
            };
            return value.map(unescape);
        }
        rest = &rest[at + name.len()..];
    }
    None
}

fn find_ignoring_case(text: &str, word: &str) -> Option<usize> {
    let (text, word) = (text.as_bytes(), word.as_bytes());
    text.windows(word.len()).position(|window| window.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(html: &str, expected: &str) {
        let base: Uri = "https://example.org/docs/".parse().expect("a URL");
        assert_eq!(html_to_text(html, Some(&base)).text, expected, "{html}");
    }

    #[test]
    fn a_page_reads_like_one() {
        check("<p>One\n two</p><p>three<br>four", "One two\n\nthree\nfour");
        check("<h1>A</h1>text<h2>B</h2>", "# A\n\ntext\n\n## B");
        check("<ul><li>a<ul><li>b</ul><li>c</ul>d", "- a\n  - b\n- c\n\nd");
        check("x<pre>fn a() {\n    1\n}\n</pre>y", "x\n\n```\nfn a() {\n    1\n}\n```\n\ny");
        check("<table><tr><th>a<th>b<tr><td>1<td>2</table>", "a | b\n1 | 2");
        check("<b>bold</b> and <i>slanted</i>.", "bold and slanted.");
        check("<div>a</div><div>b</div>", "a\nb");
        check("<div><div><div>a", "a");
    }

    #[test]
    fn scripts_styles_comments_and_hidden_parts_are_left_out() {
        check("a<script>if (a < b) { x('</p>') }</script>b", "ab");
        check("a<SCRIPT type='x'>1</SCRIPT >b<style>p{}</style><!-- no > -->c", "abc");
        check("<head><title>T</title><meta x></head><body>a", "a");
        check("<svg><text>no</text></svg><noscript>no</noscript>a", "a");
        check("a<script>never closed", "a");
        check("a<!-- never closed", "a");
    }

    #[test]
    fn links_are_shown_with_their_addresses() {
        check("<a href=\"b.html\">B</a>, then", "B (https://example.org/docs/b.html), then");
        check("<a class=x href='/c?x=1&amp;y=2'>C</a>", "C (https://example.org/c?x=1&y=2)");
        check("<a href='#top'>top</a> <a href=\"javascript:x()\">run</a> <a>plain</a>", "top run plain");
        check("<a href=https://x.org/>https://x.org/</a>", "https://x.org/");
    }

    #[test]
    fn what_is_no_tag_is_text() {
        check("a < b && b > c", "a < b && b > c");
        check("1 <2", "1 <2");
        check("<p title=\"a > b\">c", "c");
        check("a<b title=\"never closed>c", "ac");
    }

    #[test]
    fn no_control_character_gets_through() {
        check("a\u{1b}[31m&#27;[0m\u{7}b", "a[31m[0mb");
    }

    proptest! {
        #[test]
        fn anything_is_read(html in "(<|>|/|a|li|pre|script|!--|-->|\"|'|=|&|;|#|x| |\n|é|href){0,60}") {
            let read = html_to_text(&html, None);
            prop_assert!(!read.text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
        }
    }
}
