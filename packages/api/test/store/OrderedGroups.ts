/**
 * Five groups, oldest first, with the results of filters and orders on them, shared by the tests of a store, a file and
 * a saved page. Two tries at each of two items, the second try of the first one right; then one whose tool failed.
 */
import type { ScoredGroup, TrajectoryApi } from "@atropos/core"

interface Tried {
  readonly question: string
  readonly scores: readonly [number, number]
  /** Trained tokens of the two answers. */
  readonly lengths: readonly [number, number]
  readonly logprobs: readonly [number, number]
  readonly clear: readonly [number, number]
  readonly finish: readonly [string, string]
  readonly tool?: string
  readonly gold?: string
}

const tries: ReadonlyArray<Tried> = [
  {
    question: "one?",
    scores: [0, 0],
    lengths: [3, 3],
    logprobs: [-1, -1],
    clear: [0.1, 0.1],
    finish: ["stop", "length"]
  },
  {
    question: "two?",
    scores: [0, -1],
    lengths: [2, 2],
    logprobs: [-1, -9],
    clear: [0.2, 0.2],
    finish: ["stop", "stop"]
  },
  {
    question: "one?",
    scores: [1, 0],
    lengths: [4, 9],
    logprobs: [-2, -3],
    clear: [0.9, 0.7],
    finish: ["stop", "stop"]
  },
  {
    question: "two?",
    scores: [0, 0],
    lengths: [1, 1],
    logprobs: [-1, -1],
    clear: [0.3, 0.3],
    finish: ["stop", "stop"]
  },
  {
    question: "three?",
    scores: [0.5, 0.5],
    lengths: [5, 7],
    logprobs: [-4, -1],
    clear: [0.5, 0.5],
    finish: ["length", "length"],
    tool: "error: there is no such page",
    gold: "a page\n of facts "
  }
]

export const groups: ReadonlyArray<ScoredGroup.ScoredGroup> = tries.map(
  ({ clear, finish, gold, lengths, logprobs, question, scores, tool }) => ({
    tokens: lengths.map((length) => new Int32Array(length + 1).fill(5)),
    masks: lengths.map((length) => new Uint8Array(length + 1).fill(1, 1)),
    scores: Float64Array.from(scores),
    inferenceLogprobs: lengths.map((length, row) => {
      const row_T = new Float32Array(length + 1).fill(logprobs[row]!)
      row_T[0] = Number.NaN
      return row_T
    }),
    messages: scores.map((score) => [
      { role: "user" as const, content: question },
      { role: "assistant" as const, content: `I say ${score}` },
      ...(tool === undefined ? [] : [{ role: "tool" as const, content: tool, tool_call_id: "1" }])
    ]),
    overrides: finish.map((finish_reason) => ({ finish_reason })),
    rewards: clear.map((clear) => ({ clear })),
    ...(gold !== undefined && { groupOverrides: { gold: [gold] } })
  })
)

type Asked = Partial<Omit<TrajectoryApi.RolloutQuery, "text" | "before" | "limit">>

/** Queries, with the numbers of the groups found, from 1, in their order. */
export const questions: ReadonlyArray<readonly [asked: Asked, found: ReadonlyArray<number>]> = [
  [{ bestTo: 0 }, [4, 2, 1]],
  [{ bestFrom: 0.5 }, [5, 3]],
  [{ value: "score", valueFrom: 0.5, valueBelow: 1 }, [5]],
  [{ value: "score", valueFrom: 0.5, valueTo: 1 }, [5, 3]],
  [{ value: "score", valueBelow: 0 }, [2]],
  [{ value: "length", valueFrom: 3, valueBelow: 5 }, [3, 1]],
  [{ value: "length", valueFrom: 9 }, [3]],
  [{ disagreementFrom: 1 }, [3, 2]],
  [{ disagreementTo: 0 }, [5, 4, 1]],
  [{ deviationFrom: 0.1, deviationTo: 0.5 }, [3, 2]],
  [{ deviationFrom: 0.6 }, []],
  [{ lengthFrom: 3, lengthTo: 6 }, [5, 1]],
  [{ lengthFrom: 6.5 }, [3]],
  [{ lengthTo: 2, disagreementTo: 0 }, [4]],
  [{ stalenessFrom: 0 }, []],
  [{ newlySolved: "true" }, [3]],
  [{ truncated: "true" }, [5, 1]],
  [{ toolErrors: "true" }, [5]],
  [{ component: "clear", componentFrom: 0.3, componentTo: 0.6 }, [5, 4]],
  [{ component: "other", componentFrom: 0 }, []],
  [{ sort: "mean" }, [5, 3, 4, 1, 2]],
  [{ sort: "best" }, [3, 5, 4, 2, 1]],
  [{ sort: "disagreement" }, [3, 2, 5, 4, 1]],
  [{ sort: "deviation", order: "ascending" }, [5, 4, 1, 3, 2]],
  [{ sort: "length" }, [3, 5, 1, 2, 4]],
  [{ sort: "longest_best" }, [5, 3, 1, 2, 4]],
  [{ sort: "surprise" }, [2, 5, 3, 4, 1]],
  [{ sort: "surprise_best", bestFrom: 0.1 }, [5, 3]],
  [{ sort: "truncated" }, [5, 1, 4, 3, 2]],
  [{ sort: "tool_errors", order: "ascending" }, [4, 3, 2, 1, 5]],
  [{ sort: "component", component: "clear" }, [3, 5, 4, 2, 1]],
  [{ sort: "component", component: "clear", order: "ascending", bestTo: 0 }, [1, 2, 4]],
  [{ sort: "component" }, [5, 4, 3, 2, 1]]
]
