#!/usr/bin/env python3
"""Scores what the program recognises against the labels.

usage: score.py LONGHAUL fit.tsv|check.tsv [--show]           goals, rules and requests of the corpus (LONGHAUL_CORPUS)
       [--words]
       score.py LONGHAUL rules-1.json|rules-2.json [--show]   rules in single messages
       score.py LONGHAUL lifts.json|not-lifts.json [--show]   rules lifted, replaced, or only seemingly so

LONGHAUL is the program. --show prints every miss. A session of the corpus is scored whole and cut after a quarter, a half and
three quarters of its messages, so that the state of a request is asked for at four moments. The goal is scored on what
`compress --force` writes. Texts are the same if most words of the shorter one stand in the longer one.

Of a plan or a long message a label quotes one sentence, and the program may quote another. So a request also counts as the
labelled one if it stands for the same message and that has no other label; each label is found in this way by one request only, so
that a plan shown item by item is one request and as many wrong ones. A goal counts, too, if it cites the labelled message and has
two fifths of the label's words. `--words` compares words alone. A request that is given up later (replaced, dropped) is neither wanted
nor wrong before: its turn may have ended long ago.
"""
import collections, hashlib, json, os, re, subprocess, sys, tempfile

program, labels, show = os.path.abspath(sys.argv[1]), sys.argv[2], "--show" in sys.argv
by_words = "--words" in sys.argv
here = os.path.dirname(os.path.abspath(__file__))
home = tempfile.mkdtemp()
env = dict(os.environ, HOME=home, LONGHAUL_HOME=os.path.join(home, ".gemini"))


def words(text):
    found = re.findall(r"[^\W_]+", text.lower())
    return [piece for word in found for piece in (list(word) if ord(word[0]) > 0x2E7F else [word])]


def same(one, other, share=0.7):
    one, other = collections.Counter(words(one)), collections.Counter(words(other))
    least = min(sum(one.values()), sum(other.values()))
    return least > 0 and sum((one & other).values()) >= share * least


def run(command, contents):
    session = json.dumps({"contents": contents}, ensure_ascii=False)
    done = subprocess.run([program, *command, "-"], input=session.encode(), capture_output=True, env=env, cwd=home)
    if not done.stdout:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.decode()[:400]}")
    return json.loads(done.stdout)


def typed(text):
    return {"role": "user", "parts": [{"text": text}]}


def rules_after(*messages):
    contents = []
    for text in messages:
        contents += [typed(text), {"role": "model", "parts": [{"text": "Understood."}]}]
    return [rule["text"] for rule in run(["inspect", "--json"], contents)["rules"] if not rule.get("retired_by")]


def miss(*words):
    if show:
        print(*words)


def percent(part, whole):
    return f"{part} of {whole}" + (f" ({100 * part / whole:.0f} %)" if whole else "")


def score_rules(cases):
    found = wanted = right = shown = 0
    for case in cases:
        got = rules_after(case["text"])
        wanted += len(case["rules"])
        shown += len(got)
        for rule in case["rules"]:
            hit = any(same(rule, text) for text in got)
            found += hit
            if not hit:
                miss(f"[{case['lang']}] missed: {rule}")
        for text in got:
            hit = any(same(rule, text) for rule in case["rules"])
            right += hit
            if not hit:
                miss(f"[{case['lang']}] wrong:  {text}")
    print(f"recall {percent(found, wanted)}, precision {percent(right, shown)}")


def score_lifts(cases):
    right = 0
    for case in cases:
        before = rules_after(case["first"])
        after = rules_after(case["first"], case["second"])
        stands = any(same(case["rule"], text, 0.8) for text in after if not same(case["second"], text, 0.9))
        known = any(same(case["rule"], text) for text in before)
        if "effect" in case:
            ok = known and not stands and (not case["new"] or any(same(case["new"], text) for text in after))
        else:
            ok = known and stands
        right += ok
        if not ok:
            miss(f"[{case['lang']}] {'' if known else '(rule not recognised) '}{case['rule']!r} then {case['second']!r} -> {after}")
    print(percent(right, len(cases)))


def span(contents, row):
    text = contents[int(row[2][1:]) - 1]["parts"][int(row[3])]["text"][int(row[4]):int(row[5])]
    if hashlib.sha256(text.encode()).hexdigest()[:12] != row[6]:
        raise SystemExit(f"{row[0]} {row[2]}: the session is not the labelled one")
    return text


def state_at(state, last):
    """Open, or what became of it, after message number `last`; "given up" if that is still to come."""
    word, _, where = state.partition(" ")
    if word in ("done", "replaced", "dropped") and where and int(re.sub(r"\D", "", where) or 0) > last:
        return "open" if word == "done" or by_words else "given up"
    return word


def score_open(labelled, last, shown):
    """The number of open requests found and of those shown that are open, with what was missed and what is wrong."""
    requests = [(m, text, state_at(s, last)) for k, m, text, s in labelled if k == "request" and m <= last]
    single = {m for m, count in collections.Counter(m for m, _, _ in requests).items() if count == 1}
    wanted = [number for number, (_, _, state) in enumerate(requests) if state == "open"]
    accepted = [number for number, (_, _, state) in enumerate(requests) if state in ("open", "given up")]
    found, wrong, right = set(), [], 0
    later = []
    for request in shown:
        hits = {number for number in accepted if same(requests[number][1], request["text"])}
        found |= hits
        right += bool(hits)
        hits or later.append(request)
    for request in later:
        messages = {int(m[1:]) for m in request["messages"]}
        hits = [n for n in accepted if n not in found and requests[n][0] in single & messages and not by_words]
        found |= set(hits[:1])
        right += bool(hits)
        hits or wrong.append(request["text"])
    missed = [requests[number][1] for number in wanted if number not in found]
    return len(wanted) - len(missed), len(wanted), right, missed, wrong


def score_sessions(rows):
    sessions = collections.defaultdict(list)
    for row in rows:
        sessions[row[0]].append(row)
    goals = goal_hits = 0
    rule_right = rule_shown = rule_found = rule_wanted = 0
    open_right = open_shown = open_found = open_wanted = 0
    for name, of in sorted(sessions.items()):
        contents = json.load(open(f"{os.environ['LONGHAUL_CORPUS']}/sessions/normalized/{name}.json"))["contents"]
        whole = len(contents)
        labelled = [(row[1], int(row[2][1:]), span(contents, row), row[7]) for row in of]
        for last in sorted({max(1, whole * quarter // 4) for quarter in (1, 2, 3, 4)}):
            seen = run(["inspect", "--json"], contents[:last])
            rules = [r for k, m, r, s in labelled if k == "rule" and m <= last and not s.startswith(("lifted", "replaced"))]
            got = [rule["text"] for rule in seen["rules"] if not rule.get("retired_by")]
            rule_wanted += len(rules)
            rule_shown += len(got)
            for rule in rules:
                hit = any(same(rule, text) for text in got)
                rule_found += hit
                hit or miss(f"{name} …m{last} rule missed: {rule[:160]!r}")
            for text in got:
                hit = any(same(rule, text) for rule in rules)
                rule_right += hit
                hit or miss(f"{name} …m{last} rule wrong: {text[:160]!r}")
            shown = [r for r in seen["requests"] if r["state"] == "open"]
            found, wanted, right, missed, wrong = score_open(labelled, last, shown)
            open_found, open_wanted = open_found + found, open_wanted + wanted
            open_right, open_shown = open_right + right, open_shown + len(shown)
            for text in missed:
                miss(f"{name} …m{last} open request missed: {text[:160]!r}")
            for text in wrong:
                miss(f"{name} …m{last} not open: {text[:160]!r}")
            if last < whole // 2:
                continue
            report = run(["compress", "--force", "--json", "--snapshot-budget", "4000"], contents[:last])
            found = re.search(r"<overall_goal>(.*?)</overall_goal>", report.get("snapshot") or "", re.S)
            through = re.search(r'through="m(\d+)"', report.get("snapshot") or "")
            if not through:
                continue
            at = int(through.group(1))
            wanted = []
            for kind, message, text, state in labelled:
                where = [int(n) for n in re.findall(r"m(\d+)", state)]
                if kind == "goal" and where and where[0] <= last and (len(where) < 2 or at <= where[1]):
                    wanted.append((message, text))
            if not wanted:
                continue
            goals += 1
            cited = {int(m) for m in re.findall(r"\[m(\d+)\]", found.group(1))} if found else set()
            got = re.sub(r"\[m\d+\]", " ", found.group(1)) if found else ""
            is_long = lambda text: len(words(got)) >= 0.5 * len(words(text))
            hit = any(same(text, got) and is_long(text) for _, text in wanted)
            hit = hit or not by_words and any(m in cited and same(text, got, 0.4) and is_long(text) for m, text in wanted)
            goal_hits += hit
            hit or miss(f"{name} …m{last} goal: {got.strip()[:200]!r} instead of {wanted[-1][1][:200]!r}")
    print(f"goals {percent(goal_hits, goals)}")
    print(f"rules: recall {percent(rule_found, rule_wanted)}, precision {percent(rule_right, rule_shown)}")
    print(f"open requests: precision {percent(open_right, open_shown)}, recall {percent(open_found, open_wanted)}")


path = labels if os.path.exists(labels) else os.path.join(here, labels)
if path.endswith(".tsv"):
    score_sessions([line.rstrip("\n").split("\t") for line in open(path)])
elif "lifts" in os.path.basename(path):
    score_lifts(json.load(open(path)))
else:
    score_rules(json.load(open(path)))
