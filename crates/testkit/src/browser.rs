//! A real browser for tests of pages: Debian's Chromium, driven over WebDriver by `chromedriver`.
//!
//! A client of our own: a dozen calls over HTTP on loopback need no crates.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value, json};

/// The longest that anything is waited for: machines of tests are busy.
const PATIENCE: Duration = Duration::from_secs(90);
/// The key under which WebDriver names elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A window of a browser. Dropping it ends the browser.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    _profile: tempfile::TempDir,
}

/// An element of the page.
#[derive(Clone, Debug)]
pub struct Element(String);

impl Browser {
    /// Starts a browser; `None`, said loudly, where there is none.
    pub fn start() -> Option<Self> {
        let (Some(chromium), Some(chromedriver)) = (program("chromium"), program("chromedriver")) else {
            println!("skipped: no Chromium (install Debian's chromium and chromium-driver)");
            return None;
        };
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
        let profile = tempfile::tempdir().expect("a folder");
        let driver = Command::new(chromedriver)
            .arg(format!("--port={port}"))
            .env("TMPDIR", profile.path())
            .env("HOME", profile.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts");
        let mut browser = Self { driver, port, session: String::new(), _profile: profile };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < PATIENCE, "chromedriver does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
        let data = format!("--user-data-dir={}", browser._profile.path().join("data").display());
        let options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1200,900",
            "--hide-scrollbars",
            &data,
        ];
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"binary": chromium, "args": options},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }}});
        let begun = browser.call("POST", "/session", Some(&wanted));
        browser.session = begun["sessionId"].as_str().expect("a session of the driver").to_string();
        Some(browser)
    }

    /// Opens an address and waits until it is loaded.
    pub fn open(&self, url: &str) {
        self.post("url", &json!({"url": url}));
    }

    /// The address that is open.
    pub fn url(&self) -> String {
        self.get("url").as_str().unwrap_or_default().to_string()
    }

    /// Runs a script in the page.
    pub fn script(&self, script: &str) -> Value {
        self.post("execute/sync", &json!({"script": script, "args": []}))
    }

    /// The text of the page as it is shown.
    pub fn text(&self) -> String {
        self.script("return document.body.innerText").as_str().unwrap_or_default().to_string()
    }

    /// The elements that a selector finds.
    pub fn all(&self, selector: &str) -> Vec<Element> {
        let found = self.post("elements", &json!({"using": "css selector", "value": selector}));
        let ids = found.as_array().into_iter().flatten().filter_map(|element| element[ELEMENT].as_str());
        ids.map(|id| Element(id.to_string())).collect()
    }

    /// The first element that a selector finds.
    #[track_caller]
    pub fn one(&self, selector: &str) -> Element {
        let found = self.all(selector).into_iter().next();
        found.unwrap_or_else(|| panic!("nothing matches {selector} in {}:\n{}", self.url(), self.text()))
    }

    /// Clicks.
    pub fn click(&self, selector: &str) {
        let Element(id) = self.one(selector);
        self.post(&format!("element/{id}/click"), &json!({}));
    }

    /// Types into an element.
    pub fn type_into(&self, selector: &str, text: &str) {
        let Element(id) = self.one(selector);
        self.post(&format!("element/{id}/value"), &json!({"text": text}));
    }

    /// Waits until a script returns true.
    #[track_caller]
    pub fn wait_for(&self, condition: &str) {
        let begun = Instant::now();
        while self.script(&format!("return !!({condition})")) != json!(true) {
            assert!(
                begun.elapsed() < PATIENCE,
                "never true: {condition} in {}:\n{}",
                self.url(),
                self.text()
            );
            std::thread::sleep(Duration::from_millis(25));
        }
    }

    /// Presses keys where the focus is.
    pub fn press(&self, keys: &str) {
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|key| {
                [json!({"type": "keyDown", "value": key}), json!({"type": "keyUp", "value": key})]
            })
            .collect();
        self.post("actions", &json!({"actions": [{"type": "key", "id": "keys", "actions": actions}]}));
    }

    /// Sets the size of the window.
    pub fn resize(&self, width: u32, height: u32) {
        self.post("window/rect", &json!({"width": width, "height": height}));
    }

    /// Sends a command of the DevTools protocol.
    pub fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.post("goog/cdp/execute", &json!({"cmd": command, "params": parameters}))
    }

    /// Shows pages as for a system that is dark, or light.
    pub fn prefer(&self, scheme: &str) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.devtools("Emulation.setEmulatedMedia", &features);
    }

    /// A picture of the window, as PNG.
    pub fn picture(&self) -> Vec<u8> {
        let text = self.get("screenshot");
        let text = text.as_str().expect("a picture");
        base64::engine::general_purpose::STANDARD.decode(text).expect("base64")
    }

    /// Errors and warnings of the console since it was asked last.
    pub fn console(&self) -> Vec<String> {
        let lines = self.post("se/log", &json!({"type": "browser"}));
        let lines = lines.as_array().into_iter().flatten();
        lines
            .filter(|line| line["level"] != "INFO" && line["level"] != "DEBUG")
            .map(|line| line["message"].to_string())
            .collect()
    }

    /// The addresses that were asked for since it was asked last.
    pub fn requests(&self) -> Vec<String> {
        let lines = self.post("se/log", &json!({"type": "performance"}));
        let lines = lines.as_array().into_iter().flatten().filter_map(|line| line["message"].as_str());
        let messages = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let sent = messages.filter(|line| line["message"]["method"] == "Network.requestWillBeSent");
        sent.filter_map(|line| Some(line["message"]["params"]["request"]["url"].as_str()?.to_string()))
            .collect()
    }

    fn get(&self, path: &str) -> Value {
        self.call("GET", &format!("/session/{}/{path}", self.session), None)
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Value {
        self.call("POST", &format!("/session/{}/{path}", self.session), Some(body))
    }

    #[track_caller]
    fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let answer = exchange(self.port, method, path, body).expect("chromedriver answers");
        let value = answer.get("value").cloned().unwrap_or_default();
        if let Some(error) = value.get("error").and_then(Value::as_str) {
            panic!("{method} {path}: {error}: {}", value["message"].as_str().unwrap_or_default());
        }
        value
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let _ = exchange(self.port, "DELETE", &format!("/session/{}", self.session), None);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

fn exchange(port: u16, method: &str, path: &str, body: Option<&Value>) -> std::io::Result<Value> {
    let body = body.map(Value::to_string).unwrap_or_default();
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut reader = BufReader::new(stream);
    let mut length = None;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse::<u64>().ok();
        }
    }
    let mut text = String::new();
    match length {
        Some(length) => reader.take(length).read_to_string(&mut text)?,
        None => reader.read_to_string(&mut text)?,
    };
    serde_json::from_str(&text).map_err(std::io::Error::other)
}

fn program(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let mut found = std::env::split_paths(&folders).map(|folder| Path::new(&folder).join(name));
    found.find(|path| path.is_file())
}
