/**
 * The smallest environment: write a word that has exactly the requested letters.
 *
 * Run it: `npx node --conditions=atropos-src examples/01-letters.ts`. A scripted policy answers, so nothing else is
 * needed.
 */
import { Environment, Message, ServerManager, Tokenizer, type Trajectory } from "@atropos/core"
import { Console, Effect, Layer, Stream } from "effect"

const words = ["cat", "horse", "zebra"]
const sorted = (text: string) => Array.from(text.trim().toLowerCase()).sort().join("")

export const layer = Environment.layer("letters", Environment.settings({}), ({ groupSize, maxTokenLength }) =>
  Effect.gen(function* () {
    const servers = yield* ServerManager.ServerManager
    return {
      items: (cursor: number) => Stream.range(cursor, words.length - 1).pipe(Stream.map((index) => words[index]!)),
      collectTrajectories: (word: string) =>
        servers.chat({
          messages: [Message.user(`One word from the letters ${sorted(word)}, nothing else.`)],
          n: groupSize,
          maxTokens: maxTokenLength
        }),
      score: (word: string, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.succeed(group.map(({ completion }) => (sorted(completion) === sorted(word) ? 1 : 0)))
    }
  })
)

/** Prints the scores of each group. */
export const program = Effect.gen(function* () {
  const environment = yield* Environment.Environment
  yield* environment.groups.pipe(
    Stream.runForEach(({ scores }) => Console.log(`scores ${Array.from(scores).join(" ")}`))
  )
}).pipe(
  Effect.provide(
    layer({ groupSize: 3 }).pipe(
      Layer.provide(ServerManager.layerScripted(["act", "shore", "I do not know"])),
      Layer.provide(Tokenizer.layerBytes)
    )
  )
)

if (import.meta.main) await Effect.runPromise(program)
