/** Losses of a server in a run: which passes a step asks for, and that the numbers are this machine's. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { TrainingSequence } from "../../src/learn/TrainingSequence.ts"
import type { WeightedBatch } from "../../src/learn/WeightedBatch.ts"
import * as LocalLearner from "../../src/local/LocalLearner.ts"
import type { LossSettings, PresetName } from "../../src/loss/LossSettings.ts"
import type { Objective } from "../../src/loss/Objective.ts"
import * as Preset from "../../src/loss/Preset.ts"
import * as Model from "../../src/model/Model.ts"
import * as ForwardBackward from "../../src/tinker/protocol/ForwardBackward.ts"
import { adapted, course, live, loaded, near, remote, shape } from "../tinker/RemoteEngine.ts"
import * as SameBatch from "../tinker/SameBatch.ts"
import { serve } from "../tinker/server/TestTinkerServer.ts"

const of = (preset: PresetName, more: Partial<LossSettings> = {}) =>
  Result.getOrThrow(Preset.resolve({ preset, ...more }))

const withSequences = (batch: WeightedBatch, change: (sequence: TrainingSequence) => Partial<TrainingSequence>) => ({
  ...batch,
  sequences: batch.sequences.map((sequence) => ({ ...sequence, ...change(sequence) }))
})

/** A server before the real one: what passes are asked for, in order; may forget the settings of losses. */
const watched = Effect.fnUntraced(function* (real: string, forgets = false) {
  const passes: Array<string> = []
  const noted = (asked: ForwardBackward.Request) => {
    passes.push(asked.forwardOnly ? "forward" : asked.lossFn)
    return forgets ? { ...asked, lossConfig: new Map() } : asked
  }
  const server = createServer((request, response) => {
    const parts: Array<Buffer> = []
    request.on("data", (part: Buffer) => parts.push(part))
    request.on("end", () => {
      const { headers, method = "", url = "" } = request
      const bytes = new Uint8Array(Buffer.concat(parts))
      const sent = url.endsWith("/forward_backward")
        ? Effect.map(ForwardBackward.decode(bytes), (asked) => ForwardBackward.encode(noted(asked)))
        : Effect.succeed(bytes)
      const { accept = "", "content-type": type = "" } = headers
      const passed = Effect.gen(function* () {
        const body = yield* sent
        const init = { method, headers: { accept, "content-type": type } }
        const answer = yield* Effect.promise(async () => {
          const given = await fetch(
            `${real}${url}`,
            method === "POST" ? { ...init, body: body as Uint8Array<ArrayBuffer> } : init
          )
          return { input: given, bytes: new Uint8Array(await given.arrayBuffer()) }
        })
        response.writeHead(answer.input.status, { "content-type": answer.input.headers.get("content-type") ?? "" })
        response.end(answer.bytes)
      })
      Effect.runFork(Effect.catchCause(passed, () => Effect.sync(() => response.destroy())))
    })
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () => Effect.sync(() => (server.closeAllConnections(), server.close()))
  )
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, passes }
})

type Watched = Effect.Success<ReturnType<typeof watched>>

/** Two steps on a server and here, from the same adapter, with the same numbers; the passes of a step there. */
const bothWays = Effect.fnUntraced(function* ({ passes, url }: Watched, objective: Objective, batch: WeightedBatch) {
  const there = yield* remote(url)
  const learner = yield* loaded(there.learner, objective)
  const before = passes.length
  const theirs = yield* course(learner, batch, 2)
  const made = passes.slice(before, -1)
  const here = yield* LocalLearner.make({ model: Model.trainable(adapted) })
  const ours = yield* Effect.flatMap(loaded(here, objective), (own) => course(own, batch, 2))
  near(theirs.losses, ours.losses, 1e-4, `${objective.name}: loss of step`)
  near(theirs.norms, ours.norms, 1e-4, `${objective.name}: norm of step`)
  for (const [item, row] of theirs.logprobs.entries()) {
    near(row, ours.logprobs[item]!, 1e-4, `${objective.name}: logprob of item ${item}`)
  }
  assert.deepStrictEqual(made.slice(0, made.length / 2), made.slice(made.length / 2))
  return made.slice(0, made.length / 2)
}, Effect.scoped)

describe("losses that a server has itself", () => {
  it.live("take one pass instead of two, with the local engine's numbers", () =>
    live(
      Effect.gen(function* () {
        const server = yield* watched((yield* serve()).url)
        const cases: ReadonlyArray<readonly [Objective, ReadonlyArray<string>]> = [
          [of("dapo"), ["ppo"]],
          [of("cispo"), ["cispo"]],
          [of("sft"), ["cross_entropy"]],
          [of("grpo", { oldPolicy: "trainer" }), ["cross_entropy"]],
          [of("sapo"), ["forward", "cross_entropy"]]
        ]
        for (const [objective, expected] of cases) {
          const batch = SameBatch.batchOf(objective, shape)
          assert.deepStrictEqual(yield* bothWays(server, objective, batch), expected, objective.name)
        }
      })
    )
  )

  it.live("are left to this machine where the server's bounds are others, and where a ratio is beyond ours", () =>
    live(
      Effect.gen(function* () {
        const { url } = yield* serve()
        const objective = of("dapo")
        const batch = SameBatch.batchOf(objective, shape)
        const host = ["forward", "cross_entropy"]
        assert.deepStrictEqual(yield* bothWays(yield* watched(url, true), objective, batch), host)
        const far = withSequences(batch, ({ engineLogprobs, group }) =>
          group === 1 ? { engineLogprobs: engineLogprobs!.map((logprob, t) => (t === 5 ? -40 : logprob)) } : {}
        )
        // The gradient that was sent is left behind with its model.
        assert.deepStrictEqual(yield* bothWays(yield* watched(url), objective, far), ["ppo", ...host])
      })
    )
  )
})
