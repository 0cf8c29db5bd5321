/** The log of a suite, read by inspect_ai itself. */
import { assert, describe, it } from "@effect/vitest"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, FileSystem } from "effect"
import { execFileSync } from "node:child_process"
import { having, interpreter } from "../../../../core/test/Python.ts"
import * as TestServer from "../../../../core/test/inference/TestServer.ts"
import * as InProcess from "../../InProcess.ts"

const { absence, isPresent } = having("inspect_ai")

const reader = `
import json, sys
from inspect_ai.log import list_eval_logs, read_eval_log
[info] = list_eval_logs(sys.argv[1])
log, header = read_eval_log(info), read_eval_log(info, header_only=True)
print(json.dumps({
  "status": log.status, "task": log.eval.task, "model": log.eval.model, "header": header.samples is None,
  "metrics": {score.name: score.metrics["mean"].value for score in log.results.scores},
  "samples": [[s.id != "", s.epoch, s.target, s.scores["accuracy"].value, s.scores["accuracy"].answer, s.output.completion, s.input[0].text] for s in log.samples],
}))
`

describe.runIf(isPresent)(`inspect_ai${absence}`, () => {
  it.live("lists the log of a suite and reads its samples, epochs, targets and scores", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* InProcess.folder
      yield* fs.writeFileString(
        "rows.jsonl",
        `${JSON.stringify({ question: "Two and two?", choices: ["3", "4", "5", "6"], answer: 1, subject: "sums" })}\n`
      )
      const { url } = yield* TestServer.make(({ path }) =>
        path.endsWith("/chat/completions") ? TestServer.chatReply(["ANSWER: B", "No idea."]) : { json: { data: [] } }
      )
      const words = `evaluate --suite mmlu --data rows.jsonl --samples 2 --openai.model_name m --openai.base_url ${url}/v1`
      const { code, stderr } = yield* InProcess.run(words.split(" "))
      assert.strictEqual(code, 0, stderr)
      const said = execFileSync(interpreter, ["-c", reader, `${folder}/data/mmlu-evaluation`], { encoding: "utf8" })
      const log = JSON.parse(said.trim().split("\n").at(-1) ?? "") as {
        readonly samples: ReadonlyArray<ReadonlyArray<unknown>>
      } & Record<string, unknown>
      const { samples, ...head } = log
      assert.deepEqual(head, { status: "success", task: "mmlu", model: "m", header: true, metrics: { accuracy: 0.5 } })
      assert.deepStrictEqual(
        samples.map((sample) => sample.slice(0, 6)),
        [
          [true, 1, ["B"], 1, "B", "ANSWER: B"],
          [true, 2, ["B"], 0, null, "No idea."]
        ]
      )
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
