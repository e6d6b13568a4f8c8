"""What somebody hostile types: shell words, climbing paths, flags, control characters, bidi, templates, too much of everything."""

from __future__ import annotations

MARK = "owned-by-a-payload"
DO = f"touch /tmp/{MARK}"
PAYLOADS = [
    f"; {DO}", f"& {DO}", f"&& {DO}", f"| {DO}", f"|| {DO}", f"`{DO}`", f"$({DO})", f"${{IFS}}{DO}", f"\n{DO}", f"\r\n{DO}\r\n",
    f"\0{DO}", f"' ; {DO} #", f'" ; {DO} #', f"'; {DO}; '", f'"; {DO}; "', f"\\'; {DO}", f"$'{DO}'", f"x$(echo;{DO})", f"<({DO})",
    f">({DO})", f"> /tmp/{MARK}", f">> /tmp/{MARK}", "< /etc/passwd", f"{{touch,/tmp/{MARK}}}", f"x; {DO} &", f"%0a{DO}", f"%3B{DO}",
    f"!{DO}", f"^x^{DO}", "~root", "$HOME", "${PATH}", "$0", "$$", "*", "?", "[a-z]*", "../../../../etc/passwd", "..\\..\\x",
    "/etc/shadow", "%2e%2e/%2e%2e", "....//", "C:\\x", "\\\\host\\share", "-rf", "--", "-", "--help", "--host 0.0.0.0", "--host=0.0.0.0",
    "-hf evil/model", "--slot-save-path /tmp", "--tools all", "--log-file /tmp/x", "-oProxyCommand=touch /tmp/x", "\u2028" + DO,
    "\u202e" + DO, "\x1b]0;x\x07", "\ufeff" + DO, "A" * 5000, "\ud800", "{model}", "{model:../x}", "%s%n%x", "{{7*7}}",
]  # fmt: skip
