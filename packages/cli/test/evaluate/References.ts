/**
 * Answers with the values that a reference implementation gave them, and where a suite gives them others:
 * `scripts/make-evaluation-fixtures.py` made the files.
 */
import { Dataset, Environment, Message, ServerManager, Tokenizer } from "@atropos/core"
import { Judge, MathVerifier, Sandbox, Suite } from "@atropos/envs"
import { assert } from "@effect/vitest"
import { Effect, Layer, Option, Schema, Stream } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import * as Suites from "../../src/config/Suites.ts"

const Fixture = Schema.fromJsonString(
  Schema.Struct({
    suite: Schema.String,
    reference: Schema.String,
    cases: Schema.Array(
      Schema.Struct({
        row: Schema.Record(Schema.String, Schema.Unknown),
        answers: Schema.Array(
          Schema.Struct({
            text: Schema.String,
            /** What was said in earlier turns. */
            before: Schema.optionalKey(Schema.Array(Schema.String)),
            /** Nothing: the reference leaves it out. */
            values: Schema.Record(Schema.String, Schema.Finite)
          })
        )
      })
    )
  })
)
type Fixture = typeof Fixture.Type
const decode = Schema.decodeUnknownSync(Fixture)

export const inFolder = (folder: URL): ReadonlyArray<Fixture> =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .map((name) => decode(readFileSync(new URL(name, folder), "utf8")))

/** Says what the answer that it is to judge wants it to say; where that comes second, the second of two verdicts. */
const judge = (request: ServerManager.ScriptedRequest): string => {
  const asked = "prompt" in request ? request.prompt : Message.text(request.messages.at(-1)!)
  const last = Array.from(asked.matchAll(/JUDGE\(([\w+/=]+)\)/g)).at(-1)
  const verdicts = JSON.parse(Buffer.from(last?.[1] ?? "", "base64").toString()) as ReadonlyArray<string>
  const isSecond = asked.includes("baseline") && asked.indexOf("baseline") < (last?.index ?? 0)
  return verdicts[isSecond ? 1 : 0] ?? ""
}

/** What a suite gives each answer, in order; nothing where it cannot be scored. */
const scoresOf = Effect.fnUntraced(function* ({ cases, suite: name }: Fixture, sandbox: Layer.Layer<Sandbox.Sandbox>) {
  const { suite } = yield* Suites.choose(name)
  const all = cases.flatMap(({ answers, row }) => answers.map((answer) => ({ ...answer, row })))
  const said = all.flatMap(({ before = [], text }) => [...before, text])
  const layer = Suite.environment(suite)
    .fromEncoded({ data: "rows", shots: 0, max_token_length: 100_000 })
    .pipe(
      Layer.provide(ServerManager.layerScripted(said)),
      Layer.provide([
        Tokenizer.layerBytes,
        Dataset.layerMemory({ rows: all.map(({ row }) => row) }),
        MathVerifier.layer(),
        Judge.layerScripted(judge),
        sandbox
      ])
    )
  return yield* Effect.gen(function* () {
    const { evaluation } = yield* Environment.Environment
    const items = yield* Stream.runCollect(Option.getOrThrow(evaluation))
    const results = yield* Effect.forEach(items, ({ evaluate }) =>
      Effect.catchTag(evaluate, "Unscorable", () => Effect.succeed([]))
    )
    return all.map((answer, at) => ({ ...answer, ours: results[at]?.[0] }))
  }).pipe(Effect.provide(layer))
})

/** A value of the reference and ours; "none" where the reference leaves the answer out. */
interface Value {
  readonly isSame: boolean
  readonly name: string
  readonly reference?: number
  readonly ours: number | undefined
  readonly text: string
  readonly parsed?: unknown
  readonly row: Fixture["cases"][number]["row"]
}

/** How many values there are, and which of them differ. */
export const compared = Effect.fnUntraced(function* (
  fixture: Fixture,
  sandbox: Layer.Layer<Sandbox.Sandbox> = Sandbox.layerWasi()
) {
  const all = (yield* scoresOf(fixture, sandbox)).flatMap(({ ours, row, text, values }): ReadonlyArray<Value> => {
    if (ours !== undefined) assert.strictEqual(ours.trajectory.completion, text)
    const names = Object.keys(values)
    if (names.length === 0) return [{ isSame: ours === undefined, name: "none", ours: ours?.score, text, row }]
    return names.map((name) => {
      const reference = values[name] ?? Number.NaN
      const value = ours?.rewards?.[name]
      const isSame = Math.abs((value ?? Number.NaN) - reference) < 1e-4
      return { isSame, name, reference, ours: value, text, parsed: ours?.sample?.["parsed"], row }
    })
  })
  return { values: all.length, differences: all.filter(({ isSame }) => !isSame) }
})
