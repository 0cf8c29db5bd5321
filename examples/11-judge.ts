/**
 * A judge: another model decides which of two answers is better, every pair in both orders, and an answer's score is
 * its share of the points.
 *
 * This judge prefers the shorter answer, but if both are long it picks the first one. That favours no answer, because
 * each is shown first once; and the bias is measured. Run it: `npx node --conditions=atropos-src examples/11-judge.ts`.
 */
import { Environment, Message, ServerManager, type Trajectory } from "@atropos/core"
import { Judge, PairwiseJudge } from "@atropos/envs"
import { Console, Effect, Layer, Stream } from "effect"

const settings = Environment.settings(PairwiseJudge.fields)

export const layer = Environment.layer("slogans", settings, (chosen) =>
  Effect.gen(function* () {
    const servers = yield* ServerManager.ServerManager
    // Set by flags: --judge.base_url http://host:port/v1 --judge.model_name NAME
    const judge = PairwiseJudge.make(yield* Judge.required, chosen)
    return {
      items: (cursor: number) => Stream.fromIterable(["bread", "shoes"].slice(cursor)),
      collectTrajectories: (thing: string) =>
        servers.chat({
          messages: [Message.user(`A slogan for ${thing}.`)],
          n: chosen.groupSize,
          maxTokens: chosen.maxTokenLength
        }),
      score: (thing: string, group: ReadonlyArray<Trajectory.Trajectory>) =>
        judge.shares(`A slogan for ${thing}.`, group),
      metrics: judge.metrics,
      claims: { untestable: "taste is the judge's" }
    }
  })
)

const lazy = (request: ServerManager.ScriptedRequest): string => {
  const words = "messages" in request ? Message.text(request.messages.at(-1)!) : ""
  const [, a = "", b = ""] = words
    .split(/--- answer [AB] \w+ ---\n|\n--- end of answer [AB] \w+ ---\n*/)
    .filter(Boolean)
  return a.length > 20 && b.length > 20 ? "[[A]]" : a.length < b.length ? "[[A]]" : "[[B]]"
}

/** Prints the scores of each group, and the judge's metrics. */
export const program = Effect.gen(function* () {
  const { groups, metrics } = yield* Environment.Environment
  yield* Stream.runForEach(groups, ({ scores }) => Console.log(`scores ${Array.from(scores).join(" ")}`))
  const { "judge/calls": calls, "judge/position_bias": bias } = yield* metrics
  yield* Console.log(`${calls} calls, position bias ${bias!.toFixed(2)}`)
}).pipe(
  Effect.provide(
    layer({ groupSize: 3 }).pipe(
      Layer.provide(
        ServerManager.layerScripted(["Good.", "Simply the best there ever was.", "You will never want another."])
      ),
      Layer.provide(Judge.layerScripted(lazy))
    )
  )
)

if (import.meta.main) await Effect.runPromise(program)
