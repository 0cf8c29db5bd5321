import { SavedGroup, Tokenizer } from "@atropos/core"
import * as TokenizerIdentity from "@atropos/core/inference/tokenizer/TokenizerIdentity"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Stream } from "effect"
import OpenAI from "openai"
import * as TestServer from "../../core/test/inference/TestServer.ts"
import * as Bin from "./Bin.ts"
import * as InProcess from "./InProcess.ts"

/** The command with its address, once it has told it; `stop` ends it as Ctrl-C does, and gives all that it said. */
const started = Effect.fnUntraced(function* (cwd: string, words: ReadonlyArray<string>) {
  const child = yield* Bin.start(["gateway", "--port", "0", ...words], { cwd, env: { ATROPOS_GATEWAY_TOKENS: "" } })
  const said: Array<string> = []
  const url = yield* Effect.callback<string, Error>((resume) => {
    const reading = child.all.pipe(
      Stream.decodeText,
      Stream.runForEach((text) =>
        Effect.sync(() => {
          said.push(text)
          const url = /gateway at (\S+),/.exec(said.join(""))?.[1]
          if (url !== undefined) resume(Effect.succeed(url))
        })
      ),
      Effect.ensuring(Effect.sync(() => resume(Effect.fail(new Error(said.join(""))))))
    )
    Effect.runFork(reading)
  })
  const stop = Effect.gen(function* () {
    yield* Effect.ignore(child.kill({ killSignal: "SIGINT" }))
    yield* Effect.ignore(child.exitCode)
    return said.join("")
  })
  return { url, stop }
})

layer(NodeServices.layer, { excludeTestServices: true })("atropos gateway", (it) => {
  it.effect("keeps the conversations of any OpenAI-compatible model, for view and others to read", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const model = yield* TestServer.make((_, count) => TestServer.chatReply([`answer ${count}`]))
      const cwd = yield* InProcess.folder
      const { stop, url } = yield* started(cwd, [
        "--record",
        "kept/sessions.jsonl",
        "--openai.base_url",
        `${model.url}/v1`,
        "--openai.model_name",
        "production"
      ])
      const openai = new OpenAI({ apiKey: "any", baseURL: `${url}/v1`, maxRetries: 0 })
      const ask = (...texts: ReadonlyArray<string>) =>
        Effect.promise(() =>
          openai.chat.completions.create({
            model: "whatever",
            messages: texts.map((content, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content }))
          })
        )
      yield* ask("Hi")
      const { id } = yield* ask("Hi", "answer 1", "And?")
      yield* ask("Something else")
      const rewarded = yield* Effect.promise(() =>
        fetch(`${url}/reward`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ answer: id, rewards: { helpful: 0.75 } })
        })
      )
      assert.strictEqual(rewarded.status, 200)
      assert.match(yield* stop, /recorded 1 session in kept\/sessions\.jsonl, 1 without a reward/)

      const entries = yield* Stream.runCollect(SavedGroup.read(`${cwd}/kept/sessions.jsonl`))
      assert.strictEqual(entries.length, 1)
      const [entry] = entries
      assert(entry?._tag === "Saved")
      assert.deepStrictEqual(Array.from(entry.group.scores), [0.75])
      assert.deepStrictEqual(entry.group.rewards, [{ helpful: 0.75 }])
      // The first request is where its times begin; nobody knows when an agent's reward was reckoned.
      assert.strictEqual(entry.group.timings?.[0]?.turns[0]?.asked, 0)
      assert.isUndefined(entry.group.timings?.[0]?.scored)
      assert.deepStrictEqual(
        entry.group.messages?.map((chat) => chat.map(({ content }) => content)),
        [["Hi", "answer 1", "And?", "answer 2"]]
      )
      const unscored = yield* fs.readFileString(`${cwd}/kept/sessions.unscored.jsonl`)
      assert.match(unscored, /"answer 3"/)
      assert.strictEqual(model.asked.at(0)?.body["model"], "production")

      const viewed = yield* InProcess.run(["view", "kept/sessions.jsonl", "--out", "page.html"])
      assert.strictEqual(viewed.code, 0, viewed.stderr)
      const documents = yield* InProcess.run(["atif", "kept/sessions.jsonl", "--out", "atif"])
      assert.match(documents.stdout, /1 document in atif/)
      const back = yield* InProcess.run(["atif", "atif/sessions-1-0.json", "--out", "back.jsonl"])
      assert.strictEqual(back.code, 0, back.stderr)
      const [again] = yield* Stream.runCollect(SavedGroup.read(`${cwd}/back.jsonl`))
      assert(again?._tag === "Saved")
      assert.deepStrictEqual(again.group.messages, entry.group.messages)
      assert.deepStrictEqual(again.group.scores, entry.group.scores)
    })
  )

  it.effect("records the ids of several turns with the tokenizer that the server names", () =>
    Effect.gen(function* () {
      const tokenizer = TokenizerIdentity.of(Tokenizer.bytes)
      const model = yield* TestServer.make(
        ({ path }, count) =>
          path.endsWith("/models")
            ? { json: { data: [{ id: "m", tokenizer }] } }
            : path.endsWith("/chat/completions")
              ? TestServer.chatReply([`answer ${count}`])
              : { status: 404, json: {} },
        { isProbed: true }
      )
      const cwd = yield* InProcess.folder
      const { stop, url } = yield* started(cwd, [
        "--record",
        "sessions.jsonl",
        "--score",
        "1",
        "--openai.base_url",
        `${model.url}/v1`,
        "--openai.model_name",
        "m"
      ])
      const openai = new OpenAI({ apiKey: "any", baseURL: `${url}/v1`, maxRetries: 0 })
      const messages: Array<OpenAI.ChatCompletionMessageParam> = []
      for (const content of ["Hi", "And?"]) {
        messages.push({ role: "user", content })
        const { choices } = yield* Effect.promise(() => openai.chat.completions.create({ model: "any", messages }))
        messages.push(choices[0]!.message)
      }
      const said = yield* stop
      assert.match(said, /using the tokenizer reported by the server/)
      const [entry] = yield* Stream.runCollect(SavedGroup.read(`${cwd}/sessions.jsonl`))
      assert(entry?._tag === "Saved", said)
      assert.deepInclude(entry.group.groupOverrides, { tokenizer })
      const [tokens, masks] = [entry.group.tokens[0]!, entry.group.masks[0]!]
      const trained = Array.from(tokens).filter((_, at) => masks[at]! > 0)
      assert.match(Tokenizer.bytes.decode(trained), /^answer \d+.*answer \d+/s)
    })
  )

  it.effect("refuses a score without a file, and other machines without a token", () =>
    Effect.gen(function* () {
      const scored = yield* InProcess.run(["gateway", "--score", "1", "--testing"])
      assert.strictEqual(scored.code, 2)
      assert.match(scored.stderr, /--record/)
      const open = yield* InProcess.run(["gateway", "--host", "0.0.0.0", "--port", "0", "--testing"])
      assert.strictEqual(open.code, 1)
      assert.match(open.stderr, /ATROPOS_GATEWAY_TOKENS/)
    })
  )
})
