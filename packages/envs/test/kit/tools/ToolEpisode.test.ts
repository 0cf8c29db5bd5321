import { assert, describe, it } from "@effect/vitest"
import * as Environment from "@atropos/core/Environment"
import * as ToolEpisode from "../../../src/kit/tools/ToolEpisode.ts"
import type { Trajectory } from "@atropos/core/trajectory/Trajectory"

const call = { id: "1", type: "function" as const, function: { name: "half", arguments: "{}" } }

/** One call, answered with `result`, and an answer; tokens are trained where the mask is 1. */
const episode = (result: string, mask: ReadonlyArray<number>): Trajectory => ({
  messages: [
    { role: "user", content: "?" },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", content: result },
    { role: "assistant", content: "!" }
  ],
  completion: "!",
  finishReason: "stop",
  tokens: Int32Array.from(mask, (_, index) => index),
  mask: Uint8Array.from(mask)
})

const advantagesOf = (score: Environment.Score): ReadonlyArray<number> | undefined =>
  typeof score === "number" || score.advantages === undefined ? undefined : Array.from(score.advantages)

describe("ToolEpisode.scored", () => {
  it("gives every answer the advantage of its turn and of the outcome", () => {
    const mask = [0, 1, 1, 0, 1]
    const scores = ToolEpisode.scored([episode("2", mask), episode("error: odd", mask)], [1, 0], { outcomeWeight: 0.5 })
    assert.deepStrictEqual(scores.map(advantagesOf), [
      [0, 1.5, 1.5, 0, 0.5],
      [0, -1.5, -1.5, 0, -0.5]
    ])
  })

  it("gives an episode whose mask has other spans than answers that of the outcome, on the scale of the others", () => {
    const scores = ToolEpisode.scored([episode("2", [0, 1, 1, 0, 1]), episode("2", [0, 1, 1, 1, 0])], [1, 0], {
      outcomeWeight: 0.5
    })
    // Both calls succeeded: what is left is the outcome, half of 1 and half of -1.
    assert.deepStrictEqual(scores.map(advantagesOf), [
      [0, 0.5, 0.5, 0, 0.5],
      [0, -0.5, -0.5, -0.5, 0]
    ])
    assert.deepStrictEqual(
      scores.map((score) => (typeof score === "number" ? score : score.score)),
      [1, 0]
    )
  })
})
