"""Settings, read once from the environment, and the shipped catalog of workloads. Nothing here opens a database or a network."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from core.domain.box import Suite
from core.domain.forms import checked
from core.domain.workload import Prompt, Workload

ROOT = Path(__file__).resolve().parent.parent
LEAST_TOKEN = 32
LOCAL_TOKEN_OFF = "off"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]


class Settings(BaseSettings):
    """DRAFTLEDGER_DB: database file; DRAFTLEDGER_LOCAL_DIR: models and this machine's runs; poll and grace in seconds.

    DRAFTLEDGER_SECOND_PERSON: a decision against the suggestion needs a second named person.
    Retention in days: copies of acknowledged runs on boxes, raw engine logs here (None: for good).
    Doors: a fixed local token (or `off`), the claim and map that roles come from, further host names, comma separated.
    """

    model_config = SettingsConfigDict(env_prefix="DRAFTLEDGER_", extra="ignore")

    local_dir: Path = ROOT / "data" / "local"
    db: Path | None = None
    poll_s: float = Field(default=0.7, gt=0, le=60)
    grace_s: float = Field(default=10.0, gt=0, le=120)
    second_person: bool = False
    keep_box_days: int = Field(default=30, ge=1, le=3650)
    keep_raw_days: int | None = Field(default=None, ge=7, le=3650)
    local_token: str = ""
    role_claim: str = ""
    role_map: dict[str, str] = {}
    hosts: str = ""

    @field_validator("local_token")
    @classmethod
    def _token_is_long_or_off(cls, value: str) -> str:
        if value and value != LOCAL_TOKEN_OFF and len(value) < LEAST_TOKEN:
            raise ValueError(f"DRAFTLEDGER_LOCAL_TOKEN needs at least {LEAST_TOKEN} characters, or the word off.")
        return value

    @property
    def host_names(self) -> list[str]:
        """Names under which the app answers besides this computer's own."""
        return [name.strip() for name in self.hosts.split(",") if name.strip()]

    @property
    def database(self) -> Path:
        """The database file."""
        return self.db or self.local_dir / "draftledger.duckdb"

    @property
    def beside(self) -> Path:
        """The folder beside the database: raw logs, event ledgers, decisions.jsonl."""
        return Path(f"{self.database}.d")


def load_workloads(folder: Path = ROOT / "data") -> dict[str, Workload]:
    """Workloads of data/catalog/workloads.toml with their prompts from data/prompts/<set>.toml."""
    found = {}
    for entry in tomllib.loads((folder / "catalog" / "workloads.toml").read_text("utf-8"))["workload"]:
        prompts = _prompts(folder / "prompts" / f"{entry.pop('prompt_set')}.toml")
        workload = checked(Workload, {**entry, "prompts": prompts})
        found[workload.id] = workload
    return found


def _prompts(path: Path) -> list[Prompt]:
    """A prompt set; a prompt that names one of the file's documents is asked below that text."""
    held = tomllib.loads(path.read_text("utf-8"))
    prompts = []
    for entry in held["prompt"]:
        document = entry.pop("document", None)
        if document is not None:
            entry["text"] = f"{held['documents'][document].strip()}\n\n{entry['text']}"
        prompts.append(Prompt(**{**entry, "text": entry.get("text", "").strip()}))
    return prompts


def load_suites(python: str, folder: Path = ROOT / "data") -> list[Suite]:
    """Tool suites of data/catalog/suites.toml, with this installation's interpreter and data folder in their argument lists."""
    found = []
    for entry in tomllib.loads((folder / "catalog" / "suites.toml").read_text("utf-8"))["suite"]:
        argv = [part.replace("{python}", python).replace("{data}", str(folder)) for part in entry["argv"]]
        found.append(checked(Suite, {**entry, "argv": argv}))
    return found
