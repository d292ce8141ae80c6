#!/usr/bin/env python3
"""Counts how many of a user's rules stand in an agent's requests after the agent's own compactions, with the guard and without.

usage: bench/companion.py [--binary LONGHAUL] [--clients FOLDER] [--agents claude,codex,gemini,opencode] [--turns 20] [--keep FOLDER]

Runs the real Claude Code, Codex, Gemini CLI and opencode, headless, each in a home of its own, against a scripted provider on
loopback that is part of this script: its summaries name no rule, so what is left without the guard is what the agent itself
carries over. In every fourth turn a compaction falls; the first request of the turn after it is looked at. CLIENTS (or --clients) names a
folder with `node_modules/.bin`; an agent that is not there is skipped, loudly, and the exit code is 3. Then the guard is uninstalled,
and every file of the agent's settings is compared with what it was.

Nothing outside of a temporary folder is read or written, and nothing leaves the machine.
"""
import argparse
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

# Written for this script, in the manner of real users: short, long, polite, angry, in passing, in other languages.
RULES = [
    "Never touch prod.db.",
    "always use pnpm here, never npm",
    "From now on, write all comments in English.",
    "Don't ever force-push to a shared branch!",
    "Please make sure that every public function gets a doc comment.",
    "Commit messages start with the ticket number.",
    "Bitte keine neuen Abhängigkeiten ohne Rückfrage.",
    "dates are ISO 8601 in this API",
    "不要修改 migrations 目录。",
    "If a download fails twice, stop and tell me.",
]
TASKS = [
    "rename the flag in the docs", "look at the upload code", "add a test for the parser", "fix the retry loop",
    "tidy up the error messages", "explain the cache", "update the changelog", "split the long function",
]
BLOCK = 4
SUMMARY = "The conversation so far was about the project's code. Some files were read and changed, and work goes on."


class Provider:
    """Speaks Anthropic Messages, OpenAI Responses and chat completions, and Gemini; remembers what was sent."""

    def __init__(self):
        self.requests, self.compactions, self.is_pressed, self.lock = [], 0, False, threading.Lock()
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                if self.headers.get("upgrade"):
                    return self.answer(426, "application/json", b"{}")
                self.answer(200, "application/json", json.dumps({"object": "list", "data": [], "models": []}).encode())

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                if self.headers.get("transfer-encoding") == "chunked":
                    body = b""
                    while size := int(self.rfile.readline().strip() or b"0", 16):
                        body += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                try:
                    request = json.loads(body or b"{}")
                except ValueError:
                    request = {}
                self.answer(200, *provider.respond(self.path, request))

            def answer(self, status, kind, body):
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.port = self.server.server_address[1]

    def respond(self, path, request):
        is_model_call = re.search(r"/messages$|/responses$|completions$|enerateContent$", path.split("?")[0])
        text = json.dumps(request, ensure_ascii=False)
        is_summary = bool(is_model_call) and self.is_summary(request, text)
        with self.lock:
            if is_model_call:
                self.requests.append((is_summary, told(request), text))
            if is_summary:
                self.compactions += 1
                self.is_pressed = False
            tokens = 190_000 if self.is_pressed else 5_000
        # No two summaries are alike, as with a real model.
        said = f"{SUMMARY} This is summary {self.compactions}." if is_summary else "Done, it works now."
        if "messages/count_tokens" in path or path.split("?")[0].endswith(":countTokens"):
            return "application/json", json.dumps({"input_tokens": 5_000, "totalTokens": 5_000}).encode()
        if path.startswith("/v1/messages"):
            return anthropic(request, said if not is_summary else f"<summary>{said}</summary>", tokens)
        if "responses" in path:
            return responses(said, tokens)
        if "completions" in path:
            return chat(request, said, tokens)
        if "enerateContent" in path:
            said = f"<state_snapshot>\n<overall_goal>{said}</overall_goal>\n</state_snapshot>" if is_summary else said
            if (request.get("generationConfig") or {}).get("responseMimeType") == "application/json":
                said = json.dumps({"reasoning": "x", "model_choice": "flash", "next_speaker": "user", "complexity_score": 1,
                                   "complexity_reasoning": "x", "selected_skills": []})
            return gemini(path, said, tokens)
        return "application/json", b"{}"

    @staticmethod
    def is_summary(request, text):
        last = told({key: (request.get(key) or [])[-1:] for key in ("messages", "input", "contents")})
        system = json.dumps([request.get("systemInstruction"), request.get("system"), request.get("instructions")])
        marks = ["create a detailed summary", "CHECKPOINT COMPACTION", "Respond with TEXT ONLY"]
        if any(mark in last for mark in marks) or "<state_snapshot>" in system:
            return True
        # opencode declares no tools when it asks for a summary, and names sections to fill.
        return not request.get("tools") and "messages" in request and bool(re.search(r"(?i)anchored summary|summary template|## Goal", last + system + text[-4_000:]))


def told(value):
    """Every text in a request, in order."""
    if isinstance(value, str):
        return value + "\n"
    if isinstance(value, dict):
        return "".join(told(inner) for inner in value.values())
    if isinstance(value, list):
        return "".join(told(inner) for inner in value)
    return ""


def sse(events, named):
    lines = [(f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n" for event in events]
    return "text/event-stream", "".join(lines).encode()


def anthropic(request, said, tokens):
    usage = {"input_tokens": tokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 9}
    message = {"id": f"msg_{time.time_ns()}", "type": "message", "role": "assistant", "model": request.get("model"),
               "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    if not request.get("stream"):
        message |= {"content": [{"type": "text", "text": said}], "stop_reason": "end_turn"}
        return "application/json", json.dumps(message).encode()
    return sse([
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": said}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ], True)


def responses(said, tokens):
    number = time.time_ns()
    item = {"type": "message", "id": f"msg_{number}", "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": said, "annotations": []}]}
    usage = {"input_tokens": tokens, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 9,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": tokens + 9}
    answer = {"id": f"resp_{number}", "object": "response", "status": "in_progress", "output": []}
    return sse([
        {"type": "response.created", "response": answer},
        {"type": "response.output_item.added", "output_index": 0, "item": item | {"content": [], "status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": answer | {"status": "completed", "output": [item], "usage": usage}},
    ], True)


def chat(request, said, tokens):
    usage = {"prompt_tokens": tokens, "completion_tokens": 9, "total_tokens": tokens + 9}
    base = {"id": f"chatcmpl-{time.time_ns()}", "created": int(time.time()), "model": request.get("model")}
    if not request.get("stream"):
        choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        return "application/json", json.dumps(base | {"object": "chat.completion", "choices": [choice], "usage": usage}).encode()
    chunk = base | {"object": "chat.completion.chunk"}
    kind, body = sse([
        chunk | {"choices": [{"index": 0, "delta": {"role": "assistant", "content": said}, "finish_reason": None}]},
        chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        chunk | {"choices": [], "usage": usage},
    ], False)
    return kind, body + b"data: [DONE]\n\n"


def gemini(path, said, tokens):
    usage = {"promptTokenCount": tokens, "candidatesTokenCount": 9, "totalTokenCount": tokens + 9}
    answer = {"candidates": [{"content": {"role": "model", "parts": [{"text": said}]}, "finishReason": "STOP", "index": 0}],
              "usageMetadata": usage}
    return sse([answer], False) if "alt=sse" in path else ("application/json", json.dumps(answer).encode())


class Agent:
    """One agent in a home of its own."""

    def __init__(self, name, options, root, provider):
        self.name, self.root, self.provider, self.id = name, root, provider, None
        self.home, self.project = os.path.join(root, "home"), os.path.join(root, "project")
        self.bin = os.path.join(options.clients, "node_modules", ".bin", name)
        os.makedirs(self.home), os.makedirs(self.project)
        self.env = {
            "PATH": os.pathsep.join([os.path.dirname(options.binary), os.environ["PATH"]]), "HOME": self.home,
            "TERM": "xterm-256color", "LANG": "C.UTF-8", "HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1,localhost",
        }
        url = f"http://127.0.0.1:{provider.port}"
        if name == "claude":
            self.env |= {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-ant-api03-fake", "IS_SANDBOX": "1",
                         "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
            self.write(".claude/settings.json", '{\n    "includeCoAuthoredBy": false\n}\n')
        elif name == "codex":
            self.env["FAKE_KEY"] = "sk-fake"
            self.write(".codex/config.toml", f'model = "gpt-fake"\nmodel_provider = "fake"\nmodel_auto_compact_token_limit = 100000\n\n[model_providers.fake]\nname = "fake"\nbase_url = "{url}/v1"\nenv_key = "FAKE_KEY"\nwire_api = "responses"\n')
        elif name == "gemini":
            self.env |= {"GEMINI_API_KEY": "AIzaFake", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true",
                         "GEMINI_CLI_NO_RELAUNCH": "true"}
            self.write(".gemini/settings.json", '{"security":{"auth":{"selectedType":"gemini-api-key"}},"model":{"name":"gemini-2.5-pro","compressionThreshold":0.01}}')
        else:
            self.env["OPENCODE_DISABLE_AUTOUPDATE"] = "1"
            model = {"name": "Fake", "limit": {"context": 100_000, "output": 8_000}, "tool_call": True}
            provided = {"npm": "@ai-sdk/openai-compatible", "name": "Fake", "options": {"baseURL": f"{url}/v1", "apiKey": "k"}, "models": {"fake-model": model}}
            config = {"autoupdate": False, "share": "disabled", "model": "fake/fake-model", "small_model": "fake/fake-model", "provider": {"fake": provided}}
            with open(os.path.join(self.project, "opencode.json"), "w") as file:
                json.dump(config, file)

    def write(self, path, text):
        path = os.path.join(self.home, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    def version(self):
        done = subprocess.run([self.bin, "--version"], env=self.env, capture_output=True, text=True, timeout=120)
        return (re.search(r"\d+\.\d+\.\d+", done.stdout) or ["?"])[0]

    def longhaul(self, *arguments, **options):
        return subprocess.run(["longhaul", *arguments], env=self.env, cwd=self.project, capture_output=True, text=True, **options)

    def run(self, *arguments):
        done = subprocess.run([self.bin, *arguments], env=self.env, cwd=self.project, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            print(f"  {self.name} ended with {done.returncode}: {(done.stderr or done.stdout)[-400:].strip()}", file=sys.stderr)
        return done.stdout

    def turn(self, prompt):
        if self.name == "claude":
            said = self.run("-p", prompt, "--output-format", "json", *(["--resume", self.id] if self.id else []))
            self.id = (re.search(r'"session_id":"([^"]+)"', said) or [None, self.id])[1]
        elif self.name == "codex":
            flags = ["--skip-git-repo-check", "-s", "danger-full-access", "--json", "--dangerously-bypass-hook-trust"]
            resume = ["resume", self.id] if self.id else []
            said = self.run("exec", *flags, *resume, prompt)
            self.id = (re.search(r'"thread_id":"([^"]+)"', said) or [None, self.id])[1]
        elif self.name == "gemini":
            self.run("-p", prompt, "--yolo", "-o", "json", *(["--resume", "latest"] if self.id else []))
            self.id = "latest"
        else:
            self.run("run", *(["-c"] if self.id else []), prompt)
            self.id = "last"

    def compact(self):
        """Has the agent compact before or in the next turn."""
        if self.name == "claude":
            self.turn("/compact")
        else:
            self.provider.is_pressed = True

    def padding(self, turn):
        # Gemini CLI counts by itself when it resumes: what was said must be long.
        return "\n" + "Notes on the build follow, for later. " * 1_500 if self.name == "gemini" and turn % BLOCK == 2 else ""


def settings_of(home):
    """The files of the agent's settings with their bytes, and none of what it writes by itself."""
    found = {}
    for path in [".claude/settings.json", ".codex/config.toml", ".codex/hooks.json", ".gemini/settings.json"]:
        full = os.path.join(home, path)
        found[path] = open(full, "rb").read() if os.path.exists(full) else None
    for folder in [".gemini/extensions/longhaul", ".codex/plugins/cache/longhaul-tools", ".config/opencode/plugins", ".config/opencode/skills"]:
        found[folder] = os.path.exists(os.path.join(home, folder))
    return found


def standing(rules, text):
    plain = lambda words: " ".join(words.split())
    text = plain(text)
    return [rule for rule in rules if plain(rule) in text]


def play(name, options, is_guarded):
    """Plays all turns; per compaction, the rules that stood in the first request of the next turn, of those given."""
    root = tempfile.mkdtemp(prefix=f"{name}-", dir=options.keep)
    provider = Provider()
    agent = Agent(name, options, root, provider)
    before = settings_of(agent.home)
    if is_guarded:
        done = agent.longhaul("install", name, "--yes")
        if done.returncode != 0:
            sys.exit(f"could not install the guard in {name}: {done.stderr}")
    given, measured, silent, lost = [], [], 0, set()
    per_block = -(-len(RULES) // max(options.turns // BLOCK, 1))
    rules = iter(RULES)
    for turn in range(options.turns):
        mark = f"Step {turn + 1}:"
        prompt = f"{mark} {TASKS[turn % len(TASKS)]}."
        if turn % BLOCK == 0:
            for rule in [rule for _, rule in zip(range(per_block), rules)]:
                given.append(rule)
                prompt += f"\n{rule}"
        start = len(provider.requests)
        if turn % BLOCK == 2 and name != "claude":
            agent.compact()
        agent.turn(prompt + agent.padding(turn))
        if turn % BLOCK == 2 and name == "claude":
            agent.compact()
        new = provider.requests[start:]
        if provider.compactions == 0:
            silent += sum("longhaul_guard" in text for _, _, text in new)
        if turn % BLOCK == 3:
            asked = [text for is_summary, text, _ in new if not is_summary and mark in text]
            kept = standing(given, asked[0]) if asked else None
            measured.append((provider.compactions, None if kept is None else len(kept), len(given)))
            if is_guarded and kept is not None:
                lost.update(set(given) - set(kept))
    restored, recognised = None, set()
    if is_guarded:
        listed = agent.longhaul("rules", "list", "latest", "--json").stdout
        texts = " ".join(rule["text"] for rule in json.loads(listed)["rules"]) if listed else ""
        recognised = set(standing(given, texts))
        agent.longhaul("uninstall", name, "--yes")
        restored = settings_of(agent.home) == before
    if not options.keep_is_named:
        shutil.rmtree(root, ignore_errors=True)
    return {"version": agent.version() if os.path.exists(agent.project) else "?", "compactions": provider.compactions,
            "measured": measured, "restored": restored, "silent": silent,
            "lost": lost & recognised, "unseen": set(given) - recognised}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/longhaul")
    parser.add_argument("--clients", default=os.environ.get("CLIENTS", "clients-installed"))
    parser.add_argument("--agents", default="claude,codex,gemini,opencode")
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--keep", help="folder in which homes and projects are left")
    options = parser.parse_args()
    options.binary, options.clients = os.path.abspath(options.binary), os.path.abspath(options.clients)
    options.keep_is_named = options.keep is not None
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    if not os.access(options.binary, os.X_OK):
        sys.exit(f"no program at {options.binary}: build it with `cargo build --release`, or pass --binary")
    skipped, failed = [], []
    print("| agent | version | compactions | rules with the guard | rules without it | before any compaction | settings restored |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in options.agents.split(","):
        if not os.access(os.path.join(options.clients, "node_modules", ".bin", name), os.X_OK):
            skipped.append(name)
            continue
        results = {}

        def run(is_guarded):
            results[is_guarded] = play(name, options, is_guarded)

        threads = [threading.Thread(target=run, args=[guarded]) for guarded in (True, False)]
        [thread.start() for thread in threads], [thread.join() for thread in threads]
        guarded, alone = results[True], results[False]
        figures = lambda done: ", ".join(f"{'?' if kept is None else kept} of {of}" for _, kept, of in done["measured"])
        print(f"| {name} | {guarded['version']} | {guarded['compactions']} and {alone['compactions']} | {figures(guarded)} | {figures(alone)} "
              f"| {guarded['silent']} texts added | {'yes' if guarded['restored'] else 'NO'} |", flush=True)
        for rule in sorted(guarded["unseen"]):
            print(f"{name}: not recognised as a rule: {rule}", file=sys.stderr)
        for rule in sorted(guarded["lost"]):
            print(f"{name}: recognised, but not in the request: {rule}", file=sys.stderr)
        is_seen = all(kept is not None for _, kept, _ in guarded["measured"])
        if guarded["lost"] or not is_seen or not guarded["restored"]:
            failed.append(name)
    for name in skipped:
        print(f"SKIPPED: {name} is not installed in {options.clients}; nothing was measured for it", file=sys.stderr)
    sys.exit(1 if failed else 3 if skipped else 0)


if __name__ == "__main__":
    main()
