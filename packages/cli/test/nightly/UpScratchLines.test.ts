/** `atropos up` from scratch on one's own environments, and the lines it prints for what it trained. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Option, Stream } from "effect"
import { fileURLToPath } from "node:url"
import * as Bin from "../Bin.ts"
import { solvedIn, up } from "../UpRun.ts"

const larger = fileURLToPath(new URL("../fixtures/larger.ts", import.meta.url))
const neverRight = fileURLToPath(new URL("../fixtures/never-right.ts", import.meta.url))
const withRecipe = fileURLToPath(new URL("../fixtures/with-recipe.ts", import.meta.url))

/** The words of a line to be typed, from the verb on. */
const wordsOf = (stdout: string, verb: string): ReadonlyArray<string> => {
  const line = new RegExp(`^  \\S.*? (${verb} --.*?)  +\\S`, "m").exec(stdout)
  return (line?.[1] ?? "").split(" ")
}

const firstLine = (output: Stream.Stream<Uint8Array, unknown>, word: string) =>
  output.pipe(
    Stream.decodeText,
    Stream.splitLines,
    Stream.filter((line) => line.includes(word)),
    Stream.runHead,
    Effect.map(Option.getOrThrow)
  )

describe("atropos up, from scratch", () => {
  it.live(
    "trains an environment of one's own by --model scratch, and what it trained is used by the lines it prints",
    () =>
      Effect.gen(function* () {
        const cwd = yield* Bin.folder
        const small = ["--steps", "2", "--batch_size", "64", "--lr", "2e-3", "--seed", "1"]
        const { code, stderr, stdout } = yield* up(cwd, "--env", larger, "--model", "scratch", ...small)
        assert.strictEqual(code, 0, stderr)
        const [, after] = solvedIn(stdout)

        const policy = yield* Bin.start([...wordsOf(stdout, "policy"), "--port", "0"], { cwd })
        const url = (yield* firstLine(policy.stdout, "policy ")).replace(/.*(http:\S+).*/, "$1")
        const words = [...wordsOf(stdout, "evaluate"), "--openai.base_url", `${url}/v1`]
        const evaluated = yield* Bin.run(words, { cwd })
        assert.strictEqual(evaluated.code, 0, evaluated.stderr)
        assert.include(evaluated.stdout, (after / 100).toFixed(4))
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.live("trains by the recipe that a file exports", () =>
    Effect.gen(function* () {
      const cwd = yield* Bin.folder
      const { code, stderr, stdout } = yield* up(cwd, "--env", withRecipe)
      assert.strictEqual(code, 0, stderr)
      assert.include(stdout, "4 steps")
      // It has no evaluation: no line asks for one.
      assert.include(stdout, "policy --model")
      assert.notInclude(stdout, "evaluate --env")
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("trains several environments in one run, by weights", () =>
    Effect.gen(function* () {
      const cwd = yield* Bin.folder
      const env = ["--env", "sort-letters", "--env", `${larger}:2`]
      const small = ["--steps", "2", "--batch_size", "96", "--env.letters", "3", "--env.evaluation_items", "8"]
      const words = [...env, "--model", "scratch", "--seed", "2", ...small]
      const { code, stderr, stdout } = yield* up(cwd, ...words)
      assert.strictEqual(code, 0, stderr)
      // That all of several are learned, examples/test/nightly/Trained.test.ts shows.
      for (const name of ["sort-letters", "larger"])
        assert.isTrue(solvedIn(stdout, `${name}: `).every(Number.isFinite), stdout)
      const fs = yield* FileSystem.FileSystem
      const run = JSON.parse(yield* fs.readFileString(`${cwd}/.atropos/up/sort-letters-larger-1/run.json`))
      // A setting goes to those that have it.
      assert.deepInclude(run.env[0], { letters: 3 })
      assert.isUndefined(run.env[0].inference_weight)
      assert.deepInclude(run.env[1], { inference_weight: 2 })
      assert.isUndefined(run.env[1].letters)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("ends by a rule of its health that looks at the environment, if it was told to", () =>
    Effect.gen(function* () {
      const words = ["--env", neverRight, "--stop_on", "collapse,stuck"]
      const { code, stderr, stdout } = yield* up(yield* Bin.folder, ...words)
      assert.strictEqual(code, 3, stdout)
      assert.match(
        stderr,
        /^atropos: stopped by stop_on\. Environment stuck \(stuck\): 100% of .* Their mean score is 0\.$/m
      )
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
