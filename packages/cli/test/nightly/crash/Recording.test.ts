/**
 * A recording gateway, killed in the middle of conversations: every answer that a client got is recorded, in one
 * conversation, once, with the reward that was reported.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as TestServer from "../../../../core/test/inference/TestServer.ts"
import * as InProcess from "../../InProcess.ts"
import * as Atropos from "../../crash/Atropos.ts"
import type * as KillMoment from "../../crash/KillMoment.ts"

interface Said {
  readonly role: string
  readonly content: string
}

/** A conversation as its client knows it. */
interface Client {
  readonly chat: Array<Said>
  readonly reward?: number
}

interface Line {
  readonly scores?: ReadonlyArray<number>
  readonly messages: ReadonlyArray<Said> | ReadonlyArray<ReadonlyArray<Said>>
}

/** One life for each, while other conversations go on. */
const kills: ReadonlyArray<KillMoment.KillMoment> = [
  // Written down, and the client does not have it.
  { of: "answered", when: "before", what: /^POST .*\/chat\/completions$/, nth: 15 },
  { of: "answered", when: "after", what: /^POST .*\/chat\/completions$/, nth: 23 },
  { of: "answered", when: "before", what: /^POST .*\/reward$/, nth: 2 }
]

const env = { ATROPOS_GATEWAY_TOKENS: "" }

const gateway = (policyUrl: string) =>
  ["gateway", "--port", "0", "--record", "sessions.jsonl", "--openai.base_url", `${policyUrl}/v1`].concat([
    "--openai.model_name",
    "m"
  ])

const post = async (url: string, body: unknown): Promise<unknown> => {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", connection: "close" },
    body: JSON.stringify(body)
  })
  return answer.json()
}

/** Goes on with a conversation until nobody answers any more. */
const converse = async (url: string, client: Client): Promise<void> => {
  for (let turn = 0; turn < 1000; turn++) {
    const asked = [...client.chat, { role: "user", content: `turn ${turn}` }]
    const answer = (await post(`${url}/v1/chat/completions`, { model: "m", messages: asked })) as {
      readonly id: string
      readonly choices: readonly [{ readonly message: Said }]
    }
    const { content, role } = answer.choices[0].message
    client.chat.splice(0, client.chat.length, ...asked, { role, content })
    if (turn === 0 && client.reward !== undefined) {
      await post(`${url}/reward`, { answer: answer.id, reward: client.reward })
    }
  }
}

it.live("a recording gateway that is killed loses no answer, and records none twice", () =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const cwd = yield* InProcess.folder
    const clients: Array<Client> = []
    const policy = yield* TestServer.make((_, count) => TestServer.chatReply([`answer ${count}`]))
    for (const [round, killAt] of kills.entries()) {
      const running = yield* Atropos.start(gateway(policy.url), { cwd, env, killAt })
      const [, url = ""] = yield* running.says(/gateway at (\S+),/)
      const own = Array.from({ length: 6 }, (_, at): Client => ({
        chat: [{ role: "system", content: `client ${round} ${at}` }],
        ...(at % 2 === 0 && { reward: at + 1 })
      }))
      clients.push(...own)
      yield* Effect.promise(() => Promise.allSettled(own.map((client) => converse(url, client))))
      yield* running.killed
    }
    assert.isNotEmpty(yield* fs.readDirectory(`${cwd}/sessions.open`))
    const last = yield* InProcess.start(gateway(policy.url), env)
    yield* last.says(/recorded sessions left open by an earlier process/)
    yield* last.says(/gateway at/)
    assert.isEmpty(yield* fs.readDirectory(`${cwd}/sessions.open`))
    yield* last.interrupt

    const linesOf = (name: string) =>
      Effect.map(fs.readFileString(`${cwd}/${name}`), (text) =>
        text
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line) as Line)
      )
    const scored = (yield* linesOf("sessions.jsonl")).map(({ messages, scores }) => ({
      // One chat in each: nothing branched.
      chat: (messages as ReadonlyArray<ReadonlyArray<Said>>)[0]!,
      score: scores![0]
    }))
    const unscored = (yield* linesOf("sessions.unscored.jsonl")).map(({ messages }) => ({
      chat: messages as ReadonlyArray<Said>,
      score: undefined
    }))
    const recorded = [...scored, ...unscored]
    for (const { chat, reward } of clients.filter((one) => one.chat.length > 1)) {
      const found = recorded.filter((one) => one.chat[0]!.content === chat[0]!.content)
      assert.strictEqual(found.length, 1, chat[0]!.content)
      // An answer may be recorded of which the client has not heard, and a reward may come too late.
      assert.deepStrictEqual(
        found[0]!.chat.slice(0, chat.length).map(({ content }) => content),
        chat.map(({ content }) => content)
      )
      if (chat.length > 3) assert.strictEqual(found[0]!.score, reward)
    }
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
)
