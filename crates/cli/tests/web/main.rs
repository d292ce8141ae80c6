//! Drives `longhaul web` in a real browser, and over HTTP as an attacker would.

mod gateway;
#[path = "../sandbox/mod.rs"]
mod sandbox;
mod story;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use longhaul_testkit::browser::Browser;
use sandbox::Sandbox;
use serde_json::json;
use story::{HOSTILE, Story, ferry};

/// A running page. Dropping it ends the program.
struct Page {
    program: Child,
    url: String,
}

impl Page {
    fn start(sandbox: &Sandbox, more: &[&str]) -> Self {
        let arguments = [&["web", "--no-open"], more].concat();
        let mut program = sandbox
            .command(&arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        let said = program.stderr.take().expect("its errors");
        BufReader::new(said).read_line(&mut line).expect("a line");
        let url = line.trim().rsplit(' ').next().expect("an address").to_string();
        assert!(url.starts_with("http://127.0.0.1:"), "{line}");
        Self { program, url }
    }

    fn origin(&self) -> &str {
        self.url.split("/?").next().expect("an address")
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.origin())
    }

    /// A request as any program on this machine could send it.
    fn request(&self, method: &str, path: &str, headers: &str) -> (u16, String) {
        let address = self.origin().trim_start_matches("http://");
        let host = if headers.contains("Host:") { String::new() } else { format!("Host: {address}\r\n") };
        let mut stream = TcpStream::connect(address).expect("it listens");
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\n{host}{headers}Connection: close\r\nContent-Length: 0\r\n\r\n"
        )
        .expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, answer)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// Nothing went wrong in the browser, and nothing was asked of anybody else.
#[track_caller]
fn check_quiet(browser: &Browser, page: &Page) {
    let said = browser.console();
    assert!(said.is_empty(), "{said:#?}");
    let foreign: Vec<String> = browser
        .requests()
        .into_iter()
        .filter(|url| {
            !url.starts_with(page.origin()) && !url.starts_with("data:") && !url.starts_with("chrome")
        })
        .collect();
    assert!(foreign.is_empty(), "{foreign:#?}");
}

/// Opens a page, and waits until all of its session was read.
fn open_read(browser: &Browser, url: &str) {
    browser.open(url);
    browser.wait_for("!document.querySelector('.figures[data-reading]')");
}

/// Every page has the landmarks and names that readers of the screen need.
#[track_caller]
fn check_readable(browser: &Browser) {
    let faults = browser.script(
        "const faults = [];
        if (document.querySelectorAll('main').length !== 1) faults.push('main');
        if (document.querySelectorAll('h1').length !== 1) faults.push('h1');
        if (!document.documentElement.lang || !document.title) faults.push('language or title');
        if (!document.querySelector('header nav[aria-label]')) faults.push('navigation');
        for (const field of document.querySelectorAll('input:not([type=hidden]), select, textarea'))
            if (!field.labels.length && !field.ariaLabel) faults.push('no label: ' + field.outerHTML);
        for (const link of document.querySelectorAll('main a, main button, main summary'))
            if (!link.hidden && !(link.textContent.trim() || link.ariaLabel || link.querySelector('title'))) faults.push('no name: ' + link.outerHTML);
        for (const image of document.querySelectorAll('img')) if (!image.alt) faults.push('no text: ' + image.outerHTML);
        const ids = [...document.querySelectorAll('[id]')].map((it) => it.id);
        for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) faults.push('twice: ' + id);
        return faults;",
    );
    assert_eq!(faults, json!([]), "{}", browser.url());
}

fn with_sessions() -> Sandbox {
    let sandbox = Sandbox::new();
    let here = sandbox.path("").canonicalize().expect("it is there");
    let (ferry, hostile) = (
        ferry(&here),
        Story::new("bbbbbbbb-2", Path::new("/srv/<b>shop</b>"))
            .user(HOSTILE)
            .thinks(HOSTILE)
            .calls(HOSTILE, &json!({"command": HOSTILE, "<b>": HOSTILE}), HOSTILE, false)
            .user(json!([{"type": "text", "text": "Look at this."},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": story::PIXEL}}]))
            .says(HOSTILE),
    );
    sandbox
        .with("user/.claude/projects/-here/7d0c2f6e-4a51-4c7b-9d1e-5b8f0a3c2e10.jsonl", &ferry.text())
        .with("user/.claude/projects/-here/bbbbbbbb-2.jsonl", &hostile.text())
        .with(
            "user/.claude/projects/-there/cccccccc-3.jsonl",
            &Story::new("cccccccc-3", Path::new("/srv/garden")).user("Water the plants").says("Done.").text(),
        )
}

#[test]
fn nobody_without_the_key_sees_anything() {
    let sandbox = with_sessions();
    let page = Page::start(&sandbox, &[]);
    let (_, path) = page.url.rsplit_once('/').expect("a path");
    let path = format!("/{path}");
    for path in ["/", "/app.css", "/s/bbbbbbbb-2", "/events", "/?token=0123456789abcdef0123456789abcdef"] {
        let (status, answer) = page.request("GET", path, "");
        assert_eq!(status, 401, "{path}");
        assert!(!answer.contains("plants") && !answer.contains("Set-Cookie"), "{answer}");
    }
    let (status, answer) = page.request("GET", &path, "");
    assert_eq!(status, 200);
    let lower = answer.to_lowercase();
    assert!(lower.contains("httponly; samesite=strict") && lower.contains("default-src 'self'"), "{answer}");
    let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    let cookie = format!("Cookie: {}\r\n", cookie.split(';').next().expect("a pair"));
    assert_eq!(page.request("GET", "/", &cookie).0, 200);
    // A name of an attacker's that leads here, a page of an attacker's, a form without an origin.
    assert_eq!(page.request("GET", &path, "Host: evil.example:80\r\n").0, 403);
    assert_eq!(page.request("POST", "/archive", &format!("{cookie}Origin: http://evil.example\r\n")).0, 403);
    assert_eq!(page.request("POST", "/archive", &cookie).0, 403);
    assert!(!sandbox.names().iter().any(|name| name.contains("home/archive")), "nothing was changed");
}

#[test]
fn sessions_are_listed_filtered_and_archived() {
    let Some(browser) = Browser::start() else { return };
    let sandbox = with_sessions();
    let page = Page::start(&sandbox, &[]);
    browser.open(&page.url);
    browser.wait_for("document.querySelectorAll('.sessions > li').length === 3");
    assert_eq!(browser.url(), page.at("/"), "the token leaves the address");
    check_readable(&browser);
    let text = browser.text();
    assert!(
        text.contains("Water the plants") && text.contains("Claude Code") && text.contains("3 sessions"),
        "{text}"
    );
    assert!(text.contains("running"), "they were written a moment ago: {text}");
    // As you type.
    browser.press("/");
    browser.type_into("input[name=q]", "plants garden");
    browser.wait_for("document.querySelectorAll('.sessions > li').length === 1");
    assert!(browser.url().ends_with("?q=plants+garden"), "{}", browser.url());
    browser.type_into("input[name=q]", " nowhere");
    browser.wait_for("document.querySelector('#rows').innerText.includes('No session matches')");
    // The line that resumes it.
    browser.open(&page.at("/?q=plants"));
    let line = browser.script("return document.querySelector('[data-copy]').dataset.copy");
    assert_eq!(line, "cd /srv/garden && claude --resume cccccccc-3");
    browser.click(".heading button");
    browser.wait_for("document.querySelector('.notice')");
    assert!(browser.text().contains("Copied 3 sessions to the archive."), "{}", browser.text());
    assert!(sandbox.names().iter().any(|name| name.starts_with("home/archive")));
    // A session that appears is shown without being asked for.
    let story = Story::new("dddddddd-4", Path::new("/srv/garden")).user("Mow the lawn");
    let sandbox = sandbox.with("user/.claude/projects/-there/dddddddd-4.jsonl", &story.text());
    browser.open(&page.at("/"));
    browser.wait_for("document.body.innerText.includes('Mow the lawn')");
    check_quiet(&browser, &page);
    drop(sandbox);
}

#[test]
fn a_session_is_read_in_turns() {
    let Some(browser) = Browser::start() else { return };
    let sandbox = with_sessions();
    let page = Page::start(&sandbox, &["--read-only"]);
    browser.open(&page.url);
    browser.wait_for("document.querySelector('.sessions')");
    open_read(&browser, &page.at("/s/7d0c2f6e-4a51-4c7b-9d1e-5b8f0a3c2e10"));
    check_readable(&browser);
    let text = browser.text();
    for expected in [
        "14 turns",
        "42 tool calls",
        "1 compaction",
        "typed",
        "by the provider's count",
        "All 14 upload tests pass",
    ] {
        assert!(text.replace('\n', " ").contains(expected), "{expected}: {text}");
    }
    // Injected text is told apart from what was typed.
    assert_eq!(
        browser.script("return document.querySelector('.message.from-user .injected') !== null"),
        json!(true)
    );
    assert!(!text.contains("undeclared type"), "outputs are folded");
    browser.click(".fold > summary");
    browser.click(".fold[open] .call.failed > summary");
    browser.wait_for("document.body.innerText.includes('undeclared type')");
    // An address leads to a message in a fold, which is opened.
    open_read(&browser, &page.at("/s/7d0c2f6e-4a51-4c7b-9d1e-5b8f0a3c2e10?at=m8#m8"));
    browser.wait_for("document.querySelector('#m8').closest('details.fold').open");
    assert!(!browser.text().contains("Archive now"), "nothing can be changed");
    check_quiet(&browser, &page);
}

#[test]
fn the_context_and_its_compactions_are_shown() {
    let Some(browser) = Browser::start() else { return };
    let sandbox = with_sessions();
    let page = Page::start(&sandbox, &[]);
    browser.open(&page.url);
    browser.wait_for("document.querySelector('.sessions')");
    let address = page.at("/s/7d0c2f6e-4a51-4c7b-9d1e-5b8f0a3c2e10");
    open_read(&browser, &format!("{address}/context"));
    check_readable(&browser);
    assert_eq!(browser.script("return document.querySelectorAll('.chart .cutline').length"), json!(1));
    let areas = browser.script("return [...document.querySelectorAll('.chart path')].map((path) => path.className.baseVal).join(' ')");
    for kind in ["k-user", "k-tool_output", "k-thoughts", "k-summary", "k-unrecorded"] {
        assert!(areas.to_string().contains(kind), "{kind}: {areas}");
    }
    let named = browser.script(
        "return [...document.querySelectorAll('.chart .hit title')].map((it) => it.textContent).join('|')",
    );
    assert!(named.to_string().contains("m3: ") && named.to_string().contains("tool output"), "{named}");
    // A click on the picture goes to the message.
    let leads = browser.script("const column = document.querySelectorAll('.chart a[tabindex]')[20]; const leads = column.href.baseVal; location.href = leads; return leads");
    let anchor = leads.as_str().and_then(|leads| leads.split('#').nth(1)).expect("an anchor").to_string();
    browser.wait_for(&format!("location.hash === '#{anchor}' && document.getElementById('{anchor}')"));
    open_read(&browser, &format!("{address}/compactions"));
    check_readable(&browser);
    let text = browser.text();
    for expected in [
        "Compaction 1 after m109",
        "rule lost",
        "never push to main",
        "no longer named",
        "109 messages, 0 stayed",
        "queues 1 to 12 are bounded",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(!text.contains("Undo"), "what another agent did is not ours to undo");
    open_read(&browser, &format!("{address}/rules"));
    check_readable(&browser);
    let text = browser.text();
    assert!(
        text.contains("in force") && text.contains("never push to main") && text.contains("done"),
        "{text}"
    );
    check_quiet(&browser, &page);
}

#[test]
fn a_compaction_of_ours_is_undone_after_a_question() {
    let Some(browser) = Browser::start() else { return };
    let sandbox = Sandbox::new();
    sandbox.done(&["sessions", "import", "in.jsonl"]);
    sandbox.done(&["compress", "latest", "--in-place", "--force"]);
    let listed = sandbox.json(&["sessions", "list", "--json"]);
    let id = listed["sessions"][0]["id"].as_str().expect("an id").to_string();
    {
        let page = Page::start(&sandbox, &["--read-only"]);
        browser.open(&page.url);
        browser.wait_for("document.querySelector('.sessions')");
        open_read(&browser, &page.at(&format!("/s/{id}/compactions")));
        assert!(
            browser.text().contains("in effect") && !browser.text().contains("Undo…"),
            "{}",
            browser.text()
        );
        browser.script(&format!("fetch('/s/{id}/undo', {{method: 'POST'}}).then((answer) => {{ window.status_of_undo = answer.status }})"));
        browser.wait_for("window.status_of_undo === 403");
        // The browser tells of the refusal, and the next page has another address.
        drop((browser.console(), browser.requests()));
    }
    let page = Page::start(&sandbox, &[]);
    browser.open(&page.url);
    browser.wait_for("document.querySelector('.sessions')");
    open_read(&browser, &page.at(&format!("/s/{id}/compactions")));
    check_readable(&browser);
    let text = browser.text();
    assert!(
        text.contains("Compaction 1 after m")
            && text.contains("overall goal")
            && text.contains("rule kept word for word"),
        "{text}"
    );
    // Each line of the snapshot leads to the message that it came from.
    let link = browser.script("return document.querySelector('.snapshot a').getAttribute('href')");
    assert!(link.as_str().is_some_and(|link| link.starts_with(&format!("/s/{id}?at=m"))), "{link}");
    browser.click("table a.button");
    assert!(browser.text().contains("The conversation grows from about"), "{}", browser.text());
    let before = sandbox.json(&["sessions", "show", &id, "--json"])["messages"].as_array().map(Vec::len);
    browser.click("form button.primary");
    browser.wait_for("document.querySelector('.notice')?.innerText.startsWith('Undid')");
    assert!(browser.text().contains("undone") && !browser.text().contains("in effect"), "{}", browser.text());
    let after = sandbox.json(&["sessions", "show", &id, "--json"])["messages"].as_array().map(Vec::len);
    assert!(before < after, "{before:?} {after:?}");
    // Once more is refused with words.
    open_read(&browser, &page.at(&format!("/s/{id}/undo?compaction=nothing")));
    assert!(browser.text().contains("no compaction nothing is in effect"), "{}", browser.text());
    check_quiet(&browser, &page);
}

#[test]
fn what_was_said_is_found_with_its_neighbours() {
    let Some(browser) = Browser::start() else { return };
    let sandbox = with_sessions();
    let page = Page::start(&sandbox, &[]);
    browser.open(&page.url);
    browser.wait_for("document.querySelector('.sessions')");
    browser.open(&page.at("/search"));
    check_readable(&browser);
    browser.type_into("input[name=q]", "FERRY-4207\u{e007}");
    browser.wait_for("document.querySelector('.hit')");
    check_readable(&browser);
    let text = browser.text();
    assert!(text.contains("Part 7 is done") && text.contains("Claude Code"), "{text}");
    assert!(
        browser.script("return document.querySelector('.hit mark').textContent").to_string().contains("4207")
    );
    browser.click(".hit details summary");
    browser.wait_for("document.querySelector('.hit').innerText.includes('part 8 of the plan')");
    let href = browser.script("return document.querySelector('.hit a.title').getAttribute('href')");
    assert!(href.to_string().contains("?at=m69#m69"), "{href}");
    browser.click(".hit a.title");
    browser.wait_for("location.hash === '#m69' && document.querySelector('#m69')");
    // Only what a person typed, of one agent.
    browser.open(&page.at("/search?q=plants&kind=user&agent=claude"));
    assert_eq!(browser.all(".hit").len(), 1);
    browser.open(&page.at("/search?q=plants&agent=codex"));
    assert!(browser.text().contains("No matches"), "{}", browser.text());
    check_quiet(&browser, &page);
}

#[test]
fn memory_is_explained_changed_and_restored() {
    let Some(browser) = Browser::start() else { return };
    let global =
        "# Mine\n\n## Gemini Added Memories\n- Prefers tabs <!-- saved 2026-01-02 -->\n- Likes <b>tea</b>\n";
    let sandbox = Sandbox::new().with("home/GEMINI.md", global);
    sandbox.done(&["sessions", "import", "in.jsonl"]);
    let private = sandbox.private();
    std::fs::create_dir_all(private.join(".inbox/private")).expect("made");
    let target = private.canonicalize().expect("it is there").join("MEMORY.md");
    let patch =
        format!("--- /dev/null\n+++ {}\n@@ -0,0 +1,2 @@\n+# Memory\n+- The port is 8080\n", target.display());
    std::fs::write(private.join(".inbox/private/extraction.patch"), patch).expect("written");
    let page = Page::start(&sandbox, &[]);
    browser.open(&page.url);
    browser.wait_for("document.querySelector('.empty, .sessions')");
    browser.open(&page.at("/memory"));
    check_readable(&browser);
    let text = browser.text();
    for expected in
        ["Prefers tabs", "Likes <b>tea</b>", "Change to private memory", "+- The port is 8080", "GEMINI.md"]
    {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    // Nothing changes before its diff was seen.
    browser.click("a[href^='/memory/edit']");
    check_readable(&browser);
    browser.script("document.querySelector('textarea').value = 'Prefers spaces'");
    browser.click("button.primary");
    browser.wait_for("document.querySelector('.diff')");
    let shown = browser.text();
    assert!(shown.contains("-- Prefers tabs") && shown.contains("+- Prefers spaces"), "{shown}");
    assert_eq!(sandbox.read("home/GEMINI.md"), global);
    browser.click("button.primary");
    browser.wait_for("document.querySelector('.notice')");
    assert!(sandbox.read("home/GEMINI.md").contains("- Prefers spaces <!-- saved 20"));
    browser.open(&page.at("/memory"));
    browser.click("tr:last-child a[href^='/memory/forget']");
    assert!(browser.text().contains("-- Likes <b>tea</b>"), "{}", browser.text());
    browser.click("button.primary");
    browser.wait_for("document.querySelector('.notice')");
    assert!(!sandbox.read("home/GEMINI.md").contains("tea"));
    // The inbox: accept, take back, dismiss.
    browser.click("form[action='/inbox/accept-memory'] button");
    browser.wait_for("document.querySelector('.notice')?.innerText.startsWith('Changed')");
    assert_eq!(std::fs::read_to_string(&target).expect("written"), "# Memory\n- The port is 8080\n");
    browser.script("document.querySelector('form[action=\"/inbox/undo-memory\"]').submit()");
    browser.wait_for("document.querySelector('.notice')?.innerText.includes('waits again')");
    assert!(!target.exists());
    browser.click("form[action='/inbox/dismiss-memory'] button");
    browser.wait_for("document.querySelector('.notice')?.innerText === 'Dismissed.'");
    assert!(browser.text().contains("Nothing waits."), "{}", browser.text());
    browser.open(&page.at("/memory?why=src/main.rs"));
    assert!(browser.text().contains("read at the start of a session"), "{}", browser.text());
    check_quiet(&browser, &page);
}

#[test]
fn a_report_is_one_file_that_reads_without_a_server() {
    let sandbox = with_sessions();
    let secret = ["ghp", "_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat();
    let story = ferry(Path::new("/srv/ferry")).user(format!("The token is {secret}.")).says(HOSTILE);
    let sandbox = sandbox.with("in.jsonl", &story.text());
    let written = sandbox.run(&["report", "in.jsonl", "-o", "report.html"]);
    let said = sandbox::text(&written.stderr);
    assert!(
        written.status.success() && said.contains("1 secret redacted") && said.contains("Wrote report.html"),
        "{said}"
    );
    assert!(!sandbox.read("report.html").contains(&secret));
    sandbox.check_refused(
        &["report", "in.jsonl", "-o", "report.html"],
        1,
        &["already exists", "--overwrite"],
    );
    let Some(browser) = Browser::start() else { return };
    browser.open(&format!("file://{}#m8", sandbox.path("report.html").display()));
    let text = browser.text();
    for expected in ["Context over time", "Compaction 1", "never push to main", "rule lost"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert_eq!(browser.script("return document.querySelectorAll('.chart path').length > 3"), json!(true));
    assert_eq!(browser.script("return window.owned ?? null"), json!(null));
    assert_eq!(browser.console(), Vec::<String>::new());
    let asked: Vec<String> = browser.requests().into_iter().filter(|url| url.starts_with("http")).collect();
    assert_eq!(asked, Vec::<String>::new());
}

#[test]
fn hostile_text_stays_text() {
    let Some(browser) = Browser::start() else { return };
    let sandbox = with_sessions();
    let page = Page::start(&sandbox, &[]);
    browser.open(&page.url);
    browser.wait_for("document.querySelector('.sessions')");
    for path in [
        "/",
        "/s/bbbbbbbb-2",
        "/s/bbbbbbbb-2/m/m1",
        "/s/%3Cscript%3Ewindow.owned=6%3C%2Fscript%3E",
        "/?q=%22%3E%3Cscript%3Ewindow.owned=7%3C/script%3E",
        "/s/bbbbbbbb-2/context",
        "/s/bbbbbbbb-2/rules",
        "/search?q=window.owned",
    ] {
        open_read(&browser, &page.at(path));
        browser.script("for (const fold of document.querySelectorAll('details')) fold.open = true");
        assert_eq!(browser.script("return window.owned ?? null"), json!(null), "{path}");
        assert_eq!(browser.script("return document.querySelectorAll('iframe, main style, main script, [onerror], [onload], [onmouseover]').length"), json!(0), "{path}");
        assert_eq!(
            browser.script(
                "return [...document.links].filter((link) => !link.href.startsWith(location.origin)).length"
            ),
            json!(0),
            "{path}"
        );
        assert_eq!(
            browser.script("return getComputedStyle(document.body).display"),
            json!("block"),
            "{path}"
        );
    }
    open_read(&browser, &page.at("/s/bbbbbbbb-2"));
    let shown = browser.script("return [...document.querySelectorAll('.said')].some((text) => text.textContent.includes('<script>window.owned=1</script>'))");
    assert_eq!(shown, json!(true), "what was said can be read");
    // An image of a session comes from the page itself.
    browser.wait_for("document.querySelector('.media img')?.complete && document.querySelector('.media img').naturalWidth === 1");
    // Pages that are not there say so in the console, and nothing else does.
    let said: Vec<String> = browser.console().into_iter().filter(|line| !line.contains("404")).collect();
    assert!(said.is_empty(), "{said:#?}");
}
