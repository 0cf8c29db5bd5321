/**
 * Follow-up items: if some answers to a sum are right and some wrong, the model judges one of each.
 *
 * `afterScore` receives the results of a group, and queues the judgements: groups of two, regardless of `group_size`. A
 * truncated answer is not trained on, nor is a sum that all get right. Run it: `npx node --conditions=atropos-src
 * examples/13-follow-up-items.ts`.
 */
import { Environment, Message, ServerManager, type Trajectory } from "@atropos/core"
import { Console, Effect, Layer, Schema, Stream } from "effect"

/** A sum; with a claim, the question whether the claim is right. A Schema, so that queued items survive a restart. */
const Item = Schema.Struct({ n: Schema.Int, claim: Schema.optionalKey(Schema.String) })
type Item = typeof Item.Type

const question = ({ claim, n }: Item) => (claim === undefined ? `${n} + ${n}?` : `Is ${n} + ${n} = ${claim}? yes or no`)
const answer = ({ claim, n }: Item) => (claim === undefined ? `${2 * n}` : claim === `${2 * n}` ? "yes" : "no")

export const layer = Environment.layer("sums", Environment.settings({}), ({ groupSize }) =>
  Effect.map(ServerManager.ServerManager, (servers) => ({
    items: (cursor: number) => Stream.range(cursor + 1, 2).pipe(Stream.map((n): Item => ({ n }))),
    collectTrajectories: (item: Item) => {
      const size = item.claim === undefined ? groupSize : 2
      const messages = [Message.user(question(item))]
      return Effect.map(servers.chat({ messages, n: size, maxTokens: 6 }), (trajectories) => ({
        groups: [{ trajectories, groupOverrides: { group_size: size } }]
      }))
    },
    score: (item: Item, group: ReadonlyArray<Trajectory.Trajectory>) =>
      Effect.succeed(
        group.map(({ completion, finishReason }): Environment.Score => {
          const score = completion === answer(item) ? 1 : -1
          return finishReason === "length" ? { score, overrides: { set_advantage_to_zero: true } } : score
        })
      ),
    afterScore: ({ claim, n }: Item, { trajectories, values }: Environment.JudgedGroup) => {
      if (values.every((value) => value === 1)) return Effect.succeed({ leaveOut: "all are right" })
      const one = claim === undefined ? [values.indexOf(1), values.indexOf(-1)] : []
      const claims = one.flatMap((index) => trajectories[index]?.completion ?? [])
      return Effect.succeed({ requeue: claims.map((claim): Item => ({ n, claim })) })
    },
    requeued: Item,
    label: question
  }))
)

/** Rolls out an item and its follow-ups, as a runner does. */
const run = ({ label, rollOut }: Environment.Work): Effect.Effect<void, Environment.EnvironmentError> =>
  rollOut.pipe(
    Effect.tap(({ groups }) => Effect.forEach(groups, ({ scores }) => Console.log(`${label} ${scores.join(" ")}`))),
    Effect.flatMap(({ requeued }) => Effect.forEach(requeued, run, { discard: true })),
    Effect.catchTag("Unscorable", ({ message }) => Console.log(`${label} ${message}`))
  )

const said: Record<string, ReadonlyArray<string>> = { "1 + 1?": ["2"], "2 + 2?": ["4", "5", "4", "four, I think"] }
const policy: ServerManager.Script = (request) =>
  said["messages" in request ? Message.text(request.messages[0]!) : ""] ?? ["yes", "no"]

export const program = Effect.flatMap(Environment.Environment, ({ work }) => Stream.runForEach(work(0), run)).pipe(
  Effect.provide(layer({ groupSize: 4 }).pipe(Layer.provide(ServerManager.layerScripted(policy))))
)
if (import.meta.main) await Effect.runPromise(program)
