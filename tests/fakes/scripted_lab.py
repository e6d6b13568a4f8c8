"""A local box whose engine is the scripted one, registered beside this machine; a test rewrites what the engine does between two runs."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import gguf

from core.domain.box import Box, Engine, ModelFile
from core.store.open import open_store

ENGINE = Path(__file__).with_name("scripted_engine.py")
HOST_ONLY = ["load_tensors: offloaded 0/3 layers to GPU", "load_tensors:   CPU_Mapped model buffer size =   268.00 MiB"]
_LAUNCHER = """import os, runpy
with open({script!r}, encoding="utf-8") as stream:
    os.environ["SCRIPTED_ENGINE"] = stream.read()
runpy.run_path({engine!r}, run_name="__main__")
"""


class ScriptedLab:
    """Box “bench lab” with the model `lab-dense`: a real header without weights. Everything it needs lies under `folder`."""

    BOX_ID, BOX_NAME, MODEL = "bench-lab", "bench lab", "lab-dense"

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._script, self._launcher, self._model = folder / "script.json", folder / "launcher.py", folder / "lab-dense.gguf"
        self._facts = folder / "facts.jsonl"
        self._launcher.write_text(_LAUNCHER.format(script=str(self._script), engine=str(ENGINE)))
        _write_header(self._model)

    def script(self, **behaviour: Any) -> None:
        """What the engine does from its next start on; starts are counted from here."""
        self._facts.unlink(missing_ok=True)
        told = {"waits": True, "load_log": HOST_ONLY, "facts": str(self._facts), **behaviour}
        self._script.write_text(json.dumps(told))

    def register(self, database: Path) -> None:
        """Puts the box into a database that nobody holds."""
        engine = Engine(id="scripted", argv=[sys.executable, "-I", "-S", str(self._launcher)])
        box = Box(
            box_id=self.BOX_ID, name=self.BOX_NAME, kind="local", python=[sys.executable], engines=[engine],
            models=[ModelFile(name=self.MODEL, path=str(self._model))],
        )  # fmt: skip
        opened, store = open_store(database)
        store.boxes.put(box, who="the test", at=datetime.now(UTC))
        opened.close()


def _write_header(path: Path) -> None:
    """A dense trunk of two layers with its MTP block, as the header of a model file tells it."""
    writer = gguf.GGUFWriter(path, "glm4moe")
    writer.add_name("lab-dense")
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_block_count(3)
    writer.add_nextn_predict_layers(1)
    writer.add_leading_dense_block_count(2)
    writer.add_expert_count(2)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
