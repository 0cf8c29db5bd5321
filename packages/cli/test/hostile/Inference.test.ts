/**
 * `atropos process` with inference servers that are away, slow, or lie: it ends, says which server and what is wrong,
 * and keeps what it has.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { readFile } from "node:fs/promises"
import * as TestServer from "../../../core/test/inference/TestServer.ts"
import * as Bin from "../Bin.ts"
import * as InProcess from "../InProcess.ts"

const groupSize = 3

const words = (url: string, file: string, more: string): ReadonlyArray<string> =>
  [
    `process --env arithmetic-stories --env.group_size ${groupSize} --env.total_steps 12`,
    `--env.max_num_workers 16 --env.data_path_to_save_groups ${file}`,
    `--openai.base_url ${url}/v1 --server_wait 0.3 --max_attempts 2 ${more}`
  ].flatMap((line) => line.split(" ").filter((word) => word !== ""))

/** Runs against a server that never does what it should; what it said last. */
const fails = Effect.fnUntraced(function* (url: string, more = "") {
  const { code, stderr } = yield* InProcess.run(words(url, `${yield* Bin.folder}/groups.jsonl`, more))
  assert.strictEqual(code, 1)
  const [last = ""] = stderr.trim().split("\n").slice(-1)
  assert.match(last, /^atropos: \d+ consecutive items failed; the last error: /)
  assert.include(last, `${url}/v1`)
  return last
})

const answering = (answer: (n: number) => TestServer.Reply) =>
  Effect.map(
    TestServer.make(({ body, path }) =>
      path.endsWith("/models") ? { json: { data: [] } } : answer(Number(body["n"] ?? 1))
    ),
    ({ url }) => url
  )

const texts = (n: number): ReadonlyArray<string> => Array.from({ length: n }, (_, i) => `\\boxed{${i}}`)

type Case = readonly [
  what: string,
  answer: ((n: number) => TestServer.Reply) | undefined,
  told: RegExp,
  /** Flags. */
  more?: string
]

const cases: ReadonlyArray<Case> = [
  ["not there", undefined, /connect ECONNREFUSED/],
  ["slow", () => "hang", /did not answer within 0\.3 s \(setting: timeout\)/, "--openai.timeout 0.3"],
  ["a web page", () => ({ text: "<html>welcome</html>" }), /<html>welcome|not JSON/],
  ["other JSON", () => ({ json: { result: "42" } }), /Missing key at \["choices"\]; it said \{"result":"42"\}/],
  [
    "fewer logprobs than tokens",
    (n) => ({
      json: {
        choices: texts(n).map((content, index) => ({
          index,
          finish_reason: "stop",
          message: { role: "assistant", content },
          token_ids: [1, 2, 3],
          logprobs: { content: [{ token: "a", logprob: -1 }] }
        }))
      }
    }),
    /3 token ids but 1 logprobs/
  ],
  ["broken", () => ({ status: 500, json: { error: { message: "out of memory" } } }), /500.*out of memory/]
]

layer(NodeServices.layer, { excludeTestServices: true })("an inference server", (it) => {
  it.effect("that is away, slow or lying is named, with what is wrong, and the run ends", () =>
    Effect.forEach(
      cases,
      ([what, answer, told, more]) =>
        Effect.gen(function* () {
          const url = answer === undefined ? yield* TestServer.nobody : yield* answering(answer)
          assert.match(yield* fails(url, more), told, what)
        }),
      // They wait more than they work.
      { concurrency: 3, discard: true }
    )
  )

  it.effect("that begins to lie costs nothing of what came before: the run goes on where it was", () =>
    Effect.gen(function* () {
      const file = `${yield* Bin.folder}/groups.jsonl`
      let isLying = true
      let asked = 0
      const { url } = yield* TestServer.make(({ body, path }) => {
        if (path.endsWith("/models")) return { json: { data: [] } }
        if (++asked > 5 && isLying) return { json: { choices: "all of them" } }
        return TestServer.chatReply(texts(Number(body["n"] ?? 1)))
      })
      const lines = Effect.promise(async () => (await readFile(file, "utf8")).split("\n").filter((line) => line !== ""))
      const first = yield* InProcess.run(words(url, file, ""))
      assert.strictEqual(first.code, 1)
      assert.include(first.stderr, "run the same command again to continue")
      const before = yield* lines
      assert.isAtLeast(before.length, 1)

      isLying = false
      const second = yield* InProcess.run(words(url, file, ""))
      assert.strictEqual(second.code, 0, second.stderr)
      const after = yield* lines
      assert.deepStrictEqual(after.slice(0, before.length), before)
      assert.strictEqual(after.length, 12)
      const questions = after.map((line) => JSON.parse(line).messages[0][1].content as string)
      assert.strictEqual(new Set(questions).size, 12)
    })
  )
})
