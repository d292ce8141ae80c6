#!/usr/bin/env python3
"""Turns labels with quotes into labels with positions and hashes.

usage: label.py IN.json OUT.tsv      IN.json: a list of objects
  {"session": "cc-entire-01", "kind": "goal|rule|request|false_rule|false_request", "message": 12, "quote": "exact text", "state": "..."}
`message` is the 1-based place in `contents` of sessions/normalized/SESSION.json; `quote` must occur verbatim in one text part of it
(white space may differ). Prints what it cannot find.
"""
import hashlib, json, os, re, sys
corpus = os.environ["LONGHAUL_CORPUS"]
loaded = {}
def session(name):
    if name not in loaded:
        loaded[name] = json.load(open(f"{corpus}/sessions/normalized/{name}.json"))
    return loaded[name]
bad = 0
rows = []
for one in json.load(open(sys.argv[1])):
    message = session(one["session"])["contents"][one["message"] - 1]
    pattern = re.compile(r"\s+".join(re.escape(word) for word in one["quote"].split()))
    for nth, part in enumerate(message["parts"]):
        found = pattern.search(part.get("text", ""))
        if found:
            text = part["text"][found.start():found.end()]
            digest = hashlib.sha256(text.encode()).hexdigest()[:12]
            rows.append([one["session"], one["kind"], f"m{one['message']}", nth, found.start(), found.end(), digest, one.get("state", "")])
            break
    else:
        bad += 1
        print("not found:", one["session"], one["message"], one["quote"][:80])
rows.sort(key=lambda row: (row[0], int(row[2][1:]), row[4]))
with open(sys.argv[2], "w") as out:
    for row in rows:
        out.write("\t".join(map(str, row)) + "\n")
print(len(rows), "written,", bad, "not found")
