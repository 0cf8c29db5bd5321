/** `atropos up` with a model, an environment or a recipe that cannot be: said before anything is made. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { fileURLToPath } from "node:url"
import * as Bin from "./Bin.ts"
import * as InProcess from "./InProcess.ts"

const withRecipe = fileURLToPath(new URL("fixtures/with-recipe.ts", import.meta.url))

const up = (...words: ReadonlyArray<string>) => InProcess.run(["up", "--port", "0", "--policy_port", "0", ...words])

describe("atropos up", () => {
  it.live("looks at the folder before there is a service and a run", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* InProcess.folder
      const { code, stderr, stdout } = yield* up("--model", "./nope")
      assert.strictEqual(code, 2)
      assert.match(stderr, /^atropos: --model \.\/nope: folder not found: .*\/nope\n$/)
      assert.strictEqual(stdout, "")
      assert.deepStrictEqual(yield* fs.readDirectory(cwd), [])
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("leaves rules that look at environments to up", () =>
    Effect.gen(function* () {
      yield* InProcess.folder
      const { code, stderr } = yield* InProcess.run(["train", "--model", "bundled", "--stop_on", "collapse,stuck"])
      assert.strictEqual(code, 2)
      assert.include(stderr, "stop_on stuck needs metrics of environments")
      const misspelt = yield* up("--stop_on", "collaps")
      assert.strictEqual(misspelt.code, 2)
      assert.include(misspelt.stderr, "collaps is not a health rule that can end a run: grader, expected")
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("says what on_stale wait needs, and what contradicts it", () =>
    Effect.gen(function* () {
      yield* InProcess.folder
      const without = yield* up("--on_stale", "wait")
      assert.strictEqual(without.code, 2)
      assert.include(without.stderr, "on_stale wait needs a bound: also set max_staleness")
      const both = yield* up("--on_stale", "wait", "--max_staleness", "1", "--steps_ahead", "0")
      assert.strictEqual(both.code, 2)
      assert.include(both.stderr, "--on_stale wait --max_staleness 1 contradicts --steps_ahead 0")
      const { code, stderr } = yield* InProcess.run(["train", "--model", "bundled", "--on_stale", "wait"])
      assert.strictEqual(code, 2)
      assert.include(stderr, "also set max_staleness")
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("says where answers that go on under new weights, or guessed tokens, would have no effect", () =>
    Effect.gen(function* () {
      yield* InProcess.folder
      const told = (...words: ReadonlyArray<string>) =>
        Effect.map(up(...words), ({ code, stderr }) => {
          assert.strictEqual(code, 2, stderr)
          return stderr
        })
      for (const flag of ["--weight_updates", "--weight-updates"]) {
        const onPolicy = yield* told(flag, "in-flight")
        assert.include(onPolicy, "--weight_updates in-flight has no effect with --steps_ahead 0")
        assert.include(onPolicy, "(--steps_ahead 1)")
      }
      const remote = ["--engine", "tinker+http://127.0.0.1:9", "--model", "owner/name"]
      const both = yield* told(
        ...remote,
        "--steps_ahead",
        "1",
        "--weight_updates",
        "in-flight",
        "--speculative_tokens",
        "2"
      )
      assert.include(both, "remove --weight_updates in-flight and --speculative_tokens 2")
      assert.include(yield* told("--speculative-tokens", "33"), "a whole number from 0 to 32")
      assert.include(yield* told("--weight_updates", "sometimes"), "in-flight")
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("says which model it takes where none was named, and how to have one made", () =>
    Effect.gen(function* () {
      const cwd = yield* InProcess.folder
      // An environment of the test's own, without a recipe; its model is asked of a hub that is not there.
      const env = { HF_ENDPOINT: "http://127.0.0.1:9", HF_HOME: cwd }
      const words = ["up", "--port", "0", "--policy_port", "0", "--env", Bin.myEnvironment]
      const { code, stdout } = yield* InProcess.run(words, env)
      assert.strictEqual(code, 1)
      assert.match(
        stdout,
        /^no --model given: using \S+ from the hub; --model scratch trains a small model from scratch instead\n/
      )
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("says what is wrong with a weight, an environment that is there twice, and a recipe", () =>
    Effect.gen(function* () {
      yield* InProcess.folder
      const fs = yield* FileSystem.FileSystem
      const told = (...words: ReadonlyArray<string>) =>
        Effect.map(up(...words), ({ code, stderr }) => {
          assert.strictEqual(code, 2, stderr)
          return stderr
        })
      for (const weight of ["0", "-1", "two", ""]) {
        assert.include(
          yield* told("--env", `addition:${weight}`),
          "must be followed by a weight, a number above 0, as in addition:2"
        )
      }
      assert.include(yield* told("--env", "addition", "--env", "addition:3"), "addition is given twice")
      const text = yield* fs.readFileString(withRecipe)
      const broken = (from: string, to: string) =>
        Effect.gen(function* () {
          // Beside the other fixtures, where packages are found.
          const file = yield* fs.makeTempFileScoped({
            directory: fileURLToPath(new URL("fixtures", import.meta.url)),
            suffix: ".ts"
          })
          yield* fs.writeFileString(file, text.replace(from, to))
          return yield* told("--env", file)
        })
      assert.match(
        yield* broken("`${alphabet}>`", "alphabet"),
        /invalid recipe: demonstration 0 has ">", which is not one of its characters/
      )
      assert.match(yield* broken("warmStart:", "warmstart:"), /invalid recipe: warmstart: .*/)
      assert.match(yield* broken("{ steps: 100 }", "{ steps: -1 }"), /invalid recipe: warmStart\.steps: /)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
