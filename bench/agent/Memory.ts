/**
 * The gateway's memory: waves of 1,000 concurrent sessions, each of 20 turns up to 32,000 tokens, rewarded and
 * collected at their end. Gateway and clients are separate processes; the results are the gateway's.
 *
 *     node --conditions=atropos-src bench/agent/Memory.ts [sessions] [turns] [tokens of a turn] [waves] \
 *       [milliseconds of the back end] [chat | responses | messages]
 *
 * "held" is the memory reachable after a collection while all sessions of the wave are open and complete; "left" the
 * same after all have ended. A session's share is the difference. Clients send the whole history with every request.
 */
import { fork } from "node:child_process"
import { once } from "node:events"
import { performance } from "node:perf_hooks"
import { fileURLToPath } from "node:url"
import * as Load from "../internal/Load.ts"

const [sessions = 1000, turns = 20, turnTokens = 1600, waves = 5, latency = 200] = process.argv.slice(2, 7).map(Number)
const [dialect = "chat"] = process.argv.slice(7)

interface Memory {
  readonly heapUsed: number
  readonly external: number
  readonly arrayBuffers: number
  readonly rss: number
  readonly peak: number
}

/** About two tokens of the small tokenizer per word, half of them in the question and half in the answer. */
const charactersOfToken = 1.05
const said = (count: number, seed: number): string => {
  let text = ""
  for (let at = 0; text.length < count; at++) text += `word${(seed * 7919 + at * 104_729) % 9973} `
  return text.trim()
}
const half = (turnTokens / 2) * charactersOfToken
const answer = said(half, 1)

const path = fileURLToPath(new URL("gatewayProcess.ts", import.meta.url))
const gateway = fork(path, [answer, String(latency)], { execArgv: [...process.execArgv, "--expose-gc"] })
const told = async <A>(): Promise<A> => (await once(gateway, "message"))[0] as A
const { url } = await told<{ readonly url: string }>()
const port = Number(new URL(url).port)
const memory = (): Promise<Memory> => {
  const answered = told<Memory>()
  gateway.send("memory")
  return answered
}

/** The requests of a session, the same for all sessions: the gateway parses each of them again. */
const questions = Array.from({ length: turns }, (_, turn) => said(half, turn + 2))
const tools = ["search", "read", "write"].map((name) => ({
  name,
  description: said(200, 3),
  schema: { type: "object", properties: { path: { type: "string", description: said(200, 4) } }, required: ["path"] }
}))
const bodies = questions
  .map((_, turn) => {
    const chat = questions
      .slice(0, turn + 1)
      .flatMap((content, at) => [
        ...(at === 0 ? [] : [{ role: "assistant", content: answer }]),
        { role: "user", content }
      ])
    const functions = tools.map(({ description, name, schema: parameters }) => ({ name, description, parameters }))
    switch (dialect) {
      case "responses":
        return {
          model: "any",
          input: chat,
          tools: functions.map((one) => ({ type: "function", strict: false, ...one }))
        }
      case "messages":
        return {
          model: "any",
          max_tokens: 2 * turnTokens,
          messages: chat,
          tools: tools.map(({ schema, ...one }) => ({ ...one, input_schema: schema }))
        }
      default:
        return { model: "any", messages: chat, tools: functions.map((one) => ({ type: "function", function: one })) }
    }
  })
  .map((body) => Buffer.from(JSON.stringify(body)))
const endpoint = { chat: "/v1/chat/completions", responses: "/v1/responses", messages: "/v1/messages" }[dialect]
if (endpoint === undefined) throw new Error(`${dialect}: chat, responses or messages`)

const headers = { "content-type": "application/json" }
const pool = new Load.Pool()
const send = async (method: string, at: string, body?: Uint8Array | object) => {
  const answered = await pool.send(port, {
    method,
    path: at,
    headers,
    ...(body !== undefined && { body: body instanceof Uint8Array ? body : Buffer.from(JSON.stringify(body)) })
  })
  if (answered.status >= 300) throw new Error(`${method} ${at}: ${answered.status} ${answered.body.toString()}`)
  return answered
}

interface Opened {
  readonly id: string
  readonly path: string
}

const open = async (): Promise<Opened> => {
  const { body } = await send("POST", "/sessions", {})
  const { anthropic_base_url: base, id } = JSON.parse(body.toString()) as { id: string; anthropic_base_url: string }
  return { id, path: new URL(base).pathname }
}
const each = <A, B>(all: ReadonlyArray<A>, act: (one: A) => Promise<B>): Promise<Array<B>> => Promise.all(all.map(act))

const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MB`
const held = ({ arrayBuffers, heapUsed }: Memory): number => heapUsed + arrayBuffers
const shown = (one: Memory): string =>
  `${megabytes(held(one))} (${megabytes(one.heapUsed)} of them the heap), process ${megabytes(one.rss)}`

/** Tokens of a session, over all of its sequences. */
const tokensOf = async ({ id }: Opened): Promise<number> => {
  const { sequences } = (await (await fetch(`${url}/sessions/${id}`)).json()) as {
    sequences: ReadonlyArray<{ tokens: ReadonlyArray<number> }>
  }
  return sequences.reduce((sum, { tokens }) => sum + tokens.length, 0)
}

const start = await memory()
console.log(`${sessions} sessions at once, ${turns} turns of ${turnTokens} tokens, ${dialect}; before: ${shown(start)}`)
for (let wave = 1; wave <= waves; wave++) {
  const from = performance.now()
  const opened = await each(Array.from({ length: sessions }), open)
  await each(opened, async (one) => {
    for (const body of bodies) await send("POST", `${one.path}${endpoint}`, body)
    await send("POST", `${one.path}/reward`, { rewards: { correct: 1 } })
  })
  const full = await memory()
  const seconds = (performance.now() - from) / 1000
  const tokens = await tokensOf(opened[0]!)
  // As many are collected at a time as a trainer would read.
  for (let at = 0; at < opened.length; at += 16) {
    await each(opened.slice(at, at + 16), (one) => send("DELETE", `/sessions/${one.id}`))
  }
  const left = await memory()
  const share = (held(full) - held(left)) / sessions
  console.log(
    `wave ${wave}: held ${shown(full)}, most ${megabytes(full.peak)}; left ${shown(left)}; ` +
      `${(share / 1024).toFixed(0)} KiB a session of ${tokens} tokens, ${(share / tokens).toFixed(1)} bytes a token; ` +
      `${((1000 * seconds) / sessions / turns).toFixed(2)} ms a request`
  )
}
pool.destroy()
gateway.disconnect()
