/** What somebody is told who made a mistake in an environment of their own. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, type Scope } from "effect"
import { fileURLToPath } from "node:url"
import * as Bin from "./Bin.ts"
import * as InProcess from "./InProcess.ts"

const faulty = fileURLToPath(new URL("fixtures/faulty-env.ts", import.meta.url))

/**
 * Runs a verb on the environment with a mistake in it, in an empty folder. One mistake is made as a user makes it, as a
 * process.
 */
const atropos = Effect.fnUntraced(function* (verb: string, mistake: string, ...words: ReadonlyArray<string>) {
  const fs = yield* FileSystem.FileSystem
  const cwd = yield* InProcess.folder
  const testing = verb === "validate" ? [] : ["--testing"]
  const all = [verb, "--env", faulty, "--env.mistake", mistake, ...testing, ...words]
  const ended = mistake === "throws in score" ? yield* Bin.run(all, { cwd }) : yield* InProcess.run(all)
  return { ...ended, files: yield* fs.readDirectory(cwd, { recursive: true }) }
})

const steps = ["--env.total_steps", "20"]

const count = (text: string, part: string): number => text.split(part).length - 1

const test = (name: string, effect: Effect.Effect<void, unknown, NodeServices.NodeServices | Scope.Scope>) =>
  it.live(name, () => effect.pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

describe("a mistake in an environment", () => {
  for (const [mistake, part, says] of [
    ["throws in score", "score", "TypeError: the scorer broke"],
    ["throws in an Effect", "score", "TypeError: the scorer broke"],
    ["throws in collectTrajectories", "collectTrajectories", "RangeError: the rollout broke"]
  ] as const) {
    test(
      `${mistake}: is shown with file, line and stack, once`,
      Effect.gen(function* () {
        const { code, files, stderr } = yield* atropos("process", mistake, ...steps)
        assert.strictEqual(code, 1)
        assert.match(stderr, new RegExp(`${part} threw ${says} \\(.*faulty-env\\.ts:\\d+:\\d+\\)`))
        assert.match(stderr, /\n +at .*faulty-env\.ts:\d+:\d+/)
        assert.strictEqual(count(stderr, "its stack is logged once"), 1)
        assert.notInclude(stderr, "node_modules")
        // An empty file would send the next run, of the mended environment, to another name.
        assert.notInclude(files.join(), ".jsonl")
      })
    )
  }

  for (const [mistake, says] of [
    ["async score", "score returned a Promise; return an Effect, e.g. Effect.promise(() => …)"],
    ["async score that throws", "score returned a Promise; return an Effect, e.g. Effect.promise(() => …)"],
    ["plain scores", "score returned an array; return an Effect, e.g. Effect.succeed(scores)"],
    ["one score", "score returned 1 score for 4 trajectories"],
    ["no scores", "score returned nothing (undefined) as scores"],
    ["undefined scores", "score returned nothing (undefined) as score number 1 of 4"],
    ["texts as trajectories", "collectTrajectories returned a string (an answer) as number 1 of 1 trajectories"],
    ["items that are an array", "items is an array; expected a Stream"],
    ["misspelt key", 'the definition has an unknown key "evalution"; did you mean "evaluation"?'],
    ["half an evaluation", `--env ${faulty}: the environment faulty: evaluation has no collectTrajectories`],
    ["throws while it is made", "Environment.layer's function threw TypeError: the scorer broke ("],
    [
      "NaN scores",
      "The first was item 0: scores, components or advantages contain NaN, Infinity or a number beyond float32 (3.4e38)"
    ],
    ["unscorable", "The first was item 0: the reference is broken"]
  ] as const) {
    test(
      `${mistake}: is named`,
      Effect.gen(function* () {
        const { code, files, stderr } = yield* atropos("process", mistake, ...steps)
        assert.strictEqual(code, 1)
        assert.include(stderr, says)
        assert.notInclude(stderr, "internal error")
        assert.notInclude(files.join(), ".jsonl")
      })
    )
  }

  for (const [verb, mistake, words, says] of [
    ["process", "", ["--env.items", "0"], "the environment has no items"],
    ["evaluate", "", ["--env.items", "0"], "the environment has no items"],
    [
      "evaluate",
      "NaN scores",
      [],
      "The first was item 0: scores, components or advantages contain NaN, Infinity or a number beyond float32 (3.4e38)"
    ],
    ["evaluate", "one score", [], "score returned 1 score for 4 trajectories"],
    [
      "sft-gen",
      "NaN scores",
      ["set.jsonl", "--num-seqs-to-save", "5", "--env.total_steps", "20"],
      "The first was item 0"
    ],
    ["dpo-gen", "", ["set.jsonl", "--env.items", "0"], "the environment has no items"],
    ["validate", "", ["--env.items", "0"], "has no items"],
    ["validate", "unscorable", [], "nothing was checked: none of"],
    ["validate", "some unscorable", ["--items", "8", "--texts", "16"], "2 of 8 items were never scored"],
    ["validate", "one score", [], "checks failed"]
  ] as const) {
    test(
      `${verb} that gives nothing (${mistake || "no items"}) fails and says why`,
      Effect.gen(function* () {
        const { code, files, stderr } = yield* atropos(verb, mistake, ...words)
        assert.strictEqual(code, 1)
        assert.include(stderr, says)
        assert.notMatch(files.join(), /\.jsonl|metrics/)
      })
    )
  }

  test(
    "view makes no page of no groups",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* InProcess.folder
      yield* fs.writeFileString(`${cwd}/none.jsonl`, '{"a": 1}\n')
      const { code, stderr } = yield* InProcess.run(["view", "none.jsonl", "--out", "page.html"])
      assert.strictEqual(code, 1)
      assert.include(stderr, "none.jsonl contains no groups, so no page was written")
      assert.isFalse(yield* fs.exists(`${cwd}/page.html`))
    })
  )
})

describe("a mistake around an environment", () => {
  test(
    "a package.json as npm init writes it, with a file in JavaScript: the line to be changed is named",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* Bin.folder
      yield* fs.writeFileString(`${cwd}/package.json`, '{ "type": "commonjs" }')
      for (const line of ['import * as effect from "effect"\nexport const layer = effect', "export const layer = 1"]) {
        yield* fs.writeFileString(`${cwd}/mine.js`, line)
        const { code, stderr } = yield* Bin.run(["validate", "--env", "./mine.js"], { cwd })
        assert.strictEqual(code, 2)
        assert.include(stderr, 'package.json above it has "type": "commonjs"')
        assert.include(stderr, "or name the file mine.mjs")
      }
    })
  )

  test(
    "a tokenizer that cannot be had: the setting that names another is named",
    Effect.gen(function* () {
      const cwd = yield* InProcess.folder
      const env = { HF_HUB_OFFLINE: "1", HF_HOME: cwd }
      const served = yield* InProcess.run(["process", "--env", faulty, "--env.tokenizer_name", "nobody/nothing"], env)
      assert.strictEqual(served.code, 1)
      assert.include(served.stderr, "the tokenizer nobody/nothing (--env.tokenizer_name): HF_HUB_OFFLINE is set")
      const rows = yield* InProcess.run(["sft-gen", "rows.jsonl", "--from", "groups.jsonl"], env)
      assert.strictEqual(rows.code, 1)
      assert.include(rows.stderr, "(--tokenizer): HF_HUB_OFFLINE is set")
      assert.include(rows.stderr, "--save-messages needs none")
    })
  )

  test(
    "an environment that envs does not know: the argument is named, and no flag",
    Effect.gen(function* () {
      const { code, stderr } = yield* InProcess.run(["envs", "nosuch"])
      assert.strictEqual(code, 2)
      assert.match(stderr, /^atropos: environment nosuch: unknown environment/)
      assert.notInclude(stderr, "--env ")
    })
  )

  test(
    "rows that cannot be read: no set is written, and no report of one",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* InProcess.folder
      yield* fs.writeFileString(`${cwd}/groups.jsonl`, '{"a": 1}\n')
      const { code, stderr } = yield* InProcess.run([
        "sft-gen",
        "set.jsonl",
        "--from",
        "groups.jsonl",
        "--save-messages"
      ])
      assert.strictEqual(code, 1)
      assert.include(stderr, "nothing was written")
      assert.deepStrictEqual(yield* fs.readDirectory(cwd), ["groups.jsonl"])
    })
  )

  test(
    "a place that cannot be written to: the reason is the operating system's",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* InProcess.folder
      yield* fs.writeFileString(`${cwd}/file`, "")
      const { code, stderr } = yield* InProcess.run(["init", "file/mine"])
      assert.strictEqual(code, 1)
      assert.match(stderr, /cannot write file\/mine: ENOTDIR: not a directory/)
    })
  )
})

describe("a flag that a command ignores", () => {
  test(
    "is named, and the command runs",
    Effect.gen(function* () {
      yield* InProcess.folder
      const words = ["process", "--env", "sort-letters", "--testing", "--env.total_steps", "1"]
      const { code, stderr } = yield* InProcess.run([...words, "--env.batch_size=3", "--env.eval_limit_ratio", "0.5"])
      assert.strictEqual(code, 0)
      assert.include(stderr, "atropos process ignores --env.batch_size, --env.eval_limit_ratio")
      assert.notInclude(
        (yield* InProcess.run([...words, "--env.data_path_to_save_groups", "other.jsonl"])).stderr,
        "ignores"
      )
    })
  )
})
