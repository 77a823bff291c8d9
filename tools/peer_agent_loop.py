# SPDX-License-Identifier: Apache-2.0
"""The peer of ww_agent_perf: what mini-swe-agent's loop takes a turn beyond model and tools, over as many turns with texts
of the same size, its trajectory saved every turn. Wants mini-swe-agent (without its other requirements: pip install
--no-deps), pydantic, jinja2, python-dotenv, platformdirs and rich on the path."""

import os
import pathlib
import tempfile
import time

os.environ["MSWEA_SILENT_STARTUP"] = "1"
os.environ.setdefault("MSWEA_GLOBAL_CONFIG_DIR", tempfile.mkdtemp())

from minisweagent.agents.default import DefaultAgent  # noqa: E402
from minisweagent.exceptions import Submitted  # noqa: E402

TURNS = 200
TEXT = "x" * 2050


class Model:
    config = None

    def __init__(self):
        self.spent, self.turn = 0.0, 0

    def query(self, messages, **_):
        begin = time.perf_counter()
        self.turn += 1
        message = {"role": "assistant", "content": f"turn {self.turn}", "extra": {"cost": 0.0, "actions": [{"command": TEXT}]}}
        self.spent += time.perf_counter() - begin
        return message

    def format_message(self, **kwargs):
        return kwargs

    def format_observation_messages(self, message, outputs, template_vars=None):
        return [{"role": "user", "content": output["output"]} for output in outputs]

    def get_template_vars(self, **_):
        return {}

    def serialize(self):
        return {}


class Environment:
    config = None

    def __init__(self, model, target):
        self.spent, self.model, self.target = 0.0, model, target

    def execute(self, action, **_):
        begin = time.perf_counter()
        self.target.write_text(action["command"])  # what our write does
        self.spent += time.perf_counter() - begin
        if self.model.turn == TURNS:
            raise Submitted({"role": "exit", "content": "", "extra": {"exit_status": "Submitted", "submission": ""}})
        return {"output": "wrote it", "returncode": 0, "exception_info": ""}

    def get_template_vars(self, **_):
        return {}

    def serialize(self):
        return {}


def main():
    with tempfile.TemporaryDirectory() as folder:
        model = Model()
        environment = Environment(model, pathlib.Path(folder) / "solution.cpp")
        agent = DefaultAgent(model, environment, system_template="make it fast", instance_template="{{task}}",
                             output_path=pathlib.Path(folder) / "trajectory.json")
        begin = time.perf_counter()
        agent.run("t")
        spent = time.perf_counter() - begin - model.spent - environment.spent
        print(f"mini-swe-agent      {model.turn} turns, overhead a turn {1e3 * spent / model.turn:.3f} ms")


main()
