/**
 * Prompt tokens computed per sampled token in the tool environment: with the engine's prefix cache, and without it.
 *
 *     node --conditions=atropos-src bench/trainer/ToolTurns.ts [ITEMS]
 *
 * The environment is `tool-use` with research questions, played completely by a scripted policy that searches four
 * times and then answers. Its requests, token by token, are replayed on an engine with a small model of random weights,
 * which samples as many tokens as the script did; the answers in later prompts are the script's.
 */
import { Dataset, Environment, Message, ServerManager } from "@atropos/core"
import { Sandbox, ToolUse } from "@atropos/envs"
import * as Engine from "@atropos/trainer/engine/Engine"
import * as Model from "@atropos/trainer/model/Model"
import * as TinyModel from "@atropos/trainer/model/TinyModel"
import { Effect, Layer, Stream } from "effect"
import * as DecodeGraph from "../../packages/trainer/src/engine/DecodeGraph.ts"

const items = Number(process.argv[2] ?? 8)
const groupSize = 8
/** Of the small model; bytes and special tokens beyond it are mapped to others. */
const vocabulary = 128
const searches = 4

/** Searches with the question's own words, one word fewer each time, then gives a long answer. */
const script = (request: ServerManager.ScriptedRequest) => {
  if ("prompt" in request) return "no"
  const turn = request.messages.filter(({ role }) => role === "assistant").length
  if (turn >= searches) return `<think>The articles say so.</think>It is <answer>${turn}</answer>`
  const question = request.messages
    .filter(({ role }) => role === "user")
    .map(Message.text)
    .join(" ")
  const query = question.split(" ").slice(turn).join(" ")
  return `<tool_call>\n${JSON.stringify({ name: "search", arguments: { query } })}\n</tool_call>`
}

/** A turn: its prompt, and the number of sampled tokens. */
interface Turn {
  readonly prompt: ReadonlyArray<number>
  readonly sampled: number
}

const turnsOf = (tokens: Int32Array, mask: Uint8Array): ReadonlyArray<Turn> => {
  const turns: Array<Turn> = []
  for (let start = mask.indexOf(1); start >= 0;) {
    const rest = mask.indexOf(0, start)
    const end = rest < 0 ? mask.length : rest
    turns.push({ prompt: Array.from(tokens.subarray(0, start), (id) => id % vocabulary), sampled: end - start })
    start = mask.indexOf(1, end)
  }
  return turns
}

const played = Effect.gen(function* () {
  const { groups } = yield* Environment.Environment
  const all = yield* groups.pipe(Stream.take(items), Stream.runCollect)
  return all.map(({ masks, tokens }) => tokens.map((ids, i) => turnsOf(ids, masks[i]!)))
}).pipe(
  Effect.provide(
    ToolUse.layer({ kinds: ["research"], groupSize, maxTokenLength: 20_000 }).pipe(
      Layer.provide([ServerManager.layerScripted(script), Dataset.layerMemory({}), Sandbox.layerWasi()])
    )
  )
)

const characters = String.fromCodePoint(...Array.from({ length: 127 }, (_, i) => i + 1))
const model = TinyModel.make({ characters, seed: 1, maxPositions: 32_768 })

const measured = (groups: Effect.Success<typeof played>, prefixCacheMegabytes: number) =>
  Effect.gen(function* () {
    const engine = yield* Engine.make({
      model: DecodeGraph.make(Model.decodable(model)),
      initial: { policy: "policy", policyVersion: 0, parameters: model.initial },
      device: "cpu",
      settings: { prefixCacheMegabytes }
    })
    const ask = ({ prompt, sampled }: Turn) =>
      engine.generate({
        promptTokens: prompt,
        n: 1,
        maxTokens: sampled,
        temperature: 1,
        topP: 1,
        topK: 0,
        stopTokenIds: []
      })
    const start = process.cpuUsage()
    for (const group of groups) {
      yield* Effect.forEach(group, (turns) => Effect.forEach(turns, ask), { concurrency: "unbounded" })
    }
    const { system, user } = process.cpuUsage(start)
    const { cachedPromptTokens, generatedTokens, promptTokens } = yield* engine.status
    return { cachedPromptTokens, generatedTokens, promptTokens, seconds: (system + user) / 1e6 }
  }).pipe(Effect.scoped)

const program = Effect.gen(function* () {
  const groups = yield* played
  for (const [name, megabytes] of [
    ["every prompt computed anew", 0],
    ["prefix cache of 512 MB", 512]
  ] as const) {
    const { cachedPromptTokens, generatedTokens, promptTokens, seconds } = yield* measured(groups, megabytes)
    const share = cachedPromptTokens / (cachedPromptTokens + promptTokens)
    console.log(
      `${name}: ${(promptTokens / generatedTokens).toFixed(2)} prompt tokens computed for a token sampled ` +
        `(${promptTokens} for ${generatedTokens}), ${(100 * share).toFixed(1)}% known, ${seconds.toFixed(1)} s of processor time`
    )
  }
})

await Effect.runPromise(program)
