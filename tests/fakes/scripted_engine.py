"""A server that speaks llama-server's protocol and claims whatever a test wrote down: standard library only, a process of its own.

Behaviour is JSON in the environment variable SCRIPTED_ENGINE, every key optional; `at` holds changes by n_max ("0", "1", …):
  speeds            claimed tok/s by n_max, {"0": 100, "1": 150}; a little is taken off by request number, the same every time
  accept            claimed share of accepted draft tokens
  wobble            factors on the speed by request number, over and over
  slower_by_start   share of its speed that each start of an engine of this script costs, counted in `facts`
  forced_ms         [ms of a step with all accepted, with none] of an engine that is told --spec-synth-rates
  positions         share of drafts accepted so deep, told by /metrics for each position
  last_words        what a process that dies while loading prints
  help_extra, version, version_rc, hang_help   what --help and --version do
  die_loading, load_s, never_healthy           what loading does
  die_after         requests that are answered before the process kills itself in the middle of the next
  nonsense, http    answer 200 with text that is no stream, or this status
  timings           "missing" | "nan" | "negative" | "absurd" | "text"
  no_draft, draft_when_off, cached, short      what the timings say
  stall             the stream stops in the middle and never ends
  ignore_term, daemons                         ignore SIGTERM; start this many children in sessions of their own
  zoo               one child of each kind that does not want to end: deaf, own group, daemon, daemon without environment, respawner
  eat_mib           MiB of memory it takes with each request and keeps
  pace_s            how long a stream takes, spread over its tokens; else as fast as it can
  waits             true: a stream really takes the decode time that its timings claim
  honest            the times told are those that passed, pace_s times (1 + slower_by_start) for each start before
  bad_slot          {"slot": 1, "accept": 0.2}: this slot accepts another share of its drafts
  load_log          lines printed while loading, as the placement is told
  touch             {"path": FILE, "requests": [2, 3], "hold_s": 1}: FILE is there while these requests (from 0) are served, so much longer
  name              what the server calls itself, whatever it was told
  noise             bytes of rubbish printed at start
  facts             file that gets one JSON line a start: pid, argv, port, key, daemons
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HELP = """usage: llama-server [options]
-m,    --model FNAME                    model path to load
-c,    --ctx-size N                     size of the prompt context
-np,   --parallel N                     number of server slots
-t,    --threads N                      number of threads
-ngl,  --gpu-layers N                   layers to store in VRAM
-lv,   --verbosity N                    verbosity
-md,   --model-draft FNAME              draft model
--spec-type TYPE                        none,draft-mtp,draft-simple
--spec-draft-n-max N                    number of tokens to draft
--spec-synth-rates P0,P1,...            synthetic acceptance (benchmarking only)
--host HOST                             ip address to listen
--port PORT                             port to listen
-a,    --alias STRING                   model name alias
--metrics                               enable prometheus endpoint
--slot-save-path PATH                   path to save slots
"""
KEY_BY_FLAG = "--api-key KEY                           API key to use for authentication\n"
KEY_BY_VARIABLE = "--api-key KEY                           API key to use for authentication\n                    (env: LLAMA_API_KEY)\n"


class Engine:
    """What the server knows: its flags, its script, its counters."""

    def __init__(self, given: argparse.Namespace, script: dict) -> None:
        self.given, self.script = given, script
        self.n_max = given.n_max if given.spec_type not in (None, "none") else 0
        self.key = given.api_key or os.environ.get("LLAMA_API_KEY", "")
        self.lock = threading.Lock()
        self.starts_before = 0
        self.requests = self.drafts = self.drafted = self.accepted = 0
        self.busy: set = set()
        self.eaten: list = []
        self.healthy_at = time.monotonic() + script.get("load_s", 0)

    def healthy(self) -> bool:
        return not self.script.get("never_healthy") and time.monotonic() >= self.healthy_at

    def take_slot(self) -> int:
        with self.lock:
            slot = next(number for number in range(len(self.busy) + 1) if number not in self.busy)
            self.busy.add(slot)
            return slot

    def timings(self, count: int, slot: int = 0) -> dict:
        with self.lock:
            number, self.requests = self.requests, self.requests + 1
        speed = self.script.get("speeds", {}).get(str(self.n_max), 100.0) * (1.0 - 0.001 * (number % 3))
        speed *= 1.0 - self.script.get("slower_by_start", 0.0) * self.starts_before
        wobble = self.script.get("wobble", [1.0])
        speed *= wobble[number % len(wobble)]
        found = {"prompt_n": 7, "prompt_ms": 70.0, "predicted_n": count, "predicted_ms": 1000.0 * (count - 1) / speed}
        found["cache_n"] = self.script.get("cached", 0)
        if self.given.synth:
            return {**found, **self._forced(count - 1)}
        if (self.n_max and not self.script.get("no_draft")) or self.script.get("draft_when_off"):
            steps = max(1, count // (1 + self.n_max))
            drafted = steps * max(1, self.n_max)
            found.update(draft_n=drafted, draft_n_accepted=int(drafted * self._share(slot)))
            with self.lock:
                self.drafts += steps
                self.drafted += drafted
                self.accepted += found["draft_n_accepted"]
        return {**found, **self._flaw()}

    def _share(self, slot: int) -> float:
        bad = self.script.get("bad_slot", {})
        return bad["accept"] if bad.get("slot") == slot else self.script.get("accept", 0.8)

    def _forced(self, tokens: int) -> dict:
        """Every draft token accepted, or none: what --spec-synth-rates does to counts and time."""
        accepts = self.given.synth.split(",")[0] == "1"
        steps = -(-tokens // (1 + self.n_max)) if accepts else tokens
        cost = self.script.get("forced_ms", [10.0, 10.0])[0 if accepts else 1]
        return {"draft_n": steps * self.n_max, "draft_n_accepted": tokens - steps, "predicted_ms": steps * cost}

    def _flaw(self) -> dict:
        flaws = {"nan": float("nan"), "negative": -5.0, "absurd": 1e-9, "text": "fast"}
        kind = self.script.get("timings")
        return {"predicted_ms": flaws[kind]} if kind in flaws else {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    engine: Engine

    def log_message(self, *_: object) -> None:
        """Silent: the engine's own lines are what tests read."""

    def _send(self, status: int, body: object, kind: str = "application/json") -> None:
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)
        self.close_connection = True

    def _refused(self) -> bool:
        if self.engine.key and self.headers.get("Authorization") != "Bearer " + self.engine.key:
            self._send(401, {"error": {"message": "Invalid API Key", "type": "authentication_error", "code": 401}})
            return True
        return False

    def do_GET(self) -> None:
        engine = self.engine
        if self.path == "/health":
            ok = engine.healthy()
            return self._send(200 if ok else 503, {"status": "ok"} if ok else {"error": {"message": "Loading model", "code": 503}})
        if self.path == "/v1/models":
            return self._send(200, {"data": [{"id": engine.script.get("name") or engine.given.alias or engine.given.model}]})
        if self._refused():
            return None
        if self.path == "/props":
            settings = {"n_ctx": engine.given.ctx}
            props = {"default_generation_settings": settings, "total_slots": engine.given.parallel, "build_info": "scripted-1"}
            return self._send(200, {**props, "model_path": engine.given.model, "chat_template": "{{ x }}"})
        if self.path == "/metrics" and engine.given.metrics:
            rows = [("num_draft_tokens", engine.drafted), ("num_accepted_tokens", engine.accepted), ("num_drafts", engine.drafts)]
            lines = ["llamacpp:predicted_tokens_total 1"] + [
                f"llamacpp:spec_decode_{name}_total {value}" for name, value in rows if engine.drafts
            ]
            for place, share in enumerate(engine.script.get("positions", ())[: engine.n_max]):
                lines.append(f'llamacpp:spec_decode_num_accepted_tokens_per_pos_total{{position="{place}"}} {engine.drafts * share}')
            return self._send(200, "# HELP llamacpp:spec_decode\n" + "\n".join(lines) + "\n", "text/plain")
        return self._send(404, {"error": {"message": "not found", "code": 404}})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self._refused():
            return None
        script = self.engine.script
        if self.engine.requests >= script.get("die_after", 1 << 30):
            sys.stderr.write("terminate called after throwing an instance of 'std::bad_alloc'\n")
            os.kill(os.getpid(), signal.SIGABRT)
            time.sleep(60)  # the signal may end the process through another thread, a moment later
        if script.get("http"):
            return self._send(script["http"], {"error": {"message": "slot unavailable", "code": script["http"]}})
        if script.get("nonsense"):
            self.engine.requests += 1
            return self._send(200, "<html>hello</html>", "text/html")
        if script.get("eat_mib"):
            self.engine.eaten.append(b"x" * (script["eat_mib"] << 20))
        slot, touch = self.engine.take_slot(), script.get("touch", {})
        hot = touch.get("path") if self.engine.requests in touch.get("requests", ()) else None
        if hot:
            open(hot, "w").close()
            time.sleep(touch.get("hold_s", 0))
        try:
            return self._stream(asked, slot)
        finally:
            self.engine.busy.discard(slot)
            if hot:
                os.unlink(hot)

    def _stream(self, asked: dict, slot: int) -> None:
        script, came = self.engine.script, []
        pace = script.get("pace_s", 0.0) * (1 + script.get("slower_by_start", 0.0) * self.engine.starts_before)
        count = asked["max_tokens"] - script.get("short", 0)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        claimed = self.engine.timings(count, slot) if script.get("waits") else None
        began = time.monotonic()
        for number in range(count):
            if claimed:
                due = began + claimed["predicted_ms"] / 1000.0 * number / max(1, count - 1)
                time.sleep(max(0.0, due - time.monotonic()))
            time.sleep(pace / count)
            came.append(time.monotonic())
            if script.get("stall") and number == count // 2:
                time.sleep(3600)
            self._event({"choices": [{"delta": {"content": "abc"[number % 3]}, "finish_reason": None}]})
        timings = claimed or self.engine.timings(count, slot)
        if script.get("honest"):
            timings["predicted_ms"] = 1000.0 * (came[-1] - came[0])
        if timings.get("draft_n"):
            made, taken = timings["draft_n"], timings["draft_n_accepted"]
            share = f"{taken / made:.5f} ({taken:5d} accepted / {made:5d} generated), mean len =  2.00"
            sys.stderr.write(f"0.05.123.456 I slot print_timing: id  {slot} | task 7 | draft acceptance = {share}\n")
        last = {"choices": [{"delta": {}, "finish_reason": "length"}], "usage": {"prompt_tokens": 7, "completion_tokens": count}}
        self._event(last if script.get("timings") == "missing" else {**last, "timings": timings})
        self.wfile.write(b"data: [DONE]\n\n")
        if timings.get("draft_n"):
            threading.Timer(0.03, self._statistics).start()

    def _event(self, event: dict) -> None:
        self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")

    def _statistics(self) -> None:
        e = self.engine
        sys.stderr.write(
            f"0.05.123.456 I slot statistics draft-mtp: #calls(b,g,a) = {e.requests} {e.drafts} {e.drafts}, #gen drafts = {e.drafts},"
            f" #acc drafts = {e.drafts}, #gen tokens = {e.drafted}, #acc tokens = {e.accepted}, #mean acc len = 2.00,"
            f" #acc rate/pos = (0.800), dur(b,g,a) = 0.010, {e.drafts * 2.0:.3f}, 0.100 ms\n"
        )
        sys.stderr.flush()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("-c", "--ctx-size", dest="ctx", type=int, default=4096)
    parser.add_argument("-np", "--parallel", type=int, default=1)
    parser.add_argument("-t", "--threads", type=int)
    parser.add_argument("-ngl", "--gpu-layers", type=int)
    parser.add_argument("-lv", "--verbosity", type=int)
    parser.add_argument("-md", "--model-draft")
    parser.add_argument("--spec-type")
    parser.add_argument("--spec-draft-n-max", dest="n_max", type=int, default=0)
    parser.add_argument("--spec-synth-rates", dest="synth", default="")
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("-a", "--alias", default="")
    parser.add_argument("--api-key", default="")
    parser.add_argument("--metrics", action="store_true")
    given, unknown = parser.parse_known_args()
    if unknown:
        sys.stderr.write(f"error: invalid argument: {unknown[0]}\n")
        sys.exit(1)
    return given


def short_answers(script: dict) -> None:
    """--help and --version, as the script has them."""
    if "--version" in sys.argv:
        sys.stderr.write(f"noise before\nversion: {script.get('version', '1234 (scripted)')}\n")
        sys.exit(script.get("version_rc", 0))
    if "--help" in sys.argv:
        time.sleep(3600 if script.get("hang_help") else 0)
        print(HELP + (KEY_BY_VARIABLE if script.get("key_by_variable") else KEY_BY_FLAG) + script.get("help_extra", ""))
        sys.exit(0)


def start_daemons(count: int) -> list:
    """Children that leave group, session and environment behind, each through a parent that ends at once."""
    code = (
        "import os,signal,sys,time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "print(os.getpid(), flush=True); os.close(1)\n"
        "time.sleep(600)\n"
    )
    started = []
    for _ in range(count):
        command = [sys.executable, "-I", "-S", "-c", code]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env={}, close_fds=False) as child:
            started.append(int(child.stdout.readline()))
    return started


_SAY = "f = open(sys.argv[1], 'a'); f.write('%d\\n' % os.getpid()); f.close()\n"
_ZOO = {
    "deaf": "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + _SAY + "time.sleep(600)\n",
    "own group": "os.setpgid(0, 0)\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + _SAY + "time.sleep(600)\n",
    "daemon": "if os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n" + _SAY + "time.sleep(600)\n",
    "respawner": "os.setsid()\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
    + _SAY
    + "while True:\n    if os.fork() == 0:\n        os.setsid()\n        "
    + _SAY.replace("\n", "\n        ", 1).strip()
    + "\n        time.sleep(600)\n    time.sleep(0.05)\n",
}


def start_zoo(register: str) -> None:
    """Children that hide; each writes its number into `register`. They inherit the lock's descriptor as a real engine's would."""
    kinds = [(name, dict(os.environ)) for name in _ZOO] + [("daemon", {})]
    for name, environment in kinds:
        code = "import os, signal, sys, time\n" + _ZOO[name]
        subprocess.Popen([sys.executable, "-I", "-S", "-c", code, register], env=environment, close_fds=False)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and not (os.path.exists(register) and len(open(register).readlines()) >= len(kinds)):
        time.sleep(0.02)


def main() -> None:
    script = json.loads(os.environ.get("SCRIPTED_ENGINE", "{}"))
    short_answers(script)
    given = parse()
    engine = Engine(given, script)
    engine.script = {**script, **script.get("at", {}).get(str(engine.n_max), {})}
    engine.healthy_at = time.monotonic() + engine.script.get("load_s", 0)
    if engine.script.get("ignore_term"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    daemons = start_daemons(engine.script.get("daemons", 0))
    if engine.script.get("zoo"):
        start_zoo(engine.script["zoo"])
    if script.get("facts"):
        facts = {"pid": os.getpid(), "argv": sys.argv, "port": given.port, "key": engine.key, "daemons": daemons}
        with open(script["facts"], "a+", encoding="utf-8") as stream:
            stream.seek(0)
            engine.starts_before = sum(1 for _ in stream)
            stream.write(json.dumps(facts) + "\n")
    sys.stderr.write("".join(line + "\n" for line in engine.script.get("load_log", ())))
    sys.stderr.write("load_tensors: loading model tensors\n" + "x" * engine.script.get("noise", 0) + "\n")
    sys.stderr.flush()
    if engine.script.get("die_loading"):
        sys.stderr.write(engine.script.get("last_words", "error: failed to load model") + "\n")
        sys.exit(1)
    Handler.engine = engine
    server = ThreadingHTTPServer((given.host, given.port), Handler)
    server.daemon_threads = True
    server.serve_forever(poll_interval=0.05)


if __name__ == "__main__":
    main()
