/**
 * Groups of odd sizes, items that follow from others, sequences nobody learns from and length penalties, from an
 * environment through the runner and the service over HTTP to the trainer's advantages. The environment has the kinds
 * of items of the original's math_server.py: a problem; a pair of right answers to be compared; a judgement of one
 * right and one wrong answer; finished attempts.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import {
  Environment,
  Evaluation,
  Message,
  Rollout,
  type ScoredGroup,
  ServerManager,
  Tokenizer,
  Trajectory,
  TrajectoryClient,
  TrajectoryClientHttp
} from "@atropos/core"
import { Rewards } from "@atropos/envs"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Advantages from "../../trainer/src/learn/Advantages.ts"
import { Effect, Fiber, FileSystem, Layer, Option, References, Stream } from "effect"
import { layer as serviceLayer, ServiceUrl } from "../../api/test/TestService.ts"
import * as TestStore from "../../api/test/TestStore.ts"

type Item =
  | { readonly kind: "problem"; readonly n: number }
  | { readonly kind: "pair"; readonly n: number; readonly answers: ReadonlyArray<Trajectory.Trajectory> }
  | { readonly kind: "judge"; readonly n: number; readonly right: string; readonly wrong: string }
  | { readonly kind: "finished"; readonly n: number; readonly answers: ReadonlyArray<Trajectory.Trajectory> }

const groupSize = 4
const maxTokens = 40

const isCut = ({ finishReason }: Trajectory.Trajectory) => finishReason === "length"

const isRight = (n: number, { completion }: Trajectory.Trajectory) => completion.endsWith(String(2 * n))

const layer = Environment.layer("follow-ups", Environment.settings({}), () =>
  Effect.map(ServerManager.ServerManager, (servers) => {
    const ask = (prompt: string) => servers.chat({ messages: [Message.user(prompt)], n: groupSize, maxTokens })
    return {
      items: (cursor: number) =>
        Stream.range(cursor, 7).pipe(Stream.map((n): Item => ({ kind: "problem", n: n + 10 }))),
      collectTrajectories: (item: Item) => {
        if (item.kind === "problem") return ask(`${item.n} + ${item.n}?`)
        if (item.kind === "judge") return ask(`Is ${item.right} better than ${item.wrong}?`)
        // A pair is compared here, the shorter one preferred; attempts that are finished are merely sent.
        const [a, b] = item.answers
        const scores = item.kind === "pair" ? [1, -1] : [1, { score: 0, overrides: { set_advantage_to_zero: true } }]
        return Effect.succeed({
          groups: [{ trajectories: [a!, b!], scores, groupOverrides: { group_size: 2, kind: item.kind } }]
        })
      },
      score: ({ kind, n }: Item, group: ReadonlyArray<Trajectory.Trajectory>) => {
        const right = group.map((one) => (kind === "judge" ? one.completion === "yes" : isRight(n, one)))
        const lengths = group.map((one) => Trajectory.trainedTokens(one))
        const byLength = right.every(Boolean) ? Rewards.cosineLengths(lengths) : undefined
        return Effect.succeed(
          group.map((one, index): Environment.Score =>
            isCut(one)
              ? { score: -1, overrides: { set_advantage_to_zero: true } }
              : (byLength?.[index] ?? (right[index] ? 1 : -1))
          )
        )
      },
      afterScore: (item: Item, { trajectories, values }: Environment.JudgedGroup) => {
        if (item.kind === "judge") {
          const [one, other] = [trajectories.find(({ completion }) => completion === "yes"), trajectories[1]]
          return Effect.succeed({
            requeue: one === undefined ? [] : [{ kind: "finished" as const, n: item.n, answers: [one, other!] }]
          })
        }
        if (item.kind !== "problem") return Effect.void
        const right = trajectories.filter((one) => !isCut(one) && isRight(item.n, one))
        const wrong = trajectories.find((one) => !isCut(one) && !isRight(item.n, one))
        if (right.length === 0) return Effect.succeed({ leaveOut: "nobody solved it" })
        const follows: Item =
          wrong === undefined
            ? { kind: "pair", n: item.n, answers: right.slice(0, 2) }
            : { kind: "judge", n: item.n, right: right[0]!.completion, wrong: wrong.completion }
        return Effect.succeed({
          requeue: [follows],
          ...(Evaluation.mean(values) === 1 && { leaveOut: "all are right, and of one length" })
        })
      }
    }
  })
)

/**
 * What is said to each problem: all right and of several lengths, mixed with one cut off, all right alike, all wrong.
 */
const policy: ServerManager.Script = (request) => {
  const words = "messages" in request ? Message.text(request.messages.at(-1)!) : ""
  if (words.startsWith("Is ")) return ["yes", "no", "yes", "no"]
  const n = Number.parseInt(words, 10)
  const sum = String(2 * n)
  return [
    [sum, `it is ${sum}`, `that would be ${sum}`, `let me see: ${sum}`],
    [sum, "0", `${"hm ".repeat(maxTokens)}${sum}`, sum],
    [sum, sum, sum, sum],
    ["0", "1", "0", "1"]
  ][n % 4]!
}

/** Every group of a run of so many batches, as the trainer gets them. */
const batches = Effect.fnUntraced(function* (client: TrajectoryClient.TrajectoryClient, count: number) {
  return yield* Effect.forEach(Array.from({ length: count }).keys(), () =>
    Effect.gen(function* () {
      const batch = Option.getOrThrow(yield* client.claim({ owner: "trainer", wait: "5 minutes", lease: "1 minute" }))
      yield* client.ack(batch)
      return batch.groups
    })
  )
})

const advantagesOf = (group: ScoredGroup.ScoredGroup) =>
  Advantages.ofGroup(group, { baseline: "group", advantageScale: "none" }).advantages_G_T.map(
    // A trained token's.
    (row) => Math.round(row.at(-1)! * 1e6) / 1e6
  )

const promptOf = ({ messages }: ScoredGroup.ScoredGroup) => Message.text(messages![0]![0]!)

const service = serviceLayer().pipe(Layer.provideMerge(TestStore.layer))

describe("follow-up items", () => {
  it.live("come with their sizes, switches and penalties through runner and service to the trainer", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const url = yield* ServiceUrl
      const client = yield* Effect.provide(TrajectoryClient.all, TrajectoryClientHttp.layer({ url, run: "follow-ups" }))
      yield* client.registerRun({
        name: "follow-ups",
        batchSize: 12,
        maxTokenLength: 1000,
        startingStep: 0,
        numSteps: 100,
        checkpointDir: "",
        saveCheckpointInterval: 0,
        wandbGroup: "",
        wandbProject: ""
      })
      const environment = yield* Effect.provide(
        Environment.Environment,
        layer({ groupSize, maxBatchesOffpolicy: 10, includeMessages: true })
      )
      const running = yield* Rollout.run(environment, {
        spoolDirectory: yield* fs.makeTempDirectoryScoped()
      }).pipe(Effect.provide(TrajectoryClient.context(client)), Effect.forkChild)

      // Two problems of each sort: 4 + 2 sequences, 4 + 4 + 2, 2, and none.
      const given = yield* batches(client, 3)
      assert.deepStrictEqual(
        given.map((groups) => groups.reduce((sum, { tokens }) => sum + tokens.length, 0)),
        [12, 12, 12]
      )
      const groups = given.flat()
      const ofProblem = (n: number) => groups.filter((group) => promptOf(group).startsWith(`${n} +`))

      // All right: the shorter the better, and then a pair of its answers in a group of two.
      const [byLength, pair] = ofProblem(12)
      assert.deepStrictEqual([byLength!.tokens.length, pair!.tokens.length], [4, 2])
      assert.strictEqual(byLength!.scores[0], 1)
      assert.strictEqual(Math.min(...byLength!.scores), -1)
      assert.deepInclude(pair!.groupOverrides, { group_size: 2, kind: "pair" })
      assert.deepStrictEqual(advantagesOf(pair!), [1, -1])

      // Mixed: the one that was cut off counts for the mean and is not learnt from.
      const [mixed] = ofProblem(13)
      assert.deepStrictEqual(Array.from(mixed!.scores), [1, -1, -1, 1])
      assert.deepStrictEqual(mixed!.overrides?.[2], { finish_reason: "length", set_advantage_to_zero: true })
      assert.deepStrictEqual(advantagesOf(mixed!), [1, -1, 0, 1])

      // It is judged, and the judgements come once more as finished attempts: the queue as a mailbox.
      const judged = groups.filter((group) => promptOf(group).startsWith("Is 26 better than 0?"))
      assert.deepStrictEqual(
        judged.map(({ scores }) => Array.from(scores)),
        [
          [1, -1, 1, -1],
          [1, 0]
        ]
      )
      assert.deepStrictEqual(advantagesOf(judged[1]!), [0.5, 0])

      // All right and alike: only the pair; all wrong: nothing.
      assert.deepStrictEqual(
        ofProblem(10).map(({ tokens }) => tokens.length),
        [2]
      )
      assert.deepStrictEqual(ofProblem(11), [])

      const summary = yield* Fiber.join(running)
      assert.deepStrictEqual(summary.items, { succeeded: 14, unscorable: 2 })
      // Two groups that were left out beside a follow-up, and the two items that came to nothing.
      assert.deepStrictEqual(summary.dropped, { unscorable: 4 })
      assert.strictEqual(summary.groupsSent, groups.length)
    }).pipe(
      Effect.scoped,
      Effect.provide([
        service,
        ServerManager.layerScripted(policy).pipe(Layer.provideMerge(Tokenizer.layerBytes)),
        NodeServices.layer,
        NodeHttpClient.layerUndici,
        Layer.succeed(References.MinimumLogLevel, "None")
      ])
    )
  )
})
