/**
 * Compares models of random configurations with results of transformers and PEFT:
 *
 *     python scripts/make-architecture-fixtures.py --random 100 --to FOLDER
 *     node --conditions=atropos-src scripts/compare-architectures.ts FOLDER
 *
 * For each: the greatest difference of logits and log-probabilities, of gradients relative to the greatest of the
 * parameter (of all, if that is 0), with attention over rows and in blocks, and whether greedy tokens are equal if they
 * are unambiguous.
 */
import { readdirSync } from "node:fs"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Layer } from "effect"
import * as DecodeGraph from "../packages/trainer/src/engine/DecodeGraph.ts"
import * as Engine from "../packages/trainer/src/engine/Engine.ts"
import * as Ort from "../packages/trainer/src/exec/Ort.ts"
import * as Model from "../packages/trainer/src/model/Model.ts"
import * as Architectures from "../packages/trainer/test/model/Architectures.ts"
import * as Fixtures from "../packages/trainer/test/model/Fixtures.ts"

type Loaded = Effect.Success<ReturnType<typeof Architectures.load>>

const forward = Effect.fnUntraced(function* (loaded: Loaded) {
  const { expected } = loaded
  let [logits, logprobs, gradients] = [0, 0, 0]
  for (const way of [
    { attention: "rows", remat: "elements" },
    { attention: "blocks", remat: "parts" }
  ] as const) {
    const found = yield* Architectures.forwardAndBackward(loaded, way)
    expected.inputIds.forEach((row, i) => {
      const own = found.logits[i]!
      logits = Math.max(logits, Fixtures.maxDifference(own, Fixtures.floats(expected.logits[i]!)))
      const ours = Architectures.logprobs(own, row, expected.vocabSize)
      logprobs = Math.max(logprobs, Fixtures.maxDifference(ours, Fixtures.floats(expected.logprobs[i]!)))
    })
    const all = Object.entries(found.gradient).map(
      ([name, gradient]) => [gradient, Fixtures.floats(expected.gradient[name]!)] as const
    )
    const greatest = Math.max(...all.map(([, theirs]) => Math.max(...theirs.map(Math.abs))))
    for (const [gradient, theirs] of all) {
      // With a window of one token, queries and keys have no gradient.
      const size = Math.max(...theirs.map(Math.abs)) || greatest
      const difference = Fixtures.maxDifference(gradient, theirs)
      gradients = Math.max(gradients, difference === 0 ? 0 : difference / size)
    }
  }
  return { logits, logprobs, gradients }
})

const greedy = Effect.fnUntraced(function* ({ expected, model, parameters }: Loaded) {
  if (expected.greedy === null) return "not clear"
  const engine = yield* Engine.make({
    model: DecodeGraph.make(Model.decodable(model)),
    initial: { policy: "adapter", policyVersion: 0, parameters },
    device: "cpu"
  })
  const asked = { n: 1, maxTokens: expected.greedy.tokens[0]!.length, temperature: 0, topP: 1, topK: 0 }
  const answers = yield* Effect.forEach(
    expected.prompts,
    (promptTokens) => engine.generate({ ...asked, stopTokenIds: [], promptTokens }),
    { concurrency: "unbounded" }
  )
  return answers.every(([choice], i) => choice!.tokens.join() === expected.greedy!.tokens[i]!.join())
    ? "equal"
    : "DIFFERENT"
})

const compare = Effect.fnUntraced(function* (folder: string) {
  const worst = { logits: 0, logprobs: 0, gradients: 0 }
  const tokens: Record<string, number> = {}
  for (const name of readdirSync(folder).toSorted()) {
    const [found, same] = yield* Effect.gen(function* () {
      const loaded = yield* Architectures.load(`${folder}/${name}`)
      return [yield* forward(loaded), yield* greedy(loaded)] as const
    }).pipe(Effect.scoped)
    yield* Console.log(
      `${name.padEnd(20)} logits ${found.logits.toExponential(1)} logprobs ${found.logprobs.toExponential(1)} ` +
        `gradients ${found.gradients.toExponential(1)} tokens ${same}`
    )
    for (const key of ["logits", "logprobs", "gradients"] as const) worst[key] = Math.max(worst[key], found[key])
    tokens[same] = (tokens[same] ?? 0) + 1
  }
  yield* Console.log("worst", worst, "tokens", tokens)
})

await compare(process.argv[2]!).pipe(
  Effect.provide(Layer.mergeAll(Ort.layer({ threads: 1 }), NodeServices.layer)),
  Effect.runPromise
)
