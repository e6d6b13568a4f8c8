#!/usr/bin/env python3
"""A small tool suite: does the model answer with the one tool call that was asked for, as JSON that can be read?

Standard library only. Where the server is comes from the environment: DRAFTLEDGER_URL, DRAFTLEDGER_API_KEY, DRAFTLEDGER_MODEL.
Prints one line of JSON: {"score": 0-100, "right": n, "of": n}. Each case is worth a third for JSON, a third for the right tool,
a third for the right arguments. A model that knows nothing (the made ones of this product) scores 0, with and without speculation.
"""

import json
import os
import re
import sys
import urllib.request

LEAD = 'Reply with JSON only: {"tool": name, "arguments": {...}}. Tools: weather(city), timer(minutes), mail(to, subject), add(a, b).\n'
CASES = [
    ("What is the weather in Lisbon?", "weather", {"city": "Lisbon"}),
    ("Wake me in 25 minutes.", "timer", {"minutes": 25}),
    ("What is 17 plus 46?", "add", {"a": 17, "b": 46}),
    ("Mail ana@example.org, subject Lunch.", "mail", {"to": "ana@example.org", "subject": "Lunch"}),
    ("Is it raining in Oslo?", "weather", {"city": "Oslo"}),
    ("Set a timer for an hour and a half.", "timer", {"minutes": 90}),
]
TOKENS, LIMIT_S = 96, 120


def ask(question):
    """The model's answer to one case."""
    body = {
        "model": os.environ.get("DRAFTLEDGER_MODEL", "default"), "max_tokens": TOKENS, "temperature": 0, "cache_prompt": False,
        "messages": [{"role": "user", "content": LEAD + question}],
    }  # fmt: skip
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ.get("DRAFTLEDGER_API_KEY", "")}
    url = os.environ["DRAFTLEDGER_URL"] + "/v1/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode("utf-8"), headers)
    with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
        return json.load(answer)["choices"][0]["message"].get("content") or ""


def call_in(text):
    """The first JSON object in the answer, with or without a code fence around it; None when there is none."""
    for start in re.finditer(r"\{", text):
        try:
            found, _ = json.JSONDecoder().raw_decode(text[start.start() :])
        except (ValueError, RecursionError):
            continue
        return found
    return None


def points(text, tool, arguments):
    """0 to 3."""
    call = call_in(text)
    if not isinstance(call, dict):
        return 0
    return 1 + (call.get("tool") == tool) + (call.get("tool") == tool and call.get("arguments") == arguments)


def main():
    made = [points(ask(question), tool, arguments) for question, tool, arguments in CASES]
    print(json.dumps({"score": round(100.0 * sum(made) / (3 * len(made)), 1), "right": made.count(3), "of": len(made)}))


if __name__ == "__main__":
    sys.exit(main())
