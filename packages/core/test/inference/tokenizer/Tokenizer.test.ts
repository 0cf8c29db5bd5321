import { assert, describe, it, layer } from "@effect/vitest"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { ConfigProvider, Effect, FileSystem, Schema } from "effect"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import { fileURLToPath } from "node:url"
import * as ExactJson from "../../../src/base/json/ExactJson.ts"
import type { Message } from "../../../src/trajectory/Message.ts"
import * as HubFiles from "../../../src/data/HubFiles.ts"
import * as Tokenizer from "../../../src/inference/tokenizer/Tokenizer.ts"

const fixture = (name: string): string => fileURLToPath(new URL(`../../fixtures/${name}`, import.meta.url))

/** What Python's `transformers` makes of the same tokenizer files (scripts/make-tokenizer-fixture.py). */
const expected: {
  readonly texts: ReadonlyArray<{
    readonly text: string
    readonly ids: ReadonlyArray<number>
    readonly plain: ReadonlyArray<number>
    readonly decoded: string
    readonly skipped: string
  }>
  readonly chats: ReadonlyArray<{
    readonly messages: ReadonlyArray<Message>
    readonly tools: ReadonlyArray<unknown> | null
    readonly add_generation_prompt: boolean
    readonly prompt: string
  }>
  readonly vocabulary_size: number
  readonly bos: number
  readonly eos: number
} = JSON.parse(readFileSync(fixture("tiny-tokenizer-expected.json"), "utf8"))

layer(Tokenizer.layerHuggingFace(fixture("tiny-tokenizer")))("Tokenizer.layerHuggingFace, local folder", (it) => {
  it.effect("gives the ids and texts that Python gives", () =>
    Effect.gen(function* () {
      const tokenizer = yield* Tokenizer.Tokenizer
      assert.strictEqual(tokenizer.vocabularySize, expected.vocabulary_size)
      assert.strictEqual(tokenizer.bosTokenId, expected.bos)
      assert.strictEqual(tokenizer.eosTokenId, expected.eos)
      for (const { decoded, ids, plain, skipped, text } of expected.texts) {
        assert.deepStrictEqual(tokenizer.encode(text), ids, text)
        assert.deepStrictEqual(tokenizer.encode(text, { addSpecialTokens: false }), plain, text)
        assert.strictEqual(tokenizer.decode(Int32Array.from(ids)), decoded)
        assert.strictEqual(tokenizer.decode(ids, { skipSpecialTokens: true }), skipped)
      }
    })
  )

  it.effect("renders chats, tools and calls as Python renders them", () =>
    Effect.gen(function* () {
      const tokenizer = yield* Tokenizer.Tokenizer
      for (const { add_generation_prompt: addGenerationPrompt, messages, prompt, tools } of expected.chats) {
        assert.strictEqual(
          tokenizer.applyChatTemplate(messages, { addGenerationPrompt, ...(tools !== null && { tools }) }),
          prompt
        )
      }
    })
  )

  it.effect("joins parts that are all text", () =>
    Effect.gen(function* () {
      const tokenizer = yield* Tokenizer.Tokenizer
      const parts = [
        { type: "text", text: "4" },
        { type: "text", text: "2" }
      ]
      const render = (content: Message["content"]) =>
        tokenizer.applyChatTemplate([{ role: "user", content }], { addGenerationPrompt: true })
      assert.strictEqual(render(parts), render("42"))
    })
  )
})

const failureOf = (name: string) =>
  Effect.flip(Effect.provide(Tokenizer.Tokenizer, Tokenizer.layerHuggingFace(name), { local: true }))

describe("Tokenizer.layerHuggingFace", () => {
  it.effect("says which file a folder lacks", () =>
    Effect.gen(function* () {
      const error = yield* failureOf(fixture("servers"))
      assert.include(error.message, "has no tokenizer.json and no tokenizer_config.json")
    })
  )

  it.effect("takes a path for a path, and asks no hub for it", () =>
    Effect.gen(function* () {
      for (const name of ["./nowhere", "../nowhere", "~/nowhere", "/nowhere/at/all"]) {
        const error = yield* failureOf(name)
        assert.match(error.message, /^folder not found: \/.*nowhere/)
      }
      const file = yield* failureOf(fixture("tiny-tokenizer/tokenizer.json"))
      assert.include(file.message, "is not a folder")
    })
  )

  it.effect("takes the template of a processor where the tokenizer has none", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      for (const file of ["tokenizer.json", "tokenizer_config.json"]) {
        yield* fs.copyFile(fixture(`tiny-tokenizer/${file}`), `${folder}/${file}`)
      }
      const template = readFileSync(fixture("tiny-tokenizer/chat_template.jinja"), "utf8")
      yield* fs.writeFileString(`${folder}/chat_template.json`, JSON.stringify({ chat_template: template }))
      const tokenizer = yield* Effect.provide(Tokenizer.Tokenizer, Tokenizer.layerHuggingFace(folder), { local: true })
      const { add_generation_prompt: addGenerationPrompt, messages, prompt, tools } = expected.chats[0]!
      const options = { addGenerationPrompt, ...(tools !== null && { tools }) }
      assert.strictEqual(tokenizer.applyChatTemplate(messages, options), prompt)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("says that a name is neither a folder nor a hub id", () =>
    Effect.gen(function* () {
      const error = yield* failureOf("no/such/folder")
      assert.include(error.message, "neither a local folder nor a hub id")
    })
  )
})

/** A hub that has one model, `owner/tiny`; the template only where asked for. */
const modelHub = (hasTemplate: boolean) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly asked: ReadonlyArray<string>; readonly close: () => void }>(
      (resume) => {
        const asked: Array<string> = []
        const server = createServer(({ url = "" }, response) => {
          asked.push(url)
          const file = /^\/owner\/tiny\/resolve\/main\/([\w.]+)$/.exec(url)?.[1]
          if (file === undefined || file.startsWith("special") || (file.endsWith(".jinja") && !hasTemplate))
            response.writeHead(404).end()
          else response.end(readFileSync(fixture(`tiny-tokenizer/${file}`)))
        })
        server.listen(0, "127.0.0.1", () => {
          const address = server.address()
          const port = typeof address === "object" ? address?.port : 0
          resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, asked, close: () => server.close() }))
        })
      }
    ),
    ({ close }) => Effect.sync(close)
  )

const load = (env: { readonly [name: string]: string }, name = "owner/tiny") =>
  Effect.provide(Tokenizer.Tokenizer, Tokenizer.layerHuggingFace(name), { local: true }).pipe(
    Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env })))
  )

describe("Tokenizer.layerHuggingFace, hub", () => {
  it.live("downloads a tokenizer once and loads it offline afterwards", () =>
    Effect.gen(function* () {
      const home = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
      const { asked, url } = yield* modelHub(true)
      const env = { HF_HOME: home, HF_ENDPOINT: url }
      const [first] = expected.texts.slice(20)
      assert.deepStrictEqual((yield* load(env)).encode(first!.text), first!.ids)
      assert.strictEqual(asked.length, 3)
      const again = yield* load({ ...env, HF_HUB_OFFLINE: "1" })
      assert.deepStrictEqual(again.encode(first!.text), first!.ids)
      assert.strictEqual(asked.length, 3)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.live("says that a model does not exist, or has no chat template", () =>
    Effect.gen(function* () {
      const home = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
      const { asked, url } = yield* modelHub(false)
      const env = { HF_HOME: home, HF_ENDPOINT: url }
      assert.include((yield* Effect.flip(load(env, "owner/other"))).message, "404")
      const tokenizer = yield* load(env)
      const before = asked.length
      yield* load({ ...env, HF_HUB_OFFLINE: "1" })
      assert.strictEqual(asked.length, before)
      assert.throws(
        () => tokenizer.applyChatTemplate([], { addGenerationPrompt: true }),
        /owner\/tiny has no chat template/
      )
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})

describe("a name of the hub", () => {
  const outside = ["owner/tiny@../../../escaped", "owner/tiny@a/../../../../escaped", "owner/tiny@", ".../..."]

  it.live("never leads out of the cache", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const above = yield* fs.makeTempDirectoryScoped()
      const { asked, url } = yield* modelHub(true)
      for (const name of [...outside, "owner/tiny@a@b"]) {
        const error = yield* Effect.flip(load({ HF_HOME: `${above}/home`, HF_ENDPOINT: url }, name))
        assert.include(error.message, `"${name}" is neither a local folder nor a hub id`)
      }
      assert.deepStrictEqual(yield* fs.readDirectory(above), [])
      assert.deepStrictEqual(asked, [])
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.prop(
    "is one folder of the cache, whatever it says, and another one for another name",
    [Schema.Array(Schema.Literals(["a", "b1", "/", ".", "..", "@", "\\", "%2e", "-", "main", "refs/pr/1", "v1.0"]))],
    ([parts]) => {
      const found = HubFiles.repository(parts.join(""))
      if (found === undefined) return
      assert.match(found.folder, /^[\w.-]+(--[\w.-]+)?@[\w.%+-]+$/)
      assert.notMatch(found.folder, /^\.+$/)
      assert.strictEqual(new URL(found.address, "http://hub/").pathname, `/${found.address}`)
    }
  )

  it("takes branches, tags and requests", () => {
    for (const revision of ["main", "v1.0", "refs/pr/1", "0123abcd", "release-2"]) {
      assert.strictEqual(HubFiles.repository(`owner/name@${revision}`)?.revision, revision)
    }
  })
})

describe("Tokenizer.bytes", () => {
  const { applyChatTemplate, decode, encode } = Tokenizer.bytes

  it.prop("decodes what it encoded", [Schema.String], ([text]) => {
    assert.strictEqual(decode(encode(text)), text.toWellFormed())
  })

  it("reads special tokens in a text and can leave them out of the answer", () => {
    assert.deepStrictEqual(encode("é<|im_end|>\n"), [0xc3, 0xa9, 258, 10])
    assert.strictEqual(decode([0xc3, 0xa9, 258, 10], { skipSpecialTokens: true }), "é\n")
  })

  it("renders ChatML", () => {
    const messages = [
      { role: "user", content: "hi" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ function: { name: "f", arguments: '{"a": 1}' } }]
      }
    ]
    assert.strictEqual(
      applyChatTemplate(messages, { addGenerationPrompt: true }),
      '<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call><|im_end|>\n<|im_start|>assistant\n'
    )
  })
})

describe("a folder with a template of its own", () => {
  /** What the template makes of the chat, in a folder with these files besides. */
  const rendered = (
    template: string,
    messages: ReadonlyArray<Message>,
    others: { readonly [name: string]: object } = {},
    tools?: ReadonlyArray<unknown>
  ) =>
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const folder = yield* files.makeTempDirectoryScoped()
      yield* files.copyFile(`${fixture("tiny-tokenizer")}/tokenizer.json`, `${folder}/tokenizer.json`)
      yield* files.writeFileString(`${folder}/chat_template.jinja`, template)
      for (const [name, content] of Object.entries(others))
        yield* files.writeFileString(`${folder}/${name}`, JSON.stringify(content))
      const made = yield* Effect.provide(Tokenizer.Tokenizer, Tokenizer.layerHuggingFace(folder))
      return made.applyChatTemplate(messages, { addGenerationPrompt: false, ...(tools && { tools }) })
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))

  it.effect("renders arguments of calls digit by digit, and their keys in order", () =>
    Effect.gen(function* () {
      const json = '{"10": 2512292042121000001, "2": 1.0, "id": {"share": 1.50, "big": 1e400}}'
      const messages: ReadonlyArray<Message> = [
        { role: "user", content: "Read order 2512292042121000001." },
        { role: "assistant", content: null, tool_calls: [{ id: "a", function: { name: "f", arguments: json } }] }
      ]
      const template =
        "{% for m in messages if m.tool_calls %}{% for c in m.tool_calls %}{{ c.function.arguments | tojson }}{{ c.function.arguments['10'] }}{% endfor %}{% endfor %}"
      assert.strictEqual(
        yield* rendered(template, messages, { "tokenizer_config.json": {} }),
        '{"10": 2512292042121000001, "2": 1.0, "id": {"share": 1.5, "big": Infinity}}2512292042121000001'
      )
    })
  )

  it.effect("renders tools of a request with their keys in order, be they digits or not", () =>
    Effect.gen(function* () {
      const tools =
        '[{"type": "function", "function": {"name": "f", "parameters": {"properties": {"b": {"const": 9007199254740993}, "10": {}, "2": {}}}}}]'
      const { tools: read } = ExactJson.parseRequest(`{"tools": ${tools}}`) as { tools: ReadonlyArray<unknown> }
      const chat = [{ role: "user", content: "hi" }]
      const files = { "tokenizer_config.json": {} }
      assert.strictEqual(yield* rendered("{{ tools | tojson }}", chat, files, read), tools)
    })
  )

  it.effect("takes special tokens from special_tokens_map.json where the configuration has none", () =>
    Effect.gen(function* () {
      const map = {
        bos_token: { content: "<s>", lstrip: false, normalized: false, rstrip: false, single_word: false },
        eos_token: "</s>"
      }
      const template = "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{{ eos_token }}{% endfor %}"
      const chat = [{ role: "user", content: "hello" }]
      const files = { "tokenizer_config.json": { eos_token: null }, "special_tokens_map.json": map }
      assert.strictEqual(yield* rendered(template, chat, files), "<s>[user]hello</s>")
      const own = { ...files, "tokenizer_config.json": { eos_token: "<end>" } }
      assert.strictEqual(yield* rendered(template, chat, own), "<s>[user]hello<end>")
    })
  )
})
