//! A headless Chromium, driven by the DevTools protocol through a pipe.
//!
//! Purpose: load a page with a given width and colour scheme, evaluate a script in it, collect what its console reports.
//! Boundaries: no library and no port; the messages are JSON that ends with a zero byte, on the file descriptors 3 and 4.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
/// Set where a missing browser is a failure.
const REQUIRED: &str = "PRONY_REQUIRE_BROWSER";
/// A page that is not there after this time never comes.
const PATIENCE: Duration = Duration::from_secs(600);

/// How a page is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(crate) width: u32,
    pub(crate) dark: bool,
    pub(crate) print: bool,
}

pub(crate) struct Chromium {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Of the page.
    session: String,
    number: u64,
    /// What the page's console reported since it was loaded.
    console: Vec<String>,
    /// Removed with the browser.
    _profile: TempDir,
}

impl Chromium {
    /// None, with a sentence on stderr, where no Chromium is installed; a panic where one is required.
    pub(crate) fn start() -> Option<Chromium> {
        let Some(program) = installed() else {
            assert!(
                std::env::var_os(REQUIRED).is_none(),
                "no Chromium on the PATH, and {REQUIRED} is set"
            );
            eprintln!("skipped: no Chromium on the PATH (Debian's package is chromium)");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command
            .args([
                "-c",
                "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null",
                "sh",
            ])
            .arg(program)
            .args([
                "--headless=new",
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--disable-gpu",
            ])
            .args([
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--no-first-run",
                "--force-color-profile=srgb",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("sh starts");
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut browser = Chromium {
            child,
            input,
            output,
            session: String::new(),
            number: 0,
            console: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", attach);
        browser.session = attached["sessionId"].as_str().unwrap().to_string();
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Loads the file and returns what its console reported: errors and warnings, exceptions, what the page's policy refused.
    pub(crate) fn load(&mut self, page: &Path, view: View) -> Vec<String> {
        let metrics =
            json!({ "width": view.width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = if view.dark { "dark" } else { "light" };
        let media = json!({
            "media": if view.print { "print" } else { "screen" },
            "features": [{ "name": "prefers-color-scheme", "value": scheme }],
        });
        self.call("Emulation.setEmulatedMedia", media);
        self.console.clear();
        self.call(
            "Page.navigate",
            json!({ "url": format!("file://{}", page.display()) }),
        );
        let begun = Instant::now();
        while self.evaluate("location.protocol === 'file:' && document.readyState === 'complete'")
            != json!(true)
        {
            assert!(
                begun.elapsed() < PATIENCE,
                "{} is not loaded",
                page.display()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        std::mem::take(&mut self.console)
    }

    /// The value of a script in the page.
    pub(crate) fn evaluate(&mut self, script: &str) -> Value {
        let parameters =
            json!({ "expression": script, "returnByValue": true, "awaitPromise": true });
        let mut answer = self.call("Runtime.evaluate", parameters);
        let exception = answer.get("exceptionDetails");
        assert!(exception.is_none(), "{exception:?}");
        answer["result"]["value"].take()
    }

    /// Calls a method and waits for its result; events that come before it are kept.
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.number += 1;
        let mut message = json!({ "id": self.number, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes).expect("Chromium reads");
        loop {
            let mut message = self.next();
            if message["id"] == json!(self.number) {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].take();
            }
            self.console.extend(reported(&message));
        }
    }

    fn next(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.output
            .read_until(0, &mut bytes)
            .expect("Chromium writes");
        assert_eq!(bytes.pop(), Some(0), "Chromium ended");
        serde_json::from_slice(&bytes).expect("the protocol is JSON")
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let programs = NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    programs.into_iter().find(|program| program.is_file())
}

/// An event as a sentence, if it belongs to the console.
fn reported(event: &Value) -> Option<String> {
    let parameters = &event["params"];
    let is_bad = |level: &Value| level == "error" || level == "warning";
    match event["method"].as_str()? {
        "Runtime.exceptionThrown" => Some(parameters["exceptionDetails"].to_string()),
        "Runtime.consoleAPICalled" if is_bad(&parameters["type"]) => {
            Some(parameters["args"].to_string())
        }
        "Log.entryAdded" if is_bad(&parameters["entry"]["level"]) => {
            Some(parameters["entry"]["text"].to_string())
        }
        _ => None,
    }
}
