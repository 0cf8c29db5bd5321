/** An agent in a TypeScript project as people have them, run by the command in a process of its own. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as Bin from "../Bin.ts"
import * as Project from "./Project.ts"

/** What TypeScript and its bundlers load, and Node by itself does not. */
const usual: Project.Files = {
  "package.json": JSON.stringify({ name: "usual", type: "commonjs" }),
  "tsconfig.base.json": `{ // shared
    "compilerOptions": { "baseUrl": ".", "paths": { "@/*": ["./nowhere/*", "./src/*"], "@lib": ["./src/lib"], }, },
  }`,
  "tsconfig.json": `{ "extends": "./tsconfig.base.json", /* strict */ "compilerOptions": { "strict": true } }`,
  "src/types.ts": `export interface Item { readonly question: string; readonly answer: string }
    export type Verdict = { text: string }
    export enum Kind { Fruit = "fruit", Other = "other" }`,
  "src/lib/index.ts": `export * from "./kinds"
    export { Client } from "./client.js"`,
  "src/lib/kinds.ts": `import { Item, Kind } from "../types.js"
    export namespace Kinds { export const first = Kind.Fruit }
    export const kindOf = (item: Item): Kind => item.question.includes("apple") ? Kinds.first : Kind.Other`,
  "src/lib/client.ts": `import { Verdict } from "@/types"
    import { JSONSchema7 } from "json-schema-that-is-not-installed"
    export class Client {
      constructor(private readonly baseURL: string) {}
      async ask(content: string, signal: AbortSignal): Promise<Verdict & { schema?: JSONSchema7 }> {
        const response = await fetch(this.baseURL + "/chat/completions", {
          method: "POST", headers: { "content-type": "application/json" }, signal,
          body: JSON.stringify({ model: "any", messages: [{ role: "user", content }] })
        })
        const { choices } = await response.json() as any
        return { text: choices[0].message.content }
      }
    }`,
  "agent.ts": `import { defineAgent } from "@atropos/envs"
    import { Client, kindOf } from "@lib"
    import { Item, Kind } from "@/types"

    const items: Item[] = [{ question: "apples", answer: "12" }, { question: "pears", answer: "0" }]
    export default defineAgent({
      name: "usual",
      items,
      run: async ({ item, model, signal }) => ({ ...(await new Client(model.baseURL).ask(item.question, signal)), kind: kindOf(item) }),
      score: ({ item, result }) => ({ said: result.text === item.question ? 1 : 0, fruit: result.kind === Kind.Fruit ? 1 : 0 })
    })`
}

const asking = `import { defineAgent } from "@atropos/envs"
  const ask = async (model) => {
    const response = await fetch(model.baseURL + "/chat/completions", {
      method: "POST", headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "any", messages: [{ role: "user", content: "hi" }] })
    })
    await response.json()
  }
  let runs = 0`

const process = (file: string, ...words: ReadonlyArray<string>) => [
  "process",
  "--env",
  file,
  "--testing",
  "--no-html",
  "--env.data_path_to_save_groups",
  "out.jsonl",
  ...words
]

layer(NodeServices.layer, { excludeTestServices: true })("an agent in a project of its own", (it) => {
  it.effect("loads with enums, aliases, file names of JavaScript, folders and types that are imported as values", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* Project.make(usual)
      const { code, stderr, stdout } = yield* Bin.run(process("./agent.ts", "--env.total_steps", "2"), { cwd })
      assert.strictEqual(code, 0, stderr)
      assert.notInclude(stderr, "ExperimentalWarning")
      assert.match(stdout, /groups +2 kept/)
      assert.match(stdout, /mean said +1\.0000/)
      assert.match(stdout, /mean fruit +0\.5000/)
      // No range is claimed: nothing is said to be solved.
      assert.notMatch(stdout, /solved|pass/)
      assert.strictEqual((yield* fs.readFileString(`${cwd}/out.jsonl`)).trim().split("\n").length, 2)
    })
  )

  it.effect("is told where an error was thrown, also in a file that had to be transformed", () =>
    Effect.gen(function* () {
      const cwd = yield* Project.make({
        ...usual,
        "src/lib/kinds.ts": `import { Item } from "../types.js"

enum Answer { Yes = 1 }

export const kindOf = (item: Item) => {
  throw new RangeError(\`no kind \${Answer.Yes}\`)
}`
      })
      const { code, stderr } = yield* Bin.run(process("./agent.ts"), { cwd })
      assert.strictEqual(code, 1)
      assert.match(stderr, /RangeError: no kind 1 \(src\/lib\/kinds\.ts:6:9\)/)
    })
  )

  it.effect("its stray rejections, errors of timers and exits fail the run that they came from", () =>
    Effect.gen(function* () {
      const cwd = yield* Project.make({
        "agent.ts": `${asking}
          export default defineAgent({
            name: "stray",
            items: ["a", "b"],
            run: async ({ model }) => {
              const run = runs++
              await ask(model)
              if (run === 0) void Promise.reject(new RangeError("a stray rejection"))
              if (run === 1) setTimeout(() => { throw new RangeError("a stray timer") })
              if (run === 2) process.exit(3)
              // Longer than what comes to those.
              await new Promise((resolve) => setTimeout(resolve, 50))
              return runs
            },
            score: ({ result }) => result
          })`
      })
      const { code, stderr, stdout } = yield* Bin.run(process("./agent.ts", "--env.total_steps", "2"), { cwd })
      assert.strictEqual(code, 0, stderr)
      assert.match(stdout, /groups +2 kept/)
      assert.match(stderr, /threw an unawaited error: RangeError: a stray rejection \(agent\.ts:\d+:\d+\)/)
      assert.match(stderr, /threw an unawaited error: RangeError: a stray timer \(agent\.ts:\d+:\d+\)/)
      assert.match(stderr, /process\.exit\(3\) was called, which would end the program/)
    })
  )

  for (const [what, statement, says] of [
    ["an error that no run caused", `throw new Error("of nobody")`, /uncaught error: Error: of nobody/],
    ["an exit that no run caused", "process.exit(0)", /process\.exit\(0\) was called/]
  ] as const) {
    it.effect(`${what} ends the command with exit code 1, and is named`, () =>
      Effect.gen(function* () {
        const cwd = yield* Project.make({
          "agent.ts": `${asking}
            let begun
            void new Promise((resolve) => { begun = resolve }).then(() => setTimeout(() => { ${statement} }))
            const outside = setInterval(() => runs > 0 && begun(), 1)
            outside.unref()
            export default defineAgent({
              name: "outside",
              items: ["a"],
              run: async ({ model }) => { runs++; await ask(model); return new Promise(() => {}) },
              score: () => 1
            })`
        })
        const { code, stderr } = yield* Bin.run(process("./agent.ts"), { cwd })
        assert.strictEqual(code, 1, stderr)
        assert.match(stderr, says)
        assert.include(stderr, "agent.ts:")
      })
    )
  }

  for (const [what, statement, says] of [
    ["an exit", "process.exit(0)", /process\.exit\(0\) was called.* \(agent\.ts:2:17\)/],
    [
      "a rejection that nothing awaits",
      `void Promise.reject(new Error("early")); await new Promise(() => {})`,
      /early/
    ],
    ["a throw", `throw new Error("early")`, /early \(agent\.ts:2:15\)/]
  ] as const) {
    it.effect(`${what} while its file is loaded is a usage error that names the file`, () =>
      Effect.gen(function* () {
        const cwd = yield* Project.make({ "agent.ts": `import "@atropos/envs"\n        ${statement}` })
        const { code, stderr } = yield* Bin.run(process("./agent.ts"), { cwd })
        assert.strictEqual(code, 2, stderr)
        assert.match(stderr, /--env \.\/agent\.ts: the file could not be loaded: /)
        assert.match(stderr, says)
      })
    )
  }

  it.effect("the exit code that it leaves is not the command's, and what it leaves open does not hold it up", () =>
    Effect.gen(function* () {
      const cwd = yield* Project.make({
        "agent.ts": `${asking}
          process.exitCode = 3
          setInterval(() => {}, 1000)
          export default defineAgent({
            name: "codes",
            items: ["a"],
            run: async ({ model }) => { process.exitCode = 4; await ask(model); return ++runs },
            score: ({ result }) => result
          })`
      })
      const { code, stderr } = yield* Bin.run(process("./agent.ts", "--env.total_steps", "1"), { cwd })
      assert.strictEqual(code, 0, stderr)
    })
  )
})
