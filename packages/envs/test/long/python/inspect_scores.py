"""inspect_ai's own scores of tasks: `ANSWERS FILE@TASK …`, the answers a JSON object by what a prompt ends in."""

import json
import os
import sys
import tempfile

os.environ["INSPECT_DISPLAY"] = "none"

from inspect_ai import eval as evaluate  # noqa: E402
from inspect_ai.model import ModelAPI, ModelOutput, ModelUsage, get_model, modelapi  # noqa: E402
from inspect_ai.scorer import value_to_float  # noqa: E402

answers, tasks = json.loads(sys.argv[1]), sys.argv[2:]


@modelapi(name="told")
class Told(ModelAPI):
    def __init__(self, model_name, base_url=None, api_key=None, **others):
        super().__init__(model_name, base_url, api_key, [], others["config"])

    async def generate(self, input, tools, tool_choice, config):
        asked = input[-1].text
        answer = next((answer for end, answer in answers.items() if asked.endswith(end)), "I do not know.")
        output = ModelOutput.from_content("told", answer)
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output


def scores_of(task, folder):
    (log,) = evaluate(task, model=get_model("told/model"), log_dir=folder, display="none")
    to_float = value_to_float()
    return [
        {name: to_float(score.value) for name, score in sample.scores.items()}
        for sample in sorted(log.samples, key=lambda one: one.id)
    ]


with tempfile.TemporaryDirectory() as logs:
    print(json.dumps([scores_of(task, logs) for task in tasks]))
