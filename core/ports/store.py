"""The store as the services see it: rows in, rows out, grouped by noun. Rows are dicts keyed by column; times are aware UTC datetimes.

Nothing measured is updated or deleted; the only thing that changes in place is the state of a run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from core.domain.box import Box
from core.ports.doors import AuditRows, PeopleRows, TokenRows
from core.ports.names import Names
from core.ports.run_rows import RunRows
from core.ports.tables import TableRows

Row = dict[str, Any]


class BoxRows(ABC):
    """Registered boxes and what their checks found."""

    @abstractmethod
    def put(self, box: Box, *, who: str, at: datetime) -> None:
        """Registers a box, or registers it anew; every version is kept with who and when."""

    @abstractmethod
    def all(self) -> list[Box]:
        """Every box by name, this machine first."""

    @abstractmethod
    def remove(self, box_id: str, *, who: str, at: datetime) -> None:
        """Takes a box off the list; its versions and checks stay."""

    @abstractmethod
    def versions(self, box_id: str) -> list[Row]:
        """Every registration of a box, newest first: {who, noted_at, box}; `box` is None where it was removed."""

    @abstractmethod
    def add_check(self, box_id: str, report: dict[str, Any], *, ok: bool, at: datetime) -> None:
        """Keeps what a check found."""

    @abstractmethod
    def latest_check(self, box_id: str) -> Row | None:
        """{ok, noted_at, report} of the newest check, None before the first."""


class CellRows(ABC):
    """Samples and the cells that sum them up."""

    @abstractmethod
    def of_run(self, run_id: str) -> list[Row]:
        """Cells of one run (real ones), by concurrency and n_max."""

    @abstractmethod
    def of_runs(self, run_ids: list[str]) -> list[Row]:
        """Cells of these runs (real ones) by run, concurrency and n_max, with `recipes`: how many recipes ran under that
        arm, and `last_position`: mean share of drafts accepted to their end."""

    @abstractmethod
    def arms(self, *, is_candidate: bool, first_model: str, states: tuple[str, ...], limit: int) -> list[Row]:
        """Single-stream arms with a counted repetition (drafting ones or baselines), those of `first_model` first, then newest first:
        {run_id, n_max, model, box_id, build, spill, context, workload, title, at}."""

    @abstractmethod
    def paired_runs(self, *, model: str, box_id: str, n_max: int, c: int, recipe: dict[str, Any]) -> list[Row]:
        """{run_id, workload, placement} of finished runs of that model and box, newest first, with counted repetitions of off and
        n_max at c, whose drafting arm has the build, commit and artifact of `recipe`."""

    @abstractmethod
    def revision(self) -> int:
        """A number that changes with every write of this process, the only one that writes: the same number, the same rows."""

    @abstractmethod
    def row_heads(self) -> list[Row]:
        """One line a measured row of the matrix, newest run first: the newest complete run (else the newest that ended) of each model,
        box, engine, build, placement, workload, context and concurrency, and what ran newest on that box: engine, driver, artifact."""

    @abstractmethod
    def failed_stages(self, run_ids: list[str]) -> list[Row]:
        """{run_id, n_max, c, reason} of arms of these runs whose stage failed."""

    @abstractmethod
    def suite_scores(self, limit: int = 2000) -> list[Row]:
        """Runs of tool suites of every run, newest first: {run_id, suite, n_max, c, status, reason, score, noted_at, box, model}."""

    @abstractmethod
    def drafting_arms(self) -> list[Row]:
        """Recipes that ran with drafts: {run_id, box, model, context, artifact, draft_artifact, speculation}, each once a run."""

    @abstractmethod
    def with_same_head(self, run_id: str, n_max: int, limit: int = 20) -> list[str]:
        """Ids of runs, newest first, that drafted this n_max with the same model file, draft file and engine build; none without a hash."""

    @abstractmethod
    def prefill(self, run_ids: list[str]) -> list[Row]:
        """{run_id, n_max, c, n, tok_s, tok_s_min, tok_s_max, ttft_ms} over the counted warm repetitions of these runs."""

    @abstractmethod
    def drifted(self, run_ids: list[str]) -> set[str]:
        """Those of these runs whose baseline moved while they measured."""

    @abstractmethod
    def samples(self, run_id: str, *, n_max: int | None = None, c: int | None = None, kind: str = "real") -> list[Row]:
        """Repetitions of a kind (real | synthetic) in order, cold and failed ones included, with exclusion reason where there is one."""

    @abstractmethod
    def servers(self, run_id: str, *, purpose: str | None = "sweep") -> list[Row]:
        """Engine starts of a run: arm, recipe, argument list, placement as read back. `purpose`: sweep | forced | suite, None for all."""

    @abstractmethod
    def suite_runs(self, run_id: str) -> list[Row]:
        """Runs of tool suites in order, those without a score included."""

    @abstractmethod
    def recipe(self, recipe_id: str) -> dict[str, Any] | None:
        """A recipe's canonical body."""

    @abstractmethod
    def exclude(self, row: Row) -> None:
        """Marks a repetition as excluded, with reason and name; the repetition itself stays."""

    @abstractmethod
    def telemetry(self, run_id: str) -> list[Row]:
        """Readings around the repetitions of a run: {seq, stage, repetition, n_max, c, moment, at_s, gpu, used_mib, sm_mhz, …}."""

    @abstractmethod
    def keep_gates(self, run_id: str, rules: str, body: dict[str, Any], at: datetime) -> None:
        """Keeps what a set of rules made of a run as it stands; a second time changes nothing."""

    @abstractmethod
    def gates(self, rules: str, run_ids: list[str]) -> dict[str, dict[str, Any]]:
        """Run → what those rules made of it, where nothing came or was excluded since."""


class PublishedRows(ABC):
    """Transcribed figures, shipped with the product."""

    @abstractmethod
    def replace(self, source: str, cells: list[Row], remarks: list[Row]) -> None:
        """Makes the table hold exactly these rows for the source (same content: nothing changes)."""

    @abstractmethod
    def cells(self, model: str | None = None) -> list[Row]:
        """Published cells in the source's order."""

    @abstractmethod
    def remarks(self) -> list[Row]:
        """Published remarks: {source, section, body}."""

    @abstractmethod
    def load_results(self, sha256: str, rows: list[Row], at: datetime) -> bool:
        """Makes the table of public results hold exactly these rows; False when this content is loaded already."""

    @abstractmethod
    def has_results(self, sha256: str) -> bool:
        """Whether this very content is loaded."""

    @abstractmethod
    def results(self, *, model: str | None = None) -> list[Row]:
        """Results published elsewhere, one measurement a row, in the file's order."""


class ImportRows(ABC):
    """Files taken in from other tools, known by their content, and what they stand for; readings of kept logs."""

    @abstractmethod
    def insert(self, file: Row, cells: list[Row]) -> bool:
        """Adds a file with its reading and cells in one transaction; False when these bytes are already there, nothing changed then."""

    @abstractmethod
    def get(self, sha256: str) -> Row | None:
        """The file with `reading` and `warnings` decoded."""

    @abstractmethod
    def files(self) -> list[Row]:
        """Files, newest first, with `cells`: how many cells each stands for; without the reading."""

    @abstractmethod
    def cells(self, *, model: str | None = None, sha256: str | None = None) -> list[Row]:
        """Imported cells with file, kind and time of import, newest file first."""

    @abstractmethod
    def keep_reading(self, sha256: str, reader: str, body: dict[str, Any], at: datetime) -> None:
        """Keeps what a reader made of a kept raw file; a second time changes nothing."""

    @abstractmethod
    def reading(self, sha256: str, reader: str) -> dict[str, Any] | None:
        """What that reader made of the content; None when it was not read yet."""


class WorksheetRows(ABC):
    """Worksheets and what was typed into them."""

    @abstractmethod
    def insert(self, row: Row) -> None:
        """Adds a worksheet."""

    @abstractmethod
    def get(self, worksheet_id: str) -> Row | None:
        """The worksheet, `body` as dict."""

    @abstractmethod
    def all(self) -> list[Row]:
        """Worksheets, newest first."""

    @abstractmethod
    def add_entry(self, row: Row, *, over: int | None = None) -> Row:
        """Appends a typed value; the newest of a field and side counts, the older ones stay as history. Returns it as stored.

        `over`: number of the entry its writer saw there (0: none). Where another one stands by now, with another value, the
        new entry is set aside: kept, but it does not count (`is_set_aside`).
        """

    @abstractmethod
    def entries(self, worksheet_id: str) -> list[Row]:
        """Typed values in the order they came, those set aside included (`is_set_aside`)."""

    @abstractmethod
    def add_comment(self, row: Row) -> None:
        """Appends a comment: text, written_by, noted_at."""

    @abstractmethod
    def comments(self, worksheet_id: str) -> list[Row]:
        """Comments in the order they came."""


class DecisionRows(ABC):
    """The ledger of decisions: appended, never edited."""

    @abstractmethod
    def append(self, entry: Row) -> None:
        """Adds the next entry; raises StoreError when its number is taken (somebody decided meanwhile)."""

    @abstractmethod
    def all(self) -> list[Row]:
        """Entries by number, `evidence` and `details` as dicts (`details` None for entries from before there were any), names resolved."""

    @abstractmethod
    def chain(self) -> list[Row]:
        """The same as recorded, with handles: what the hashes were taken over."""


@dataclass(frozen=True)
class Store:
    """The groups of rows over one database."""

    boxes: BoxRows
    runs: RunRows
    cells: CellRows
    published: PublishedRows
    imports: ImportRows
    worksheets: WorksheetRows
    decisions: DecisionRows
    tables: TableRows
    people: PeopleRows
    tokens: TokenRows
    audit: AuditRows
    names: Names
