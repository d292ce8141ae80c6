//! The gateway's page, after real calls through `longhaul gateway`.

use longhaul_testkit::fake_provider::{FakeProvider, anthropic};

use super::*;

/// Asks a gateway in front of a fake provider once.
fn call_once(sandbox: &Sandbox) {
    let provider = FakeProvider::start([anthropic::text("Hello.")]);
    let mut program = sandbox
        .command(&["gateway", "--mode", "on", "--anthropic", &provider.url()])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let mut said = BufReader::new(program.stderr.take().expect("its errors"));
    said.read_line(&mut line).expect("a line");
    let address = line.trim().rsplit('/').next().expect("an address").to_string();
    let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 100, "stream": true, "system": "You help.",
        "messages": [{"role": "user", "content": "Good morning"}]})
    .to_string();
    let mut stream = TcpStream::connect(&address).expect("it listens");
    write!(
        stream,
        "POST /v1/messages HTTP/1.1\r\nHost: {address}\r\nUser-Agent: <i>ferry</i>-cli/1.0\r\nContent-Type: application/json\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("Hello."), "{answer}");
    // Figures are written behind the answer.
    let begun = std::time::Instant::now();
    while !sandbox.done(&["gateway", "status"]).contains("Calls      1 ") {
        assert!(begun.elapsed().as_secs() < 60, "no figures");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    program.kill().expect("it ends");
    program.wait().expect("it ended");
}

#[test]
fn the_gateway_shows_its_conversations_and_how_it_counts() {
    let Some(browser) = Browser::start() else { return };
    let sandbox = with_sessions();
    let page = Page::start(&sandbox, &["--read-only"]);
    browser.open(&page.url);
    browser.wait_for("document.querySelector('.sessions')");
    browser.open(&page.at("/gateway"));
    check_readable(&browser);
    assert!(browser.text().contains("No calls yet."), "{}", browser.text());
    assert!(!sandbox.names().iter().any(|name| name.contains("gateway.db")), "looking makes no database");
    call_once(&sandbox);
    // Shown without being asked for.
    browser.wait_for("document.body.innerText.includes('100 + 20')");
    check_readable(&browser);
    let text = browser.text();
    for expected in [
        "call: 0 shortened, 0 refused",
        "ms\nadded to a call on average",
        "64%",
        "100 + 20",
        "<$0.01\ntoday",
        "<i>ferry<",
        "claude-sonnet-4-5",
        "running",
        "None are in effect.",
        "It is no bill",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert_eq!(browser.script("return document.querySelectorAll('main table i').length"), json!(0));
    check_quiet(&browser, &page);
}
