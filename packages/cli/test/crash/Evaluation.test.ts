/** An evaluation that is killed: the same command goes on, and nothing that has its line is asked again. */
import { assert, describe, it } from "@effect/vitest"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Comparison from "@atropos/core/evaluation/Comparison"
import { Effect, FileSystem, Stream } from "effect"
import * as TestServer from "../../../core/test/inference/TestServer.ts"
import * as Samples from "../../src/evaluate/Samples.ts"
import * as InProcess from "../InProcess.ts"
import * as Atropos from "./Atropos.ts"
import type * as KillMoment from "./KillMoment.ts"

const rows = 40

/** Some lines are in the checkpoint, and one more in the file. The first checkpoint has none. */
const killAt: KillMoment.KillMoment = { of: "renamed", when: "before", what: /\.checkpoint\.json$/, nth: 6 }

describe("atropos evaluate --suite, killed with -9", () => {
  it.live("goes on with what is missing, to the samples of an undisturbed run", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* InProcess.folder
      const lines = Array.from({ length: rows }, (_, n) =>
        JSON.stringify({ question: `${n} and 1?`, answer: `#### ${n + 1}` })
      )
      yield* fs.writeFileString(`${cwd}/rows.jsonl`, `${lines.join("\n")}\n`)
      const file = `${cwd}/data/gsm8k-evaluation/samples.jsonl`
      const questions: Array<string> = []
      const { url } = yield* TestServer.make(({ body, path }) => {
        if (!path.endsWith("/chat/completions")) return { json: { data: [] } }
        const [message] = body["messages"] as ReadonlyArray<{ readonly content: string }>
        const question = /Q: (\d+)/.exec(message?.content ?? "")?.[1] ?? ""
        questions.push(question)
        return TestServer.chatReply([`The answer is ${Number(question) + (Number(question) % 2)}.`])
      })
      const words =
        `evaluate --suite gsm8k --data rows.jsonl --env.max_eval_workers 3 --openai.model_name m --openai.base_url ${url}/v1`.split(
          " "
        )
      const victim = yield* Atropos.start(words, { cwd, killAt })
      yield* victim.killed
      const checkpoint = JSON.parse(yield* fs.readFileString(file.replace(".jsonl", ".checkpoint.json"))) as {
        readonly bytes: number
      }
      const text = yield* fs.readFileString(file)
      assert.isAbove(text.length, checkpoint.bytes)
      const kept = text.slice(0, checkpoint.bytes).trimEnd().split("\n")
      const done = new Set(kept.map((line) => /Q: (\d+)/.exec(line)?.[1]))
      assert.isAbove(done.size, 0)
      assert.isBelow(done.size, rows)
      const before = questions.length
      const { code, stderr } = yield* InProcess.run(words)
      assert.strictEqual(code, 0, stderr)
      // What was under way when it was killed has no answer; all else is asked once.
      for (const question of questions.slice(before)) assert.isFalse(done.has(question), question)
      assert.strictEqual(questions.length - before, rows - done.size)
      const samples = yield* Stream.runCollect(Samples.read(file))
      assert.strictEqual(samples.length, rows)
      assert.strictEqual(new Set(samples.map(Comparison.idOf)).size, rows)
      assert.strictEqual(samples.filter(({ correct }) => correct).length, rows / 2)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
