/** A gateway's recording, and what the other commands make of it. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { ServerManager, Tokenizer } from "@atropos/core"
import * as TokenizerIdentity from "@atropos/core/inference/tokenizer/TokenizerIdentity"
import * as Gateway from "@atropos/core/gateway/Gateway"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer } from "effect"
import { TestConsole } from "effect/testing"
import * as Recorder from "../src/gateway/Recorder.ts"
import * as Presentation from "../src/help/Presentation.ts"
import * as Progress from "../src/base/Progress.ts"
import * as Report from "../src/base/Report.ts"
import * as Root from "../src/Root.ts"
import * as Bin from "./Bin.ts"

const layer = Layer.mergeAll(NodeServices.layer, Presentation.layer, Layer.succeed(Progress.Presenter, "lines"))

const atropos = Effect.fnUntraced(function* (...words: ReadonlyArray<string>) {
  const exit = yield* Effect.exit(Root.run(words))
  let code = -1
  Report.teardown(exit, (given) => {
    code = given
  })
  const [stdout, stderr] = [yield* TestConsole.logLines, yield* TestConsole.errorLines]
  return { code, stdout: stdout.map(String).join("\n"), stderr: stderr.map(String).join("\n") }
})

interface Answer {
  readonly id: string
  readonly choices: ReadonlyArray<{ readonly message: { readonly content: string } }>
}

const post = (url: string, body: unknown) =>
  Effect.promise(async () => {
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body)
    })
    assert.strictEqual(answer.status, 200)
    return (await answer.json()) as Answer
  })

/** Four conversations: three begin alike, of which two were judged, and one is of something else. */
const recorded = (file: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const recorder = yield* Recorder.make(file, undefined)
      yield* Effect.scoped(converse({ hasConversations: true, onEnd: recorder.onEnd, onChange: recorder.onChange }))
    })
  )

const converse = (options: Gateway.Options) =>
  Effect.gen(function* () {
    const servers = ServerManager.layerScripted(["Four.", "Five.", "Oslo.", "Sure?", "Is it? Yes."])
    const context = yield* Layer.build(Layer.provide(Gateway.layer(options), servers))
    const { url } = Context.get(context, Gateway.Gateway)
    const ask = (...texts: ReadonlyArray<string>) =>
      post(`${url}/v1/chat/completions`, {
        model: "any",
        messages: texts.map((content, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content }))
      })
    const reward = ({ id }: Answer, rewards: { readonly [component: string]: number }) =>
      post(`${url}/reward`, { answer: id, rewards })
    yield* reward(yield* ask("2 + 2?"), { correct: 1, kind: 0.5 })
    yield* reward(yield* ask("2 + 2?"), { correct: 0, kind: 0.5 })
    yield* reward(yield* ask("Capital of Norway?"), { correct: 1 })
    yield* ask("2 + 2?")
    yield* ask("2 + 2?", "Sure?", "Is it?")
  })

const withRecording = <A, E, R>(use: (file: string, folder: string) => Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const folder = yield* Bin.folder
    const file = `${folder}/sessions.jsonl`
    yield* recorded(file)
    return yield* use(file, folder)
  }).pipe(Effect.scoped, Effect.provide(layer))

const rowsOf = Effect.fnUntraced(function* (file: string) {
  const text = yield* (yield* FileSystem.FileSystem).readFileString(file)
  return text
    .trim()
    .split("\n")
    .map((line): { readonly [column: string]: unknown } => JSON.parse(line))
})

describe("a recording of a gateway", () => {
  it.effect("gives pairs of sessions that begin alike and were rewarded differently", () =>
    withRecording((file, folder) =>
      Effect.gen(function* () {
        const out = `${folder}/pairs.jsonl`
        const made = yield* atropos("dpo-gen", out, "--from", file, "--save-messages", "--format", "trl")
        assert.strictEqual(made.code, 0, made.stderr)
        assert.deepStrictEqual(yield* rowsOf(out), [
          {
            prompt: [{ role: "user", content: "2 + 2?" }],
            chosen: [{ role: "assistant", content: "Four." }],
            rejected: [{ role: "assistant", content: "Five." }],
            score_chosen: 1.5,
            score_rejected: 0.5
          }
        ])
      })
    )
  )

  it.live("begins a new file when one was moved away, as a rotation of logs does", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = `${yield* Bin.folder}/sessions.jsonl`
      yield* Effect.scoped(
        Effect.gen(function* () {
          const recorder = yield* Recorder.make(file, undefined)
          const options = { hasConversations: true, onEnd: recorder.onEnd, onChange: recorder.onChange }
          yield* Effect.scoped(converse(options))
          yield* fs.rename(file, `${file}.1`)
          yield* Effect.scoped(converse(options))
        })
      )
      const lines = (path: string) =>
        Effect.map(
          fs.readFileString(path),
          (text) =>
            text
              .trim()
              .split("\n")
              .map((line) => JSON.parse(line)).length
        )
      assert.strictEqual(yield* lines(file), yield* lines(`${file}.1`))
    }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it.effect("says which tokenizer its ids are of, so that no other one reads them", () =>
    withRecording((file, folder) =>
      Effect.gen(function* () {
        for (const row of yield* rowsOf(file)) {
          assert.deepInclude(row["group_overrides"], { tokenizer: TokenizerIdentity.of(Tokenizer.bytes) })
        }
        const other = yield* atropos("sft-gen", `${folder}/sft.jsonl`, "--from", file, "--tokenizer", "bundled")
        assert.strictEqual(other.code, 1, other.stdout)
        assert.match(other.stderr, /were tokenized with bytes, not with/)
      })
    )
  )

  it.effect("gives the sessions that were worth something to fine-tune on, and a page to look at", () =>
    withRecording((file, folder) =>
      Effect.gen(function* () {
        const out = `${folder}/sft.jsonl`
        const made = yield* atropos("sft-gen", out, "--from", file, "--save-messages", "--format", "trl")
        assert.strictEqual(made.code, 0, made.stderr)
        const rows = yield* rowsOf(out)
        assert.deepStrictEqual(new Set(rows.map(({ score }) => score)), new Set([0.5, 1, 1.5]))
        const viewed = yield* atropos("view", file, "--out", `${folder}/page.html`)
        assert.strictEqual(viewed.code, 0, viewed.stderr)
      })
    )
  )

  it.effect("is evaluated by the rewards that were reported, with those without one counted", () =>
    withRecording((file, folder) =>
      Effect.gen(function* () {
        const unscored = `${folder}/sessions.unscored.jsonl`
        const [out, also] = [`${folder}/figures.json`, ["--from", unscored, "--out", `${folder}/figures.json`]]
        const { code, stdout } = yield* atropos("evaluate", "--from", file, ...also)
        assert.strictEqual(code, 0, stdout)
        assert.match(stdout, /score +1\.0000 +0\.2887 +0\.5 to 1\.5/)
        assert.match(stdout, /without a reward +1, not in the means/)
        const [figures] = yield* Effect.map((yield* FileSystem.FileSystem).readFileString(out), (text) => [
          JSON.parse(text) as { readonly rewards: unknown }
        ])
        assert.deepStrictEqual(figures?.rewards, {
          correct: { count: 3, mean: 2 / 3, stderr: 0.33333333333333337, lowest: 0, highest: 1 },
          kind: { count: 2, mean: 0.5, stderr: 0, lowest: 0.5, highest: 0.5 }
        })
        const both = yield* atropos("evaluate", "--from", file, "--env", "gsm8k")
        assert.strictEqual(both.code, 2)
        assert.match(both.stderr, /cannot be combined/)
      })
    )
  )
})
