/** Two published models, as `--model` loads them: they learn, on rounded weights too, and are served in good health. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Option, Schema, Stream } from "effect"
import { fileURLToPath } from "node:url"
import * as Bin from "../Bin.ts"
import * as RealModels from "./RealModels.ts"

const capitals = fileURLToPath(new URL("../../../../examples/models/capitals.ts", import.meta.url))
const decodeLine = Schema.decodeUnknownEffect(
  Schema.fromJsonString(
    Schema.Struct({
      "reward/mean": Schema.Finite,
      // Of steps that train: not if all scores of a batch are equal.
      "alignment/on_policy_diff": Schema.optionalKey(Schema.Finite),
      "alignment/max_mismatch": Schema.optionalKey(Schema.Finite)
    })
  )
)

/** A short run: its steps' figures, and what it said. */
const trained = Effect.fnUntraced(function* (model: string, steps: number, ...words: ReadonlyArray<string>) {
  const cwd = yield* Bin.folder
  const fs = yield* FileSystem.FileSystem
  const sizes = ["--batch_size", "32", "--seq_len", "80", "--env.max_token_length", "16", "--warmup_steps", "0"]
  const always = ["--seed", "1", "--port", "0", "--policy_port", "0", "--exit", "--steps", String(steps)]
  const all = ["up", "--env", capitals, "--model", model, ...sizes, ...always, ...words]
  const { code, stderr, stdout } = yield* Bin.run(all, { cwd })
  assert.strictEqual(code, 0, stdout + stderr)
  const text = yield* fs.readFileString(`${cwd}/.atropos/up/capitals-1/metrics.jsonl`)
  return { lines: yield* Effect.forEach(text.trim().split("\n"), (line) => decodeLine(line)), said: stdout + stderr }
})

const mean = (values: ReadonlyArray<number>): number => values.reduce((sum, value) => sum + value, 0) / values.length

const styles = { "smollm2-135m": "chat", "gemma3-270m": "text" } as const

for (const [name, style] of Object.entries(styles)) {
  const model = RealModels.folder(name)
  describe.skipIf(model === undefined)(`${name}${RealModels.absence(name)}`, () => {
    it.live("learns to answer with one word, at the rate that was chosen for it", () =>
      Effect.gen(function* () {
        const { lines, said } = yield* trained(model!, 8, "--env.style", style)
        assert.match(said, /learning rate 0\.0005 \(for a hidden size of (576|640); --lr\)/)
        const rewards = lines.map((line) => line["reward/mean"])
        assert.isAbove(mean(rewards.slice(-3)), mean(rewards.slice(0, 3)), rewards.join(" "))
        const differences = lines.flatMap((line) => line["alignment/on_policy_diff"] ?? [])
        assert.isAbove(differences.length, 4)
        for (const difference of differences) assert.isBelow(difference, 1e-3)
      }).pipe(Effect.provide(NodeServices.layer))
    )

    it.live("trains on weights of 8 bits, within twice what the first step measures", () =>
      Effect.gen(function* () {
        const { lines, said } = yield* trained(model!, 3, "--env.style", style, "--quantize", "int8")
        const measured = lines.filter((line) => line["alignment/on_policy_diff"] !== undefined)
        const [first] = measured.map((line) => line["alignment/on_policy_diff"]!)
        // What rounding of activations costs: far more than without, less than another model would.
        assert.isAbove(first!, 0.005)
        const bound = Math.max(0.02, 2 * first!)
        for (const line of measured) assert.approximately(line["alignment/max_mismatch"]!, bound, 1e-6)
        // All steps together: one alone may have few tokens.
        assert.isBelow(mean(measured.map((line) => line["alignment/on_policy_diff"]!)), bound)
        assert.match(said, /policy --model .* --adapter .* --quantize int8/)
      }).pipe(Effect.provide(NodeServices.layer))
    )

    it.live("answers at /health while a prompt of 3,000 tokens is scored", () =>
      Effect.gen(function* () {
        const cwd = yield* Bin.folder
        const policy = yield* Bin.start(["policy", "--model", model!, "--port", "0"], { cwd })
        const said = yield* policy.stdout.pipe(
          Stream.decodeText,
          Stream.splitLines,
          Stream.filter((line) => line.startsWith("policy ")),
          Stream.runHead,
          Effect.map(Option.getOrElse(() => "it said nothing"))
        )
        const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? assert.fail(said)
        const prompt = Array.from({ length: 3000 }, (_, at) => 100 + ((at * 7919) % 20_000))
        const state = { isScored: false }
        const scoring = fetch(`${url}/v1/completions`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ prompt, max_tokens: 1 })
        }).then((answer) => {
          state.isScored = true
          return answer.status
        })
        let asked = 0
        while (!state.isScored) {
          // Answered before the prompt is through: by the next turn of this process at the latest.
          assert.strictEqual((yield* Effect.promise(() => fetch(`${url}/health`))).status, 200)
          asked++
        }
        assert.strictEqual(yield* Effect.promise(() => scoring), 200)
        assert.isAbove(asked, 3)
      }).pipe(Effect.provide(NodeServices.layer))
    )
  })
}
