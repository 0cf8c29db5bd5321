/** `evaluate --service`: what was evaluated is recorded by a service, and listed there with its samples. */
import { assert, describe, it } from "@effect/vitest"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, FileSystem } from "effect"
import * as TestServer from "../../../core/test/inference/TestServer.ts"
import * as InProcess from "../InProcess.ts"

const questions = [
  { question: "Two and two?", choices: ["3", "4", "5", "6"], answer: 1, subject: "sums" },
  { question: "Three and three?", choices: ["3", "4", "5", "6"], answer: 3, subject: "sums" }
]

const model = TestServer.make(({ body, path }) =>
  path.endsWith("/chat/completions")
    ? TestServer.chatReply(Array.from({ length: Number(body["n"] ?? 1) }, () => "ANSWER: B"))
    : { json: { data: [] } }
)

const read = <A>(url: string) => Effect.promise(async () => (await (await fetch(url)).json()) as A)

interface Listed {
  readonly evaluations: ReadonlyArray<{ readonly [name: string]: unknown }>
}
interface Samples {
  readonly samples: ReadonlyArray<{ readonly [name: string]: unknown }>
}

describe("atropos evaluate --service", () => {
  it.live("records the evaluation in a service, of whose run and step it is, with its samples", () =>
    Effect.gen(function* () {
      yield* InProcess.folder
      const fs = yield* FileSystem.FileSystem
      yield* fs.writeFileString("rows.jsonl", questions.map((row) => `${JSON.stringify(row)}\n`).join(""))
      const { url } = yield* model
      const service = yield* InProcess.start(["api", "--port", "0"])
      const [, at = ""] = yield* service.says(/trajectory service at (http:\S+)/)
      const fixed = ["--openai.base_url", `${url}/v1`, "--openai.model_name", "m", "--openai.health_check", "false"]
      const evaluate = (...words: ReadonlyArray<string>) =>
        InProcess.run(["evaluate", "--suite", "mmlu", "--data", "rows.jsonl", ...fixed, ...words])
      const { code, stderr, stdout } = yield* evaluate("--service", at, "--run", "r", "--step", "7")
      assert.strictEqual(code, 0, stderr)
      const { evaluations } = yield* read<Listed>(`${at}/v1/evaluations?run=r`)
      assert.lengthOf(evaluations, 1)
      const [one] = evaluations
      assert.deepInclude(one, { run: "r", step: 7, name: "mmlu", model: "m", samples: 2, stored: 2 })
      assert.include(stdout, `${at}/ui#/evaluations/${String(one!["id"])}`)
      const { samples } = yield* read<Samples>(`${at}/v1/evaluations/${String(one!["id"])}/samples`)
      assert.sameMembers(
        samples.map(({ correct, parsed }) => `${String(parsed)} ${String(correct)}`),
        ["B true", "B false"]
      )
      // Nobody is there: what was evaluated is not lost.
      const nowhere = yield* evaluate("--service", "http://127.0.0.1:9", "--env.data_dir_to_save_evals", "other")
      assert.strictEqual(nowhere.code, 1)
      assert.match(nowhere.stderr, /the results are in other\/samples\.jsonl, but could not be sent: .*127\.0\.0\.1:9/)
      assert.isTrue(yield* fs.exists("other/samples.jsonl"))
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
