/** An environment whose answers nearly all have different scores: the share of the letter e. */
import { Environment, Message, ServerManager, type Trajectory } from "@atropos/core"
import { Effect, Stream } from "effect"

const shareOf = (text: string): number =>
  (text.length === 0 ? 0 : text.split("e").length - 1) / Math.max(1, text.length)

export const layer = Environment.layer("share-of-e", Environment.settings({}), ({ groupSize, maxTokenLength }) =>
  Effect.gen(function* () {
    const servers = yield* ServerManager.ServerManager
    return {
      items: (cursor: number) => Stream.range(cursor, cursor + 1000),
      collectTrajectories: (item: number) =>
        servers.chat({
          messages: [Message.user(`Write a sentence about the number ${item}.`)],
          n: groupSize,
          maxTokens: maxTokenLength
        }),
      score: (_: number, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.succeed(group.map(({ completion }) => shareOf(completion)))
    }
  })
)
