#!/usr/bin/env python3
"""Measures the interactive agent in a pseudo-terminal, against a provider of its own on this machine.

usage: bench/terminal.py [BINARY] [SESSIONS]

Prints how long the first prompt takes with 2,000 context files and SESSIONS (default 500) sessions around, what a stream of
2,000 chunks a second costs, and how long a key takes below a transcript of 1 MB, each beside its limit.
"""
import fcntl, http.server, json, os, pty, select, struct, subprocess, sys, tempfile, termios, threading, time

BINARY = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "target/release/longhaul")
SESSIONS = int(sys.argv[2]) if len(sys.argv) > 2 else 500
RATE, SECONDS = 2000, 10


class Provider(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        said = json.loads(body)["contents"][-1]["parts"][-1].get("text", "")
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        if said == "stream":
            start = time.time()
            for number in range(RATE * SECONDS):
                self.piece("end\n\n" if number % 15 == 14 else f"chunk{number} ")
                ahead = start + number / RATE - time.time()
                if ahead > 0.005:
                    time.sleep(ahead)
        elif said == "large":
            self.piece("\n\n".join("A paragraph of some words. " * 8 for _ in range(5000)))
        self.piece("Over.", "STOP")

    def piece(self, text, finish=None):
        candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}
        if finish:
            candidate["finishReason"] = finish
        self.wfile.write(f"data: {json.dumps({'candidates': [candidate]})}\r\n\r\n".encode())
        self.wfile.flush()

    def log_message(self, *_):
        pass


class Terminal:
    def __init__(self, folder, environment):
        self.began = time.time()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve(BINARY, [BINARY, "-m", "gemini-2.5-flash"], environment)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.seen = b""

    def wait_for(self, text, patience=60):
        until = time.time() + patience
        while text.encode() not in self.seen:
            if not select.select([self.fd], [], [], max(0, until - time.time()))[0]:
                sys.exit(f"no {text!r}: {self.seen[-500:]!r}")
            self.seen += os.read(self.fd, 1 << 16)
        return time.time()

    def send(self, text):
        self.seen = b""
        os.write(self.fd, text.encode())
        return time.time()

    def cpu(self):
        with open(f"/proc/{self.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def leave(self):
        os.write(self.fd, b"\x04")
        try:
            while os.read(self.fd, 1 << 16):
                pass
        except OSError:
            pass
        os.waitpid(self.pid, 0)


def told(what, value, limit, unit):
    print(f"{what}: {value:.1f} {unit}; ratio {value / limit:.2f} of the limit of {limit:g} {unit}")


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
threading.Thread(target=server.serve_forever, daemon=True).start()
with tempfile.TemporaryDirectory() as root:
    work, home = f"{root}/work", f"{root}/home"
    os.makedirs(work), os.makedirs(home)
    for number in range(2000):
        os.makedirs(f"{work}/part{number}")
        with open(f"{work}/part{number}/GEMINI.md", "w") as file:
            file.write(f"Rule {number}: keep it short.\n")
    environment = {
        "HOME": home, "LONGHAUL_HOME": home, "PATH": os.environ["PATH"], "TERM": "xterm-256color",
        "GEMINI_API_KEY": "none", "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}",
    }
    for _ in range(SESSIONS):
        subprocess.run([BINARY, "-m", "gemini-2.5-flash", "-p", "hi"], cwd=work, env=environment, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    starts = []
    for _ in range(10):
        terminal = Terminal(work, environment)
        starts.append(terminal.wait_for("❯ ") - terminal.began)
        terminal.wait_for("ask, or")
        terminal.leave()
    told("first prompt", 1000 * sorted(starts)[len(starts) // 2], 80, "ms")

    terminal = Terminal(work, environment)
    terminal.wait_for("ask, or")
    before, began = terminal.cpu(), terminal.send("stream\r")
    ended = terminal.wait_for("Over.")
    told(f"a stream of {RATE} chunks a second", 100 * (terminal.cpu() - before) / (ended - began), 33, "% of a core")
    terminal.wait_for("ask, or")
    terminal.send("large\r")
    terminal.wait_for("Over.")
    terminal.wait_for("ask, or")
    keys = []
    for letter in "abcdefghijklmnopqrstuvwxyz" * 2:
        pressed = terminal.send(letter)
        keys.append(terminal.wait_for(letter) - pressed)
    told("a key below 1 MB of transcript", 1000 * sorted(keys)[len(keys) * 9 // 10], 16, "ms")
    terminal.send("\x15")
    terminal.leave()
